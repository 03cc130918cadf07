"""`sfp train`: learn a task."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sfp.cli.console import show
from sfp.config import Baselines, Mixture, Networks, Schedule
from sfp.progress import say_note, training_progress


def train(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    *,
    out: Path,
    method: str | None = None,
    prior: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    data: str | None = None,
    seed: int = 0,
    preset: Literal["default", "paper"] = "default",
    match: str | None = None,
    resume: bool = False,
    extend: bool = False,
    threads: int = 1,
    vector: Literal["async", "sync"] = "async",
    track: Literal["wandb", "trackio"] | None = None,
    json: bool = False,
    schedule: Schedule = Schedule(),  # noqa: B008
    networks: Networks = Networks(),  # noqa: B008
    mixture: Mixture = Mixture(),  # noqa: B008
    baselines: Baselines = Baselines(),  # noqa: B008
) -> None:
    """Train a policy with SAC, with SAC and a prior (SFP), or with a baseline.

    This takes a few minutes, with the prior for point-mazes that ships with sfp:
        sfp train maze --prior room --steps 60000 --out runs/maze

    Train SAC for comparison, and SFP with the same α and hindsight as SAC:
        sfp train maze --method sac --steps 60000 --out runs/maze-sac
        sfp train maze --prior room --match sac --steps 60000 --out runs/maze-same

    Several priors are mixed, each as far as it is trusted in a state:
        sfp train maze --prior room --prior pink --steps 60000 --out runs/both

    Other methods take a prior of another kind, such as skills (`sfp list methods`):
        sfp fit sfp/room/scripted-v0 --model skills --out priors/room-skills
        sfp train maze --method spirl --prior priors/room-skills --out runs/maze-spirl

    A run that was interrupted or killed resumes, and ends with the same bits:
        sfp train maze --prior room --steps 60000 --out runs/maze --resume

    A run that ended too early goes on to another end:
        sfp train maze --prior room --steps 90000 --out runs/maze --extend

    Args:
        task: a task (`sfp list tasks`), a Gymnasium id, or a .txt file with a map.
        out: folder of the run, for tables, TensorBoard events, checkpoints, the policy.
        method: the method to train with (`sfp list methods`); by default sfp-quick, or
            with --preset paper the paper's sfp.
        prior: the folder of a prior, or the name of one that ships with sfp, or a noise
            (uniform, ou, pink). SFP mixes several: give --prior again.
        data: a dataset, for methods that learn from recordings (sac-bc, rlpd).
        seed: the same seed gives the same bits.
        preset: `paper` relabels goals (hindsight 4) for every method that can.
        match: take α, hindsight and schedule from the defaults of this method, so that
            a comparison with it (`sac`) differs in the method alone.
        resume: resume the run in --out.
        extend: resume the run in --out and move its end, to other --steps or to no
            --until-solved.
        threads: threads of JAX; two runs with one thread each are faster than one run
            with two.
        vector: with --envs 2 or more, `async` gives every environment a process of its
            own, `sync` lets them share one; the results are the same.
        track: also send all metrics to this tracker.
        json: print one JSON document.
        schedule: Steps, exploration, updates, evaluations.
        networks: Sizes of the networks, and their optimisation.
        mixture: Mixing the prior into the policy (methods sfp-quick and sfp).
        baselines: Options of single baselines.
    """
    from sfp.compute import keep_compiled, use_threads

    use_threads(threads)
    keep_compiled()

    from sfp.training.folder import BEST
    from sfp.training.run import find_method
    from sfp.training.run import train as run
    from sfp.training.track import track as start_tracking
    from sfp.training.verdict import as_mixture, best_row, verdict

    method = find_method(method, preset, out)
    groups = (schedule, networks, mixture, baselines)
    settings = {k: v for group in groups for k, v in asdict(group).items()}
    named = ", ".join(prior) or None
    asked = {"task": task, "method": method, "prior": named, "data": data, "seed": seed}
    sent = (start_tracking(track, out.name, asked | settings),) if track else ()
    label = f"{method} on {task}"
    with training_progress(label, schedule.steps) as (pulse, listen, prepared):
        trained = run(
            task,
            method=method,
            prior=(prior[0] if len(prior) == 1 else prior) or None,
            data=data,
            seed=seed,
            preset=preset,
            match=match,
            out=out,
            resume=resume,
            extend=extend,
            vector=vector,
            listeners=(listen, *sent),
            progress=pulse,
            report=prepared,
            say=say_note,
            **settings,
        )
    notes = [verdict(trained.evaluations, trained.solved)]
    if beside := as_mixture(trained.evaluations):
        notes.append(f"As the mixture acts: {verdict(beside, trained.solved)}")
    if (out / BEST).is_dir():
        best = best_row(trained.evaluations)
        notes.append(
            f"The best test was that of step {best['step']} (return "
            f"{best['eval/mean_reward']:.4g}): its policy is in {out / BEST}."
        )
    notes.append(f"Look at it: sfp curves {out}; sfp evaluate {out}")
    rows = [
        {key.removeprefix("eval/"): value for key, value in row.items()}
        for row in trained.evaluations[-5:]
    ]
    show(
        rows,
        json=json,
        title=f"{method} on {task}: the last evaluations",
        notes=notes,
        solved_at=trained.solved_at,
        out=str(out),
    )
