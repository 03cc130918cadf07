"""`sfp reproduce`: run the experiments of the paper."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from sfp.cli.console import show
from sfp.errors import Interrupted, SfpError

if TYPE_CHECKING:
    from sfp.cli.watch import Board
    from sfp.experiments.places import Place
    from sfp.experiments.schedule import Event

INSTEAD = {
    "steps": "steps as --steps",
    "partition": "the partition as --partition",
    "time": "minutes as --time-limit",
    "array": "jobs at a time as --array",
}


def reproduce(
    experiments: tyro.conf.Positional[tuple[str, ...]],
    *,
    suite: str = "point-maze",
    scale: Literal["small", "paper"] = "small",
    out: Path = Path("reproduced"),
    workers: int | None = None,
    methods: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--cells"])] = (),
    tasks: tuple[str, ...] = (),
    seeds: tuple[int, ...] = (),
    steps: tuple[str, ...] = (),
    episodes: int | None = None,
    epochs: int | None = None,
    repetitions: int | None = None,
    preset: Literal["default", "paper"] = "default",
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    on: str = "local",
    partition: str | None = None,
    time_limit: int | None = None,
    array: int | None = None,
    sbatch: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    any_cpu: bool = False,
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Run experiments of the paper: recordings, priors, runs, one core each.

    The main result at a scale that two cores finish in an hour or so:
        sfp reproduce transfer --workers 2

    Stop it (Ctrl-C, a crash, a loss of power) and give the same command again: what is
    finished is kept, what was begun goes on, with the same bits. What experiments share
    runs once if they share a folder. What would run, and for how long:
        sfp reproduce transfer conditioning --dry-run

    Every number can be changed; what differs has a folder of its own:
        sfp reproduce transfer --methods sfp sac --tasks maze --seeds 0 --steps 20000
        sfp reproduce transfer --scale paper --methods all --workers 32

    On a cluster, with the results in a folder that all its machines share:
        sfp reproduce transfer --on ray://HOST:10001 --out /shared/reproduced
        sfp reproduce transfer --on slurm --partition cpu --out /shared/reproduced

    Args:
        experiments: which (`sfp list experiments`); `all` is every one of the suite.
        suite: the tasks.
        scale: `paper` is 125 x 4000 steps and 10 seeds.
        out: folder of the results: runs/, priors/, explore/, logs/, and for each
            experiment a folder with experiment.json.
        workers: processes at a time, by default one per core, here or on the cluster.
        methods: which cells of the experiment; `all` adds those that its figure in the
            paper leaves out.
        tasks: which tasks of the suite; one without parameters is run at all values
            that the experiment varies.
        seeds: which seeds.
        steps: of every run; TASK=NUMBER of the runs of one task, as in
            `--steps 60000 room=16000`.
        episodes: to record for the priors, instead of 4000.
        epochs: of the priors' fits, instead of 80 (40 in Meta-World).
        repetitions: of walks, instead of 10.
        preset: of every fit and run; `paper` is its protocol: 100 passes at 1e-4, and
            hindsight for every method that can.
        set: any setting of `sfp train`, as name=value; repeat it for more.
        on: `local`, `slurm`, or a Ray cluster that is there: `ray://HOST:PORT`, or
            `ray` for the one that RAY_ADDRESS or this machine knows.
        partition: of SLURM.
        time_limit: minutes of a SLURM job, by default 240; a run that needs longer
            resumes in the next.
        array: SLURM jobs in the queue at a time, by default 100.
        sbatch: any other option of `sbatch`, as name=value; repeat it for more.
        any_cpu: let runs be from several kinds of CPU; bits may differ between them.
        dry_run: list the runs, write nothing.
        json: print one JSON document.
    """
    from sfp.cli.watch import Board
    from sfp.compute import available
    from sfp.experiments.grid import EXPERIMENTS
    from sfp.experiments.jobs import make_jobs
    from sfp.experiments.on_slurm import Settings
    from sfp.experiments.places import Place
    from sfp.experiments.plan import Overrides, make_plan

    if not experiments:
        raise SfpError("expected an experiment: see `sfp list experiments`, or `all`.")
    every = tuple(name for name, found in EXPERIMENTS.items() if found.runs_on(suite))
    names = every if experiments == ("all",) else experiments
    every_run, by_task = _steps(steps)
    changed = methods, tasks, seeds, every_run, episodes, epochs, repetitions
    given = Overrides(*changed, _settings(set), preset, by_task)
    plans = [make_plan(name, suite, scale, given) for name in dict.fromkeys(names)]
    asked = {"partition": partition, "time_limit": time_limit, "array": array}
    asked |= {"sbatch": _settings(sbatch, "--sbatch") or None}
    slurm = Settings(**{k: v for k, v in asked.items() if v is not None})
    place = Place(on, workers, slurm, any_cpu)
    out = out if place.is_local else out.absolute()
    with place.datasets(out):
        jobs = make_jobs(plans, out)
        board = Board(plans, jobs, workers or available())
        if dry_run:
            _look(board)
        else:
            _run(board, out, place)
    rows = [_row(event, dry_run=dry_run) for event in board.known.values()]
    failed = [event for event in board.known.values() if event.state == "failed"]
    show(
        rows,
        json=json,
        title=f"{', '.join(names)} on {suite}, scale {scale}",
        notes=_notes(board, out, dry_run=dry_run),
        out=str(out),
        core_hours=round(sum(job.cost for job in jobs) / 3600, 2),
        failed=[
            {"run": e.job.name, "reason": e.reason, "log": str(e.log or "")}
            for e in failed
        ],
    )
    if failed:
        first = failed[0]
        raise SfpError(
            f"{len(failed)} of {len(jobs)} failed, {first.job.name} for one: "
            f"{first.reason} (log: {first.log or 'none'}). The same command tries "
            "again."
        )


