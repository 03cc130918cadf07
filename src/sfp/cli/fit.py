"""`sfp fit`: learn a prior."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import tyro

from sfp.cli.console import show
from sfp.progress import fitting_progress


def fit(
    dataset: tyro.conf.Positional[str],
    *,
    out: Path,
    past_actions: int = 1,
    state: bool = False,
    model: str = "realnvp",
    preset: Literal["default", "paper"] = "default",
    env: str | None = None,
    epochs: int | None = None,
    epoch_steps: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    keep: float = 1.0,
    uniform: float = 0.0,
    drop_short: bool = False,
    seed: int = 0,
    threads: int = 1,
    force: bool = False,
    json: bool = False,
) -> None:
    """Learn an action prior from recordings; interrupted, the same command goes on.

    A state-free prior needs nothing but actions:
        sfp fit sfp/room/scripted-v0 --past-actions 1 --out priors/room

    A behavioural prior needs states too:
        sfp fit sfp/room/scripted-v0 --past-actions 0 --state --out priors/room-state

    Args:
        dataset: a Minari id, or the path of a folder or file (see `sfp data --help`).
        out: folder for the prior: weights, config, model card and pictures.
        past_actions: how many past actions the prior sees; 0, 1, 2, 5, 10, any.
        state: let it also see the state (with the goal, where recorded).
        model: the density model (`sfp list models`).
        preset: `paper` is its protocol: 100 passes, constant rate 1e-4.
        env: take the action bounds from this environment (a task or a Gymnasium id), if
            the recordings do not state them.
        epochs: change the preset's.
        epoch_steps: change the preset's gradient steps per epoch.
        batch: change the preset's batch size.
        learning_rate: change the preset's.
        keep: learn from this share of the episodes only.
        uniform: replace this share of the episodes by uniform actions.
        drop_short: leave out episodes of fewer than two actions.
        seed: the same seed gives the same bits.
        threads: for JAX; two fits with one each beat one fit with two.
        force: replace an existing folder.
        json: print one JSON document.
    """
    from sfp.compute import keep_compiled, use_threads

    use_threads(threads)

    from dataclasses import replace

    import numpy as np

    from sfp.data.sources import load
    from sfp.envs.adapter import bounds_of
    from sfp.exploration.card import write_card
    from sfp.priors.conditioning import Conditioning
    from sfp.priors.fit import PRESETS, Fitter
    from sfp.priors.prepare import check_seed
    from sfp.priors.session import check_target, fit_to

    check_target(out, force=force)
    check_seed(seed)
    keep_compiled()
    conditioning = Conditioning(past_actions, state)
    trajectories = load(
        dataset,
        columns=conditioning.columns,
        optional="goals" if state else None,
        drop_short=drop_short,
    )
    if env is not None:
        trajectories = trajectories.bounded(*bounds_of(env))
    rng = np.random.default_rng([seed, 3])
    if keep != 1.0:
        trajectories = trajectories.keep(keep, rng)
    if uniform:
        trajectories = trajectories.replace_by_uniform(uniform, rng)
    changes = {
        "epochs": epochs,
        "epoch_steps": epoch_steps,
        "batch": batch,
        "learning_rate": learning_rate,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    fitter = Fitter(
        trajectories,
        conditioning=conditioning,
        model=model,
        fitting=replace(PRESETS[preset], **given),
        seed=seed,
    )
    label, epochs = f"fitting {model}", fitter.fitting.epochs
    with fitting_progress(label, epochs, blocks=fitter.blocks) as advance:
        prior, card, rows = fit_to(
            out,
            trajectories,
            fitter,
            preset=preset,
            force=force,
            progress=advance,
            extras=lambda folder, prior, card: write_card(
                folder, prior, card, trajectories
            ),
        )
    row = {
        "prior": str(out),
        "model": model,
        "sees": str(prior.conditioning),
        "held_out": card.score,
        "epochs": card.fit["epochs_run"],
        "gradient_steps": card.fit["gradient_steps"],
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }
    show([row], json=json, notes=[f"Look at it: sfp prior show {out}"])
