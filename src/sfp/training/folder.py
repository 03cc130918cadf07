"""The folder of a run: whose it is, and whether it is what was asked for."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from sfp.compute import cpu_kind
from sfp.config import DEFAULTS, GONE
from sfp.documents import read_json
from sfp.errors import Busy, SfpError
from sfp.files import (
    CHECKSUMS,
    atomic_file,
    check_sums,
    digest,
    is_locked,
    read_sums,
    warn_unverified,
    write_json,
    write_sums,
)
from sfp.training.log import TABLES
from sfp.versions import version

PACKAGES = ("sfp", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")
CONFIG, VERSIONS, FINISHED = "config.json", "versions.json", "finished.json"
CHANGED = "changed.json"
"""Versions, or a CPU, that a run went on with and that it was not begun with."""

REMEDY = "Choose another --out."
UNTOLD = ("beside", "reward_threshold")
"""What the config of an earlier version does not tell, and cannot be asked for."""


def check_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds something else, or a run that is not asked for."""
    if folder.exists() and not folder.is_dir():
        raise SfpError(f"{folder} is no folder: choose another --out.")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    # What a run leaves that was killed before it wrote its config.
    names = {name for name in names if not name.startswith(".draft-")}
    if names <= {"lock", CHECKSUMS, VERSIONS}:
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


def held_method(folder: Path) -> str | None:
    """The method of the run that the folder holds, if it holds one."""
    if not (folder / CONFIG).is_file():
        return None
    held = read_json(folder / CONFIG, REMEDY)
    method = held.get("method") if isinstance(held, dict) else None
    return method if isinstance(method, str) else None


def check_config(folder: Path, asked: dict[str, Any]) -> None:
    """Write what was asked for, or refuse if it is not what the folder holds."""
    versions = {name: version(name) for name in PACKAGES} | {"cpu": cpu_kind()}
    if not (folder / CONFIG).is_file():
        _write(folder, {VERSIONS: versions, CONFIG: asked}, {})
        return
    verified = check_run(folder)
    held, wanted = read_json(folder / CONFIG, REMEDY), json.loads(json.dumps(asked))
    for name in UNTOLD:
        if name not in held:
            wanted.pop(name, None)
    for config in (held, wanted):  # names: fingerprints tell priors apart
        config.pop("priors", None)
    changes = _changes(_settled(folder, held, wanted), _settled(folder, wanted, wanted))
    if changes:
        raise SfpError(
            f"{folder} holds a run with other settings ({changes}): give the same "
            "ones, or choose another --out."
        )
    if not verified:
        warn_unverified(folder)
    held = read_json(folder / VERSIONS, REMEDY)
    versions = {k: v for k, v in versions.items() if k != "cpu" or k in held}
    changes = _changes(held, versions)
    if changes and not (folder / FINISHED).is_file():
        write_json(folder / CHANGED, versions)
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
    gone = sorted(k for k in flat.keys() - DEFAULTS.keys() if flat[k] != GONE.get(k))
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


def check_run(folder: Path) -> bool:
    """Refuse a run whose documents, or tables once it has ended, have changed.

    The result is False for a run of an earlier version, without digests.
    """
    sums = read_sums(folder)
    if sums is None:
        return False
    names = [VERSIONS, CONFIG]
    if (folder / FINISHED).is_file():
        names += [FINISHED, *(f"{name}.csv" for name in TABLES)]
    check_sums(folder, sums, names)
    return True


def finish(folder: Path, end: dict[str, Any], meta: dict[str, Any]) -> None:
    """Write how a run ended, and the digests of its tables.

    Args:
        folder: of the run.
        end: what to say of it.
        meta: the numbers of its last checkpoint.
    """
    sums = read_sums(folder)
    if (folder / CHANGED).is_file():
        end["exact"] = False
    end["verified"] = meta["verified"] and sums is not None
    tables = {f"{name}.csv": made for name, (_, made) in meta["tables"].items()}
    _write(folder, {FINISHED: end}, None if sums is None else sums | tables)


def _write(
    folder: Path, documents: dict[str, Any], sums: dict[str, str] | None
) -> None:
    """Write documents; their digests, if there shall be any, come first.

    So whatever is there has its digest, also if the process dies in between.
    """
    texts = {name: json.dumps(value, indent=2) for name, value in documents.items()}
    if sums is not None:
        made = {name: digest(text) for name, text in texts.items()}
        write_sums(folder, sums | made)
    for name, text in texts.items():
        with atomic_file(folder / name) as draft:
            draft.write_text(text, encoding="utf-8")


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
