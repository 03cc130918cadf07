"""The folder of a run: whose it is, and whether it is what was asked for."""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfp.documents import read_json
from sfp.errors import Busy, SfpError
from sfp.files import is_locked, write_json

PACKAGES = ("sfp", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")
CONFIG, VERSIONS, FINISHED = "config.json", "versions.json", "finished.json"
REMEDY = "Choose another --out."
UNTOLD = ("beside",)
"""What the config of an earlier version does not tell, and cannot be asked for."""


def check_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds something else, or a run that is not asked for."""
    if folder.exists() and not folder.is_dir():
        raise SfpError(f"{folder} is no folder: choose another --out.")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    # What a run leaves that was killed before it wrote its config.
    names = {name for name in names if not name.startswith(".draft-")}
    if names <= {"lock", VERSIONS}:
        if resume:
            raise SfpError(
                f"there is no run to resume in {folder}: leave out --resume."
            )
    elif not {VERSIONS, CONFIG} <= names:
        raise SfpError(f"{folder} holds something else: choose another --out.")
    elif not resume and FINISHED not in names:
        if is_locked(folder):
            raise Busy(f"another process is training in {folder}: wait for it.")
        raise SfpError(
            f"{folder} holds a run that has not ended: add --resume to go on with it, "
            "or choose another --out."
        )


def check_config(folder: Path, asked: dict[str, Any]) -> None:
    """Write what was asked for, or refuse if it is not what the folder holds."""
    versions = {name: version(name) for name in PACKAGES}
    if not (folder / CONFIG).is_file():
        for name, value in ((VERSIONS, versions), (CONFIG, asked)):
            write_json(folder / name, value)
        return
    held, wanted = read_json(folder / CONFIG, REMEDY), json.loads(json.dumps(asked))
    for name in UNTOLD:
        if name not in held:
            wanted.pop(name, None)
    changes = _changes(held, wanted)
    if changes:
        raise SfpError(
            f"{folder} holds a run with other settings ({changes}): give the same "
            "ones, or choose another --out."
        )
    changes = _changes(read_json(folder / VERSIONS, REMEDY), versions)
    if changes and not (folder / FINISHED).is_file():
        warnings.warn(
            f"{folder} was begun with other versions ({changes}): the run goes on, but "
            "perhaps not bit for bit.",
            stacklevel=2,
        )


def _changes(held: Any, asked: Any) -> str:
    return "; ".join(
        f"{name} {old!r} -> {new!r}"
        for name, (old, new) in _differences(held, asked).items()
    )


def _differences(held: Any, asked: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    if isinstance(held, dict) and isinstance(asked, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in sorted(held.keys() | asked.keys()):
            found |= _differences(held.get(key), asked.get(key), key)
        return found
    return {} if held == asked else {name: (held, asked)}
