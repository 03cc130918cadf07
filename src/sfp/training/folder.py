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
    remove,
    warn_unverified,
    write_json,
    write_sums,
)
from sfp.training.log import TABLES
from sfp.versions import version

PACKAGES = ("sfp", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")
CONFIG, VERSIONS, FINISHED = "config.json", "versions.json", "finished.json"
BEST = "best"
"""The policy of the evaluation with the highest return, in a folder like `policy`."""

CHANGED = "changed.json"
"""Versions, or a CPU, that a run went on with and that it was not begun with."""

REMEDY = "Choose another --out."
UNTOLD = ("beside", "reward_threshold")
"""What the config of an earlier version does not tell, and cannot be asked for."""

NEXT = f"{CONFIG} (next)"
"""In SHA256SUMS, the digest of a config that is about to be written."""


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
                f"there is no run to resume in {folder}: leave out --resume and "
                "--extend."
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


def check_config(
    folder: Path, asked: dict[str, Any], *, extend: bool = False, state: Any = None
) -> None:
    """Write what was asked for, or refuse if it is not what the folder holds.

    A run may be given another end: nothing before it depends on that. What it goes on
    with is a `state` of these shapes.
    """
    versions = {name: version(name) for name in PACKAGES} | {"cpu": cpu_kind()}
    if not (folder / CONFIG).is_file():
        _write(folder, {VERSIONS: versions, CONFIG: asked}, {})
        return
    verified = check_run(folder)
    held, wanted = read_json(folder / CONFIG, REMEDY), json.loads(json.dumps(asked))
    for name in UNTOLD:
        if name not in held:
            wanted.pop(name, None)
    # fingerprints tell priors apart, and names tell people which they were
    called = [" + ".join(config.pop("priors", None) or ()) for config in (held, wanted)]
    ours, theirs = (_settled(folder, config, wanted) for config in (held, wanted))
    changed = _differences(ours, theirs)
    if "prior" in changed and all(called):
        changed["prior"] = _who(changed["prior"], called)
    if changed:
        _check_end(folder, changed, extend=extend, state=state)
        _move_end(folder, {name: new for name, (_, new) in changed.items()})
    if not verified:
        warn_unverified(folder)
    held = read_json(folder / VERSIONS, REMEDY)
    versions = {k: v for k, v in versions.items() if k != "cpu" or k in held}
    changes = _told(_differences(held, versions))
    if changes and not (folder / FINISHED).is_file():
        write_json(folder / CHANGED, versions)
        warnings.warn(
            f"{folder} was begun with other versions ({changes}): the run goes on, but "
            "perhaps not bit for bit.",
            stacklevel=2,
        )


def _who(prints: tuple[Any, Any], called: list[str]) -> tuple[str, str]:
    """The priors' names; of those with the same names, which one is another now."""
    if called[0] != called[1]:
        return called[0], called[1]
    old, new = (str(one).split(" + ") for one in prints)
    names = called[0].split(" + ")
    if not len(old) == len(new) == len(names):
        return str(prints[0]), str(prints[1])
    both = [x for x in zip(names, old, new, strict=True) if x[1] != x[2]]
    told = [[f"{x[0]} ({x[i][:8]})" for x in both] for i in (1, 2)]
    return " + ".join(told[0]), " + ".join(told[1])


def _check_end(
    folder: Path, changed: dict[str, tuple[Any, Any]], *, extend: bool, state: Any
) -> None:
    """Refuse settings that make another run than the folder's with another end."""
    told = _told(changed)
    ends = changed.keys() <= {"steps", "until_solved"}
    if not ends or changed.get("until_solved", (True, False)) != (True, False):
        raise SfpError(
            f"{folder} holds a run with other settings ({told}): give the same ones, "
            "or choose another --out."
        )
    if not extend:
        raise SfpError(
            f"{folder} holds a run with another end ({told}): add --extend to go on to "
            "the new one, or choose another --out."
        )
    # With it comes JAX, which a grid's driver, that reads folders too, can do without.
    from sfp.training.checkpoint import Checkpoints

    checkpoints = Checkpoints(folder / "checkpoint")
    reached = max(checkpoints.steps(), default=0)
    begun = (folder / FINISHED).is_file() or checkpoints.steps()
    if begun and not checkpoints.whole(state):
        raise SfpError(
            f"{folder} holds a run without a checkpoint that is whole and of this "
            "version: it cannot go on beyond its end. Choose another --out."
        )
    steps = changed.get("steps", (0, reached))[1]
    if steps < reached:
        raise SfpError(
            f"{folder} holds a run that is at step {reached} already: expected --steps "
            f"{reached} or more, received {steps}."
        )


def _move_end(folder: Path, end: dict[str, Any]) -> None:
    """Give the run of a folder another end; a process may die at any point of it."""
    held = read_json(folder / CONFIG, REMEDY)
    moved = {
        name: group | {k: end[k] for k in end.keys() & group.keys()}
        for name, group in held.items()
        if isinstance(group, dict)
    }
    text = json.dumps(held | moved, indent=2)
    remove(folder / FINISHED)
    remove(folder / "policy")  # as in every run that has not ended
    sums = _read_sums(folder)
    if sums is not None:
        sums = {name: sums[name] for name in (VERSIONS, CONFIG)}
        write_sums(folder, sums | {NEXT: digest(text)})
    with atomic_file(folder / CONFIG) as draft:
        draft.write_text(text, encoding="utf-8")
    if sums is not None:
        write_sums(folder, sums | {CONFIG: digest(text)})


def _read_sums(folder: Path) -> dict[str, str] | None:
    """The digests of a run's files, also if it died while its end was moved."""
    sums, path = read_sums(folder), folder / CONFIG
    following = sums.pop(NEXT, None) if sums else None
    if sums and following and path.is_file() and digest(path.read_bytes()) == following:
        sums[CONFIG] = following
    return sums


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
    sums = _read_sums(folder)
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
    sums = _read_sums(folder)
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


def _told(changed: dict[str, tuple[Any, Any]]) -> str:
    return "; ".join(
        f"{name} {old!r} -> {new!r}" for name, (old, new) in changed.items()
    )


def _differences(held: Any, asked: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    if isinstance(held, dict) and isinstance(asked, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in sorted(held.keys() | asked.keys()):
            found |= _differences(held.get(key), asked.get(key), key)
        return found
    return {} if held == asked else {name: (held, asked)}
