"""`sfp collect`: record trajectories."""

from __future__ import annotations

import tyro

from sfp.cli.console import show
from sfp.progress import progress


def collect(
    task: tyro.conf.Positional[str],
    *,
    episodes: int = 4000,
    steps: int = 500,
    seed: int = 0,
    expert: bool = False,
    workers: int = 1,
    name: str | None = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Record a scripted policy that reaches random goals, as a Minari dataset.

    The paper learns its priors from 4000 such trajectories in `room` and in `reach`:
        sfp collect room
        sfp collect reach --workers 2

    Interrupted in Meta-World, the same command goes on where it stopped.

    Args:
        task: a task (`sfp list tasks`) or a .txt file with an ASCII map of your own.
        episodes: trajectories to record.
        steps: per trajectory.
        seed: the same seed gives the same bits.
        expert: record Meta-World's scripted expert at the task instead.
        workers: processes that record in Meta-World; the data is the same.
        name: the dataset's id; by default sfp/TASK/scripted-v0 (or expert-v0).
        force: replace an existing dataset.
        json: print one JSON document.
    """
    from sfp.data.collect import collect as record
    from sfp.data.sources.minari import root

    with progress(f"recording {task}", episodes) as advance:
        data = record(
            task,
            episodes=episodes,
            steps=steps,
            seed=seed,
            expert=expert,
            workers=workers,
            name=name,
            force=force,
            progress=advance,
        )
    path = root() / data.source
    row = {
        "dataset": data.source,
        "episodes": len(data),
        "steps": len(data.actions),
        "fingerprint": data.fingerprint[:16],
        "path": str(path),
    }
    show([row], json=json, notes=[f"Look at it: sfp data {data.source}"])
