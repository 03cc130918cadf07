"""`sfp explore`: how well actions cover a task before any learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from sfp.cli.console import show
from sfp.progress import progress


def explore(
    task: tyro.conf.Positional[str],
    *,
    explorer: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    prior: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    trajectories: int = 20,
    steps: int | None = None,
    repetitions: int = 10,
    seed: int = 0,
    position: tuple[int, ...] = (),
    out: Path = Path("figures"),
    json: bool = False,
) -> None:
    """Compare explorers by coverage and radius of gyration (the paper's Table 1).

    Prints mean and standard deviation over repetitions, and saves the picture of the
    trajectories, the power spectra of the actions, the numbers of both as CSV, and what
    they were made with as JSON:
        sfp explore room-large --explorer uniform --explorer scripted

    Learned priors join with --prior:
        sfp explore room-large --prior room

    In your own environment it tells before any training whether a prior meets rewards
    that other actions do not:
        sfp explore my_robot:Lift-v0 --prior priors/mine --repetitions 2

    Args:
        task: a point-maze or Meta-World task (`sfp list tasks`), a .txt file with an
            ASCII map, or a Gymnasium id of your own.
        explorer: whom to compare; repeat it for more (`sfp list explorers`); default
            all that can.
        prior: a learned prior to compare, by its folder or shipped name; repeat it.
        trajectories: per repetition.
        steps: per trajectory; default an episode's, 500 if it has no end.
        repetitions: of the measurement, for its spread.
        seed: the same seed gives the same bits.
        position: in an environment of your own, which numbers of the observation say
            where one is; default the achieved goal, or all of it.
        out: folder for pictures and tables.
        json: print one JSON document.
    """
    from sfp.exploration.explorers import EXPLORERS
    from sfp.exploration.explorers import explore as walk
    from sfp.exploration.figures import (
        save,
        spectrum_figure,
        spectrum_rows,
        trajectory_figure,
    )
    from sfp.exploration.place import find_place
    from sfp.files import write_json
    from sfp.priors.store import fingerprint, load_prior
    from sfp.report.tables import save_csv

    place = find_place(task, position)
    can = (name for name in EXPLORERS if place.is_known or name != "scripted")
    names, length = explorer or tuple(can), place.steps if steps is None else steps
    # By its last name: walks depend on it, and are to be the same in every folder.
    called = [Path(name).name for name in prior]
    alike = len({*called}) < len({*prior})
    priors = {
        f"prior {name if alike else short}": load_prior(name)
        for name, short in zip(prior, called, strict=True)
    }
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
            progress=advance,
        )
    rows = [exploration.row() for exploration in walks]
    stem = out / f"explore-{place.name}"
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
    }
    files = [
        save(picture, Path(f"{stem}.png")),
        save(spectrum_figure(spectra), Path(f"{stem}-psd.png")),
        *([save_csv(powers, Path(f"{stem}-psd.csv"))] if powers else []),
    ]
    write_json(Path(f"{stem}.json"), made)
    files.append(save_csv(rows, Path(f"{stem}.csv")))  # the mark that all is there
    size = f"{repetitions} x {trajectories} trajectories of {length} steps"
    show(
        rows,
        json=json,
        title=f"{place.name}: {size}, seed {seed}",
        notes=[
            *place.notes,
            *(f"Written: {file}" for file in files),
        ],
        task=place.name,
        figures=[str(file) for file in files],
    )
