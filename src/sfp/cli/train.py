"""`sfp train`: learn a task."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import tyro

from sfp.cli.console import show
from sfp.config import Baselines, Mixture, Networks, Schedule
from sfp.progress import training_progress


def train(
    task: tyro.conf.Positional[str],
    *,
    out: Path,
    method: str = "sfp",
    prior: str | None = None,
    data: str | None = None,
    seed: int = 0,
    preset: Literal["default", "paper"] = "default",
    resume: bool = False,
    threads: int = 1,
    track: Literal["wandb", "trackio"] | None = None,
    json: bool = False,
    schedule: Schedule = Schedule(),  # noqa: B008
    networks: Networks = Networks(),  # noqa: B008
    mixture: Mixture = Mixture(),  # noqa: B008
    baselines: Baselines = Baselines(),  # noqa: B008
) -> None:
    """Learn a task with SAC, with SAC and a prior mixed in, or with a baseline.

    With the prior that ships for point-mazes, a few minutes:
        sfp train maze --prior room --steps 60000 --out runs/maze

    The same without a prior:
        sfp train maze --method sac --steps 60000 --out runs/maze-sac

    Interrupted or killed, it goes on with the same bits:
        sfp train maze --prior room --steps 60000 --out runs/maze --resume

    Args:
        task: a task (`sfp list tasks`), a Gymnasium id, or a .txt file with a map.
        out: folder of the run: tables, TensorBoard events, checkpoints, the policy.
        method: how to learn (`sfp list methods`).
        prior: its folder, or the name of a shipped one.
        data: recordings, for methods that learn from them in training (sac-bc, rlpd).
        seed: the same seed gives the same bits.
        preset: `paper` relabels goals (hindsight 4) for every method that can.
        resume: go on with the run in `out`.
        threads: for JAX; two runs with one each beat one run with two.
        track: send every number to a tracker too.
        json: print one JSON document.
        schedule: what happens when.
        networks: sizes and optimisation.
        mixture: how the prior is mixed in.
        baselines: options of single baselines.
    """
    from sfp.compute import keep_compiled, use_threads

    use_threads(threads)
    keep_compiled()

    from sfp.training.evaluate import solved_at
    from sfp.training.run import train as run
    from sfp.training.track import track as start_tracking

    groups = (schedule, networks, mixture, baselines)
    settings = {k: v for group in groups for k, v in asdict(group).items()}
    asked = {"task": task, "method": method, "prior": prior, "data": data, "seed": seed}
    sent = (start_tracking(track, out.name, asked | settings),) if track else ()
    label = f"{method} on {task}"
    with training_progress(label, schedule.steps) as (pulse, listen, prepared):
        trained = run(
            task,
            method=method,
            prior=prior,
            data=data,
            seed=seed,
            preset=preset,
            out=out,
            resume=resume,
            listeners=(listen, *sent),
            progress=pulse,
            report=prepared,
            **settings,
        )
    rows = [
        {key.removeprefix("eval/"): value for key, value in row.items()}
        for row in trained.evaluations[-5:]
    ]
    solved = solved_at(trained.evaluations)
    state = f"Solved at step {solved}." if solved is not None else "Not solved."
    show(
        rows,
        json=json,
        title=f"{method} on {task}: the last evaluations",
        notes=[state, f"Look at it: sfp curves {out}; sfp evaluate {out}"],
        solved_at=solved,
        out=str(out),
    )
