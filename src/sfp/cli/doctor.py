"""`sfp doctor`: what this machine has, what is missing and how to get it."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import platform
import shutil
import sys

from sfp import __version__
from sfp.cli.console import show
from sfp.versions import install

PACKAGES = (
    "numpy",
    "gymnasium",
    "minari",
    "h5py",
    "pyarrow",
    "jax",
    "matplotlib",
)
GL = {
    "EGL": "apt-get install libegl-mesa0 libgl1-mesa-dri",
    "OSMesa": "apt-get install libosmesa6",
}


def doctor(*, json: bool = False) -> None:
    """Check versions, cores, JAX, rendering and disk, and say how to mend each.

    The exit code is 1 if something that sfp needs is missing.

    Args:
        json: print one JSON document.
    """
    rows = [*_versions(), *_hardware(), _jax(), _rendering(), _storage()]
    wrong = [row for row in rows if row["status"] == "missing"]
    show(rows, json=json, notes=["All that is needed is there."] if not wrong else [])
    if wrong:
        sys.exit(1)


def _row(check: str, status: str, found: str, remedy: str = "") -> dict[str, str]:
    return {"check": check, "status": status, "found": found, "remedy": remedy}


def _versions() -> list[dict[str, str]]:
    rows = [_row("python", "ok", platform.python_version())]
    rows.append(_row("sfp", "ok", __version__))
    rows += [_version(name, "missing", f"pip install {name}") for name in PACKAGES]
    optional = {
        "metaworld": f"{install('metaworld')} for the robot's tasks",
        "mujoco": f"{install('mujoco')} for locomotion",
        "ray": f"{install('ray')} for sfp reproduce --on ray",
        "submitit": f"{install('slurm')} for sfp reproduce --on slurm",
    }
    return rows + [_version(name, "optional", cure) for name, cure in optional.items()]


def _version(name: str, otherwise: str, remedy: str) -> dict[str, str]:
    try:
        return _row(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return _row(name, otherwise, "-", remedy)


def _hardware() -> list[dict[str, str]]:
    from sfp.compute import available

    rows = [_row("cores", "ok", f"{available()} usable of {os.cpu_count()}")]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        rows.append(_row("memory", "ok", f"{memory:.1f} GiB"))
    return rows


def _jax() -> dict[str, str]:
    try:
        import jax

        devices = ", ".join(sorted({str(d.device_kind) for d in jax.devices()}))
        return _row("jax device", "ok", f"{jax.default_backend()} ({devices})")
    except (ImportError, RuntimeError) as error:
        reason = (str(error).splitlines() or ["unknown"])[0]
        return _row("jax device", "missing", reason, "pip install -U jax")


def _rendering() -> dict[str, str]:
    """Mazes are drawn with NumPy; only MuJoCo pictures need OpenGL."""
    found = [name for name in GL if ctypes.util.find_library(name)]
    if found:
        return _row("rendering", "ok", f"mazes: built in; MuJoCo: {', '.join(found)}")
    remedy = " or ".join(GL.values())
    return _row("rendering", "optional", "mazes: built in; MuJoCo: no OpenGL", remedy)


def _storage() -> dict[str, str]:
    try:
        from sfp.data.sources.minari import root
    except ImportError as error:
        remedy = "install what is missing above"
        return _row("datasets", "missing", f"no {error.name}", remedy)
    folder = root()
    while not folder.exists():
        folder = folder.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        remedy = "set MINARI_DATASETS_PATH to a folder that you may write to"
        return _row("datasets", "missing", f"{root()} is not writable", remedy)
    free = shutil.disk_usage(folder).free / 2**30
    status = "ok" if free > 1 else "optional"
    remedy = "" if free > 1 else "a dataset of the paper's size takes 0.2 GiB"
    return _row("datasets", status, f"{root()}, {free:.1f} GiB free", remedy)
