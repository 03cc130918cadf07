"""`sfp collect`: record trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import tyro

from sfp.cli.console import show
from sfp.progress import progress


def collect(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    *,
    episodes: int | None = None,
    steps: int = 500,
    seed: int = 0,
    policy: str = "scripted",
    expert: bool = False,
    workers: int = 1,
    images: bool = False,
    name: str | None = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Record trajectories of a policy as a Minari dataset.

    By default a scripted policy moves to random goals. The paper learns its priors from
    4000 such trajectories in `room` and in `reach`:
        sfp collect room
        sfp collect reach --workers 2

    A policy that you trained records too, in any task with its observations and
    actions:
        sfp collect maze --policy runs/maze --episodes 100

    In locomotion, experts record that ship with sfp:
        sfp collect halfcheetah --policy expert

    PARROT on images learns from images beside the actions:
        sfp collect room --images

    In Meta-World, an interrupted recording resumes with the same command.

    Args:
        task: a task (`sfp list tasks`), a .txt file with an ASCII map of your own, or,
            for --policy RUN, a Gymnasium id.
        episodes: trajectories to record; by default as many as in the paper, 4000, or
            1000 in locomotion; with images 400.
        steps: time steps of each trajectory.
        seed: the same seed gives the same bits.
        policy: who acts: `scripted`, `expert` (Meta-World's expert for the task, or in
            locomotion ours), or the folder of a run, of its best policy (RUN/best), or
            of a saved policy.
        expert: deprecated; write --policy expert.
        workers: processes that record in Meta-World; the data does not depend on it.
        images: record 64x64 images too, with the policy's own goal drawn into them (in
            point-mazes and Meta-World).
        name: the dataset's id; by default sfp/TASK/scripted-v0 (or expert-v0, or the
            run's name), with images sfp/TASK/scripted-images-v0.
        force: replace an existing dataset.
        json: print one JSON document.
    """
    from sfp.data.collect import EXPERT, SCRIPTED, usual_episodes
    from sfp.data.collect import collect as record
    from sfp.data.sources.minari import root
    from sfp.envs.registry import get_task, slug

    who: Any = policy
    if episodes is None:
        episodes = usual_episodes(get_task(task), images=images)
    if policy not in (SCRIPTED, EXPERT):
        from sfp.training.folder import BEST
        from sfp.training.trained import Trained

        who, folder = Trained.load(policy), Path(policy).resolve()
        run = folder.parent if folder.name in ("policy", BEST) else folder
        name = name or f"sfp/{get_task(task).slug}/{slug(run.name)}-v0"
    with progress(f"recording {task}", episodes) as advance:
        data = record(
            task,
            episodes=episodes,
            steps=steps,
            seed=seed,
            policy=who,
            expert=expert,
            workers=workers,
            images=images,
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
