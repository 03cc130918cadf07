"""A fit that survives: checkpoints after every epoch, resumes with the same bits."""

import csv
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfp.arrays import load_tree, save_tree
from sfp.compute import threads
from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
from sfp.events import EventFile
from sfp.files import atomic_file, locked, remove
from sfp.priors.base import Prior
from sfp.priors.conditioning import states
from sfp.priors.fit import Fitter, State
from sfp.priors.store import CONFIG, Card, fingerprint, make_card, save_prior
from sfp.tensors import load_arrays
from sfp.versions import version

PACKAGES = ("sfp", "jax", "jaxlib", "equinox", "optax", "numpy")
Row = dict[str, int | float]
TABLES = {
    "fit.csv": ("epoch", "steps", "loss", "held_out", "best"),
    "timing.csv": ("epoch", "seconds"),
}
"""What an epoch's row is split into: wall-clock times are not part of the result."""

COUNTS = ("epoch", "steps")
STATE = "state.safetensors"


def fit_to(
    out: Path,
    data: Trajectories,
    fitter: Fitter,
    *,
    preset: str,
    force: bool = False,
    progress: Callable[[int, Row | None], None] = lambda done, row: None,
    extras: Callable[[Path, Prior, Card], None] = lambda folder, prior, card: None,
) -> tuple[Prior, Card, list[Row]]:
    """Fit, checkpoint after every epoch, and write the prior's folder at the end.

    An interrupted fit with the same settings and data resumes; its checkpoint lies
    beside `out`, in a hidden folder that the end removes. `progress` is called with the
    number of blocks done and the last epoch's row; `extras` adds the model card and
    images.
    """
    first = fitter.prior(fitter.begin())
    card = make_card(first)  # a prior that cannot be kept is refused before the fit
    request = {
        "model": card.model,
        "arguments": card.arguments,
        "weights": fingerprint(first),
        "preset": preset,
        "conditioning": asdict(fitter.conditioning),
        "fitting": asdict(fitter.fitting),
        "seed": fitter.seed,
        "threads": threads(),
        "data": _fingerprint(data, fitter),
        "versions": {name: version(name) for name in PACKAGES},
    }
    work = out.parent / f".{out.name}.fit"
    with locked(work, "fitting into") as check:
        check_target(out, force=force)
        state, rows = _resume(work, request, fitter)
        done = int(state.epoch) * fitter.blocks
        progress(done, rows[-1] if rows else None)

        def tick() -> None:
            nonlocal done
            done += 1
            progress(done, rows[-1] if rows else None)

        # Written anew from the rows: an interruption leaves none out and none twice.
        remove(work / "events")
        with EventFile(work / "events") as events:
            for row in rows:
                _log(events, row)
            for row, latest in fitter.epochs(state, tick):
                check()
                state = latest
                rows.append(row)
                _write_rows(work, rows)
                with atomic_file(work / STATE) as draft:
                    save_tree(draft, state, {"request": request, "rows": rows})
                _log(events, row)
                progress(done, row)
        prior = fitter.prior(state)
        card = filled(card, data, fitter, state, request)

        def fill(folder: Path) -> None:
            for name in TABLES:
                shutil.copy(work / name, folder)
            shutil.copytree(work / "events", folder / "events")
            extras(folder, prior, card)

        save_prior(out, prior, card, force=force, extras=fill)
        shutil.rmtree(work)
    return prior, card, rows


def check_target(out: Path, *, force: bool) -> None:
    if not out.resolve().name or out.resolve() in Path.cwd().resolve().parents:
        raise SfpError(f"{out} is no place for a prior: name a new folder.")
    if not out.exists():
        return
    if not (out / CONFIG).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise SfpError(f"{out} is there and no prior: choose another --out.")
    if not force:
        raise SfpError(f"{out} exists already: add --force to replace it.")


def _fingerprint(data: Trajectories, fitter: Fitter) -> str:
    if not fitter.conditioning.state:
        return data.fingerprint
    seen = data.images if fitter.conditioning.image else states(data)
    seen = hashlib.sha256(np.ascontiguousarray(seen).data).hexdigest()
    return f"{data.fingerprint}+{seen}"


def filled(
    card: Card,
    data: Trajectories,
    fitter: Fitter,
    state: State,
    request: dict[str, Any],
) -> Card:
    heat = fitter.temperature
    return replace(
        card,
        rate=data.rate,
        data={
            "source": data.source,
            "fingerprint": data.fingerprint,
            "episodes": len(data),
            "steps": len(data.actions),
        },
        fit={
            "preset": request["preset"],
            **request["fitting"],
            "seed": request["seed"],
            "threads": request["threads"],
            **({"temperature": heat} if heat != 1 else {}),
            "epochs_run": int(state.epoch),
            "best_epoch": int(state.best_epoch),
            "gradient_steps": int(state.epoch) * fitter.epoch_steps,
            "jitter": [float(x) for x in fitter.jitter],
        },
        score=fitter.score(fitter.prior(state).model),
        versions=request["versions"],
    )


def _resume(
    work: Path, request: dict[str, Any], fitter: Fitter
) -> tuple[State, list[Row]]:
    begin, path = fitter.begin(), work / STATE
    if not os.path.lexists(path):
        return begin, []
    try:
        _, held = load_arrays(path, sealed=True)
        if held["request"] == json.loads(json.dumps(request)):
            return load_tree(path, begin, sealed=True), held["rows"]
    except SfpError as error:
        warnings.warn(f"{error} The fit begins anew.", stacklevel=3)
    remove(path)  # of another fit, or damaged
    return begin, []


def _log(events: EventFile, row: Row) -> None:
    scalars = {f"fit/{k}": v for k, v in row.items() if k not in COUNTS}
    events.scalars(int(row["steps"]), scalars)


def _write_rows(work: Path, rows: list[Row]) -> None:
    for name, columns in TABLES.items():
        with (
            atomic_file(work / name) as draft,
            draft.open("w", newline="", encoding="utf-8") as file,
        ):
            table = csv.DictWriter(
                file, columns, extrasaction="ignore", lineterminator="\n"
            )
            table.writeheader()
            table.writerows(rows)
