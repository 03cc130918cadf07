"""`sfp evaluate`: what a trained policy does."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import tyro

from sfp.cli.console import show
from sfp.progress import progress


def evaluate(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    *,
    task: str | None = None,
    episodes: int = 10,
    video: Path | None = None,
    json: bool = False,
) -> None:
    """Play test episodes with the mean action of a trained policy.

    This also films them:
        sfp evaluate runs/maze --video maze.mp4

    Args:
        run: folder of a finished run, or of a saved policy; RUN/best has that of the
            test with the highest return.
        task: another task with the same observations and actions; by default the task
            it was trained on.
        episodes: test episodes; the first ten are those of the evaluations in training.
        video: write a video of the episodes, as .mp4, .gif or .webp.
        json: print one JSON document.
    """
    from sfp.compute import keep_compiled, use_threads

    use_threads(1)
    keep_compiled()

    from sfp.envs.adapter import make_env
    from sfp.envs.identity import identify
    from sfp.errors import SfpError, at_least
    from sfp.training.evaluate import FIRST_SEED, evaluate_policy
    from sfp.training.trained import Trained
    from sfp.training.video import filming

    at_least(1, episodes=episodes)
    trained = Trained.load(run)
    name = task or trained.spec.task
    if task is None and trained.spec.env not in (None, identify(name)):
        raise SfpError(
            f"this policy was trained in {name} with {trained.spec.env}, which the "
            "name does not make: evaluate it in Python (sfp.Trained.load), or give "
            "--task."
        )
    imports = task is not None  # a name in a folder must not run code
    limit = make_env(name, imports=imports).spec
    total = episodes * ((limit and limit.max_episode_steps) or 1000)
    with (
        progress(f"playing {name}", total) as advance,
        filming(video) if video else contextlib.nullcontext() as film,
    ):
        row, played = evaluate_policy(
            trained,
            name,
            episodes=episodes,
            film=film,
            imports=imports,
            progress=advance,
        )
    rows = [
        {
            "seed": FIRST_SEED + i,
            "return": episode.total,
            "steps": len(episode.rewards),
            "success": episode.success,
        }
        for i, episode in enumerate(played)
    ]
    success = row["eval/success_rate"]
    notes = [
        f"Mean return {row['eval/mean_reward']:.4g}"
        + (f", success rate {success:.3g}." if success is not None else "."),
        *([f"Written: {video}"] if video else []),
    ]
    show(rows, json=json, title=f"{run} on {name}", notes=notes, summary=row)
