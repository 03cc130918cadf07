"""`sfp explore`: how well actions cover a task before any learning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from sfp.cli.console import show
from sfp.errors import SfpError
from sfp.progress import progress

if TYPE_CHECKING:
    from sfp.priors.base import Prior


def explore(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    *,
    explorer: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    prior: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    temperature: float = 1.0,
    trajectories: int = 20,
    steps: int | None = None,
    repetitions: int = 10,
    seed: int = 0,
    position: tuple[int, ...] = (),
    solved_at: float | None = None,
    video: Path | None = None,
    out: Path = Path("figures"),
    json: bool = False,
) -> None:
    """Measure how well explorers cover a task, before any training.

    Coverage and radius of gyration are those of the paper's Table 1. The command prints
    their means and standard deviations over repetitions, and saves figures of the
    trajectories (or of how far they get) and of the actions' power spectra, with their
    numbers as CSV:
        sfp explore room-large --explorer uniform --explorer scripted

    Add learned priors with --prior:
        sfp explore room-large --prior room

    In your own environment, the command tells whether a prior meets rewards that noise
    does not meet:
        sfp explore my_robot:Lift-v0 --prior priors/mine --repetitions 2

    See them act, side by side:
        sfp explore swimmer --prior swimmer --repetitions 1 --video swimmer.mp4

    Args:
        task: a point-maze or Meta-World task (`sfp list tasks`), a .txt file with an
            ASCII map, or a Gymnasium id of your own.
        explorer: an explorer to compare (`sfp list explorers`); repeat the option for
            more. By default all of them are compared.
        prior: a learned prior to compare, by its folder or by the name of a shipped
            one; repeat the option for more.
        temperature: samples of the priors are sharper (below 1) or broader (above) than
            fitted.
        trajectories: trajectories in each repetition.
        steps: time steps of each trajectory; by default those of an episode, or 500 if
            episodes have no time limit.
        repetitions: how often to measure, for the standard deviation.
        seed: the same seed gives the same bits.
        position: in an environment of your own, the indices of the observation that are
            the position; by default the achieved goal, or the whole observation.
        solved_at: in an environment of your own, the return from which on an episode is
            a success. By default the environment tells success, or where it does not,
            its spec's reward_threshold decides.
        video: also write a film of one episode of each, as .mp4, .gif or .webp; without
            the scripted policy, which has no part in it.
        out: folder for figures and tables.
        json: print one JSON document.
    """
    from sfp.exploration.explorers import EXPLORERS, success_notes
    from sfp.exploration.explorers import explore as walk
    from sfp.exploration.figures import (
        distance_figure,
        save,
        spectrum_figure,
        spectrum_rows,
        trajectory_figure,
    )
    from sfp.exploration.place import find_place
    from sfp.files import write_json
    from sfp.priors.base import check_temperature
    from sfp.priors.noises import is_noise
    from sfp.priors.store import fingerprint, load_prior
    from sfp.report.abreast import film_explorers
    from sfp.report.tables import save_csv
    from sfp.training.video import check_video, filming

    if video:
        check_video(video)
    check_temperature(temperature)
    place = find_place(task, position)
    can = (name for name in EXPLORERS if place.is_known or name != "scripted")
    names, length = explorer or tuple(can), place.steps if steps is None else steps
    for number, name in enumerate(prior):
        if is_noise(name):
            raise SfpError(
                f"expected a learned prior, received the noise {name}: give it as "
                f"--explorer {name}."
            )
        if name in prior[:number]:
            raise SfpError(f"the prior {name} was given twice: leave one out.")
    # By its last name: walks depend on it, and are to be the same in every folder.
    called = [Path(name).name for name in prior]
    alike = len({*called}) < len({*prior})
    priors = {
        f"prior {name if alike else short}": _at(load_prior(name), temperature)
        for name, short in zip(prior, called, strict=True)
    }
    filmed = [name for name in names if name != "scripted"]
    if video and not (filmed or priors):
        raise SfpError(
            "expected an explorer to film besides the scripted one: add --explorer "
            "uniform, or leave out --video."
        )
    total = max(1, length) * (len(names) + len(priors))
    total *= 1 if place.is_known else max(1, repetitions * trajectories)
    with progress(f"exploring {place.name}", total) as advance:
        walks = walk(
            place,
            names,
            priors=priors,
            trajectories=trajectories,
            steps=length,
            repetitions=repetitions,
            seed=seed,
            solved_at=solved_at,
            progress=advance,
        )
    rows = [exploration.row() for exploration in walks]
    stem = out / f"explore-{place.name}"
    if place.threshold is not None:
        picture = distance_figure(walks, place.threshold, shown=trajectories)
    else:
        picture = trajectory_figure(
            place.canvas(), walks, shown=trajectories, labels=place.labels
        )
    spectra = {e.name: e.actions for e in walks}
    powers = spectrum_rows(spectra)
    made = {
        "task": place.name,
        "explorers": list(names),
        "priors": {name: fingerprint(prior) for name, prior in priors.items()},
        "trajectories": trajectories,
        "steps": length,
        "repetitions": repetitions,
        "seed": seed,
        "solved_at": solved_at,
        **({"temperature": temperature} if temperature != 1 else {}),
    }
    files = [
        save(picture, Path(f"{stem}.png")),
        save(spectrum_figure(spectra), Path(f"{stem}-psd.png")),
        *([save_csv(powers, Path(f"{stem}-psd.csv"))] if powers else []),
    ]
    write_json(Path(f"{stem}.json"), made)
    files.append(save_csv(rows, Path(f"{stem}.csv")))  # the mark that all is there
    if video:
        with (
            progress(
                f"filming {place.name}", length * (len(filmed) + len(priors))
            ) as advance,
            filming(video) as film,
        ):
            film_explorers(
                task,
                filmed,
                film,
                priors=priors,
                steps=length,
                seed=seed,
                progress=advance,
            )
        files.append(video)
    size = f"{repetitions} x {trajectories} trajectories of {length} steps"
    show(
        rows,
        json=json,
        title=f"{place.name}: {size}, seed {seed}",
        notes=[
            *place.notes,
            *success_notes(walks),
            *(f"Written: {file}" for file in files),
        ],
        task=place.name,
        figures=[str(file) for file in files],
    )


def _at(prior: Prior, temperature: float) -> Prior:
    return prior if temperature == 1 else prior.tempered(temperature)
