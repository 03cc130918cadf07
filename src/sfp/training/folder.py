"""The folder of a run: whose it is, and whether it is what was asked for."""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfp.config import DEFAULTS
from sfp.errors import Busy, SfpError
from sfp.files import atomic_file, is_locked

PACKAGES = ("sfp", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")
CONFIG, VERSIONS, FINISHED = "config.json", "versions.json", "finished.json"
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
            with atomic_file(folder / name) as draft:
                draft.write_text(json.dumps(value, indent=2))
        return
    held, wanted = _read(folder / CONFIG), json.loads(json.dumps(asked))
    for name in UNTOLD:
        if isinstance(held, dict) and name not in held:
            wanted.pop(name, None)
    changes = _changes(_settled(folder, held, wanted), _settled(folder, wanted, wanted))
    if changes:
        raise SfpError(
            f"{folder} holds a run with other settings ({changes}): give the same "
            "ones, or choose another --out."
        )
    changes = _changes(_read(folder / VERSIONS), versions)
    if changes and not (folder / FINISHED).is_file():
        warnings.warn(
            f"{folder} was begun with other versions ({changes}): the run goes on, but "
            "perhaps not bit for bit.",
            stacklevel=2,
        )


def _settled(folder: Path, config: Any, asked: dict[str, Any]) -> Any:
    """A config with its settings flat: the method's own, by default what they were.

    A setting of another method, or one that came later, makes no other run.
    """
    if not isinstance(config, dict):
        return config
    flat = {k: v for g in config.values() if isinstance(g, dict) for k, v in g.items()}
    gone = sorted(flat.keys() - DEFAULTS.keys())
    if gone:
        raise SfpError(
            f"{folder} holds a run with the option {gone[0]}, which this version does "
            "not have: finish it with the version that began it."
        )
    own = [k for g in asked.values() if isinstance(g, dict) for k in g]
    plain = {k: v for k, v in config.items() if not isinstance(v, dict)}
    told = [k for k, v in asked.items() if not isinstance(v, dict)]
    settings = {name: flat.get(name, DEFAULTS[name]) for name in own}
    return dict.fromkeys(told) | plain | settings


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        raise SfpError(f"{path} is damaged: choose another --out.") from None


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
