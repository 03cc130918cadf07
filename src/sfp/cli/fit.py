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
    past_actions: int | Literal["auto"] | None = None,
    state: bool = False,
    model: str | None = None,
    preset: Literal["default", "paper"] = "default",
    temperature: float = 1.0,
    env: str | None = None,
    horizon: int | None = None,
    latent: int | None = None,
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

    How many past actions are best can be tried, also in the environment to explore:
        sfp fit sfp/room/scripted-v0 --past-actions auto --env maze --out priors/maze

    A behavioural prior needs states too:
        sfp fit sfp/room/scripted-v0 --past-actions 0 --state --out priors/room-state

    Skills for method spirl are windows of ten actions; they need states too, and with
    --model skills-open nothing but actions:
        sfp fit sfp/reach/scripted-v0 --model skills --out priors/reach-skills

    PARROT on images needs recordings with images (sfp collect room --images):
        sfp fit sfp/room/scripted-images-v0 --model parrot-image --out priors/room-image

    Args:
        dataset: a Minari id, or the path of a folder or file (see `sfp data --help`).
        out: folder for the prior: weights, config, model card and pictures.
        past_actions: how many past actions the prior sees, 1 by default; 0, 1, 2, 5,
            10, any; auto tries these for a while and takes the best. Skills, and what
            sees images, see none.
        state: let it also see the state (with the goal, where recorded).
        model: the density model (`sfp list models`); with --preset paper, realnvp.
        preset: `paper` is its protocol: 100 passes, constant rate 1e-4.
        temperature: sample sharper (below 1) or broader (above) than fitted.
        env: the environment to explore (a task or a Gymnasium id): action bounds that
            the recordings do not state are taken from it, and `--past-actions auto`
            counts how often its goal is met.
        horizon: actions of a skill (10); with --model skills or skills-open.
        latent: numbers of a skill's latent (10); likewise.
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

    import numpy as np

    from sfp.data.sources import load, thinning_for_images
    from sfp.envs.adapter import bounds_of
    from sfp.errors import MissingColumn, SfpError
    from sfp.exploration.card import write_card
    from sfp.exploration.choose import find_past_actions
    from sfp.priors.base import check_temperature
    from sfp.priors.fit import Fitter, conditioning_of, settings
    from sfp.priors.models import SEEING, SKILLS, sized, usual_model
    from sfp.priors.prepare import check_seed
    from sfp.priors.session import check_target, fit_to

    check_target(out, force=force)
    check_seed(seed)
    check_temperature(temperature)
    keep_compiled()
    model = usual_model(preset) if model is None else model
    if model in (*SKILLS, *SEEING):
        if past_actions not in (None, 0):
            raise SfpError(
                f"the model {model} sees no past actions, received past_actions "
                f"{past_actions}: leave it out, or fit another model."
            )
        past_actions = 0
    past_actions = 1 if past_actions is None else past_actions
    past = 0 if past_actions == "auto" else past_actions
    made = sized(model, horizon=horizon, latent=latent)
    conditioning = conditioning_of(model, past, state=state)
    state = conditioning.state
    every = 1
    if conditioning.image:
        every = thinning_for_images(dataset, drop_short=drop_short)
    try:
        trajectories = load(
            dataset,
            columns=conditioning.columns,
            optional="goals" if state and not conditioning.image else None,
            drop_short=drop_short,
            every=every,
        )
    except MissingColumn as error:
        load(dataset, drop_short=drop_short)  # raises if it lacks the actions
        raise MissingColumn(f"{error} {_blind(model)}") from error
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
    fitting = settings(model, preset, **given)
    conditioning, notes = find_past_actions(
        trajectories,
        past_actions,
        state=state,
        env=env,
        model=model,
        fitting=fitting,
        seed=seed,
    )
    fitter = Fitter(
        trajectories,
        conditioning=conditioning,
        model=made,
        fitting=fitting,
        temperature=temperature,
        seed=seed,
    )
    label, epochs = f"fitting {model}", fitter.fitting.epochs
    with fitting_progress(
        label, epochs, blocks=fitter.blocks, unit=fitter.unit
    ) as advance:
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
    notes.append(f"Look at it: sfp prior show {out}")
    show([row], json=json, notes=notes)


def _blind(model: str) -> str:
    """What can be fitted to recordings that lack what the model sees."""
    from sfp.priors.models import SEEING

    if model == "skills":
        return "Closed-loop skills see states: --model skills-open needs actions only."
    if model in SEEING:
        return "Record images (sfp collect --images), or fit another model."
    return "Without --state nothing but actions is needed."