def _row(event: Event, *, dry_run: bool) -> dict[str, Any]:
    job, progress = event.job, event.progress
    row: dict[str, Any] = {"run": job.name, "state": event.state}
    if dry_run:
        return row | {"of": job.total, "core_minutes": round(job.cost / 60, 1)}
    row |= {"done": progress.done, "of": job.total}
    return row | {"success": progress.success, "held_out": progress.held_out}


def _look(board: Board) -> None:
    """Tell the board what is done already, or cannot be."""
    from sfp.experiments.schedule import Event

    for event in list(board.known.values()):
        try:
            if event.job.is_done():
                board.hear(Event(event.job, "done"))
        except SfpError as error:
            board.hear(Event(event.job, "failed", reason=str(error)))


def _run(board: Board, out: Path, place: Place) -> None:
    """Run what is not done yet; whatever happens, say in the manifests how far."""
    from sfp.cli.watch import watching
    from sfp.experiments.manifest import check_suite, write_manifest
    from sfp.experiments.schedule import run_jobs
    from sfp.files import check_writable

    for plan in board.plans:
        check_suite(out, plan)
    jobs = [event.job for event in board.known.values()]
    for job in jobs:
        if job.kind == "data":
            job.is_done()  # another dataset in its place is refused at once
    for name in ("runs", "logs"):
        check_writable(out / name)
    _look(board)
    for plan in board.plans:
        write_manifest(out, plan, board.known)
    try:
        with _signals():
            executor = place.executor(out, jobs, board.workers)
            board.workers = executor.slots
            events = run_jobs(jobs, executor)
            with contextlib.closing(events), watching(board) as hear:
                for event in events:
                    hear(event)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped, {board.count('done')} of {len(jobs)} done; the same command "
            "goes on."
        ) from None
    finally:
        for plan in board.plans:
            write_manifest(out, plan, board.known)


def _notes(board: Board, out: Path, *, dry_run: bool) -> list[str]:
    from sfp.experiments.costs import ASSUMED

    if dry_run:
        left = [e.job.cost for e in board.known.values() if e.state == "waiting"]
        hours = sum(left) / 3600
        return [f"{len(left)} to do, about {hours:.1f} hours of {ASSUMED}."]
    failed = [event for event in board.known.values() if event.state == "failed"]
    return [
        *(f"Failed: {e.job.name}: {e.reason} (log: {e.log or 'none'})" for e in failed),
        *(f"Written: {out / plan.name / 'experiment.json'}" for plan in board.plans),
    ]


def _steps(words: tuple[str, ...]) -> tuple[int | None, dict[str, int]]:
    """A number for every run, and those that are for the runs of one task."""
    every, by_task = None, {}
    for word in words:
        task, _, number = word.rpartition("=")
        if not number.isdecimal() or (not task and every is not None):
            raise SfpError(
                "expected --steps as one whole number, or TASK=NUMBER, or both, "
                f"received {' '.join(words)!r}."
            )
        if task:
            by_task[task] = int(number)
        else:
            every = int(number)
    return every, by_task


def _settings(pairs: tuple[str, ...], option: str = "--set") -> dict[str, Any]:
    """`name=value` pairs; numbers and true or false are read as such."""
    from sfp.documents import parse_json

    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SfpError(f"expected name=value after {option}, received {pair!r}.")
        if name in INSTEAD:
            raise SfpError(f"expected {INSTEAD[name]}, not after {option}.")
        try:
            found[name] = parse_json(value)
        except ValueError:
            found[name] = value
    return found


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Let SIGTERM and a closed terminal stop it as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    kinds = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(kind, stop) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
