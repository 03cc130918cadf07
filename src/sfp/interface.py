"""What Python users call: the same functions, and progress on stderr."""

from __future__ import annotations

import functools
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from sfp.agents.methods import usual_method
from sfp.agents.own import called_agent
from sfp.config import Schedule
from sfp.data.trajectories import Trajectories
from sfp.errors import LONG
from sfp.exploration.choose import find_past_actions
from sfp.priors.base import Prior
from sfp.priors.fit import Fitting, settings
from sfp.priors.fit import fit as _fit
from sfp.priors.models import find_maker, usual_model
from sfp.priors.store import make_card
from sfp.priors.store import save_prior as _save
from sfp.progress import fitting_progress, say_note, training_progress
from sfp.training.run import train as _train
from sfp.training.trained import Trained


@functools.wraps(_train)
def train(env: Any, **given: Any) -> Trained:
    """As `sfp.training.run.train`; whoever passes `progress` sees nothing else."""
    if "progress" in given:
        return _train(env, **given)
    given = {"say": say_note} | given
    who = given.get("method") or usual_method(given.get("preset", "default"))
    who = called_agent(given["agent"]) if given.get("agent") is not None else who
    label = f"{who} on {env if isinstance(env, str) else 'it'}"
    total = _count(given, "steps", Schedule.steps)
    with training_progress(label, total) as (pulse, listen, prepared):
        listeners = (*given.pop("listeners", ()), listen)
        told: dict[str, Any] = {"report": prepared} | given
        return _train(env, **told, listeners=listeners, progress=pulse)


@functools.wraps(_fit)
def fit(data: Trajectories, **given: Any) -> Prior:
    """As `sfp.priors.fit.fit`; whoever passes `progress` sees nothing else.

    `past_actions="auto"` tries a few numbers, and with `env=` explores it with each, as
    `sfp fit --past-actions auto` does.
    """
    preset = given.get("preset", "default")
    model = given.get("model")
    model = usual_model(preset) if model is None else model
    env = given.pop("env", None)
    if env is not None or given.get("past_actions") == "auto":
        names = {field.name for field in fields(Fitting)}
        conditioning, notes = find_past_actions(
            data,
            given.get("past_actions", 1),
            state=given.get("state", False),
            env=env,
            model=model,
            fitting=settings(model, preset, **{k: given[k] for k in names & {*given}}),
            seed=given.get("seed", 0),
        )
        given["past_actions"] = conditioning.past_actions
        print(*notes, sep="\n", file=sys.stderr)
    if "progress" in given:
        return _fit(data, **given)
    total = _count(given, "epochs", settings(model, preset).epochs)
    with fitting_progress(f"fitting {find_maker(model).label}", total) as advance:
        return _fit(data, **given, progress=lambda row: advance(int(row["epoch"]), row))


def save_prior(prior: Prior, folder: str | Path, *, force: bool = False) -> None:
    """Keep a prior in a folder that `load_prior` and `--prior` find.

    Args:
        prior: what `fit` returned.
        folder: to make; whole or not at all.
        force: replace what is there.
    """
    _save(Path(folder), prior, make_card(prior), force=force)


def _count(given: dict[str, Any], name: str, default: int) -> int:
    """How long the bar is; what is no number is refused further on."""
    value = given.get(name, default)
    known = isinstance(value, int | float) and abs(value) < LONG
    return int(value) if known else default
