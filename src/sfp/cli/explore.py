"""`sfp explore`: how well actions cover a task before any learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from sfp.cli.console import progress, show


def explore(
    task: tyro.conf.Positional[str],
    *,
    explorer: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    prior: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    trajectories: int = 20,
    steps: int = 500,
    repetitions: int = 10,
    seed: int = 0,
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

    Args:
        task: a point-maze or Meta-World task (`sfp list tasks`), or a .txt file with
            an ASCII map.
        explorer: whom to compare; repeat it for more (`sfp list explorers`); default
            all.
        prior: a learned prior to compare, by its folder or shipped name; repeat it.
        trajectories: per repetition.
        steps: per trajectory.
        repetitions: of the measurement, for its spread.
        seed: the same seed gives the same bits.
        out: folder for pictures and tables.
        json: print one JSON document.
    """
    import numpy as np

    from sfp.analysis.arena import make_arena
    from sfp.analysis.explorers import EXPLORERS
    from sfp.analysis.explorers import explore as walk
    from sfp.analysis.figures import (
        save,
        spectrum_figure,
        spectrum_rows,
        trajectory_figure,
    )
    from sfp.analysis.tables import save_csv, save_json
    from sfp.envs.maze import get_layout
    from sfp.envs.registry import get_task, maze_layout
    from sfp.priors.store import fingerprint, load_prior

    chosen = get_task(task)
    names = explorer or tuple(EXPLORERS)
    # By its last name: walks depend on it, and are to be the same in every folder.
    called = [Path(name).name for name in prior]
    alike = len({*called}) < len({*prior})
    priors = {
        f"prior {name if alike else short}": load_prior(name)
        for name, short in zip(prior, called, strict=True)
    }
    total = max(1, steps) * (len(names) + len(priors))
    with progress(f"exploring {chosen.name}", total) as advance:
        walks = walk(
            task,
            names,
            priors=priors,
            trajectories=trajectories,
            steps=steps,
            repetitions=repetitions,
            seed=seed,
            progress=advance,
        )
    rows = [exploration.row() for exploration in walks]
    stem = out / f"explore-{chosen.name}"
    arena = make_arena(chosen, 1, np.random.default_rng(0))
    is_maze = chosen.suite == "point-maze"
    place = get_layout(maze_layout(chosen)) if is_maze else (arena.low, arena.high)
    box = ", ".join(
        f"{a:g} to {b:g}" for a, b in zip(arena.low, arena.high, strict=True)
    )
    spectra = {e.name: e.actions for e in walks}
    powers = spectrum_rows(spectra)
    made = {
        "task": chosen.name,
        "explorers": list(names),
        "priors": {name: fingerprint(prior) for name, prior in priors.items()},
        "trajectories": trajectories,
        "steps": steps,
        "repetitions": repetitions,
        "seed": seed,
    }
    save_json(made, Path(f"{stem}.json"))
    files = [
        save(trajectory_figure(place, walks, shown=trajectories), Path(f"{stem}.png")),
        save(spectrum_figure(spectra), Path(f"{stem}-psd.png")),
        *([save_csv(powers, Path(f"{stem}-psd.csv"))] if powers else []),
        save_csv(rows, Path(f"{stem}.csv")),
    ]
    size = f"{repetitions} x {trajectories} trajectories of {steps} steps"
    show(
        rows,
        json=json,
        title=f"{chosen.name}: {size}, seed {seed}",
        notes=[
            "gyration is divided by the squared diagonal, gyration_printed by the "
            "diagonal as the formula is printed: the paper's table has the former for "
            "the room, the latter for reach.",
            f"The box of reachable positions is {box}.",
            *(f"Written: {file}" for file in files),
        ],
        task=chosen.name,
        figures=[str(file) for file in files],
    )
