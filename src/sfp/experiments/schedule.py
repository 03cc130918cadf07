"""Decides which job runs next; an executor runs it, here or on a cluster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from sfp.errors import Busy, Lost, SfpError
from sfp.experiments.job import Job
from sfp.experiments.progress import NOTHING, Progress, read_progress
from sfp.experiments.ready import Ready

State: TypeAlias = Literal["waiting", "running", "done", "failed"]
Row = TypeVar("Row")
TRIES = 2

LOSSES = 10
"""Machines that may be lost under a job; the next one counts as a failure."""

POLL = 0.05
"""Seconds between two questions to the executor."""

LOOK = 1.0
"""Seconds between two looks at the files of jobs: how far are they, are they done."""

LOOKED = 50
"""Jobs that run, and as many that wait, whose files are looked at each time."""


@dataclass(frozen=True)
class Event:
    """News of a job. After its first failure a job is `waiting` again.

    `reason` says why it failed or what it waits for; `log` is None if it did not run.
    """

    job: Job
    state: State
    progress: Progress = NOTHING
    reason: str = ""
    log: Path | None = None


@dataclass(frozen=True)
class Ended:
    """The end of a job.

    The error is `Busy` if another process is at the job, `Lost` if the machine is gone.
    """

    job: Job
    error: SfpError | None = None


@runtime_checkable
class Executor(Protocol):
    """Runs jobs. To run them elsewhere than in processes of this machine, write one.

    All that `run_jobs` asks of the place where jobs run is here, and that it sees the
    files which the jobs write.
    """

    @property
    def slots(self) -> int:
        """How many jobs may run at a time."""
        ...

    def submit(self, job: Job) -> Path | None:
        """Start `sfp` with the words of `job.command()`; returns the log, if any.

        Raises `Busy` if another process is at the job, so that it is submitted again
        later, and another `SfpError` if it cannot start.
        """
        ...

    def poll(self) -> Collection[Ended]:
        """The jobs that ended since the last call."""
        ...

    def stop(self) -> None:
        """Let all running jobs save and end."""
        ...


def run_jobs(
    jobs: Sequence[Job],
    executor: Executor,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Event, None, None]:
    """Run jobs until each is done or has failed twice; yields what happens.

    Every job stands behind those that it needs. Whoever closes the generator stops the
    jobs. The same list continues later where it stopped: jobs that are done do not run
    again, and those that were begun resume.
    """
    schedule = _Schedule(jobs, executor, clock)
    try:
        while schedule.waiting or schedule.running:
            yield from schedule.collect()
            yield from schedule.start()
            sleep(POLL)
    finally:
        executor.stop()


class _Schedule:
    def __init__(
        self, jobs: Sequence[Job], executor: Executor, clock: Callable[[], float]
    ):
        self.waiting = {job.name: job for job in jobs}
        self.running: dict[str, Event] = {}
        self._queue = Ready(jobs)
        self._failures, self._losses = Counter[str](), Counter[str]()
        self._elsewhere, self._doomed = set[str](), list[str]()
        self._executor, self._clock = executor, clock
        self._looked, self._looks = -LOOK, 0

    def collect(self) -> Iterator[Event]:
        """Tell what came of the jobs that ended."""
        for ended in self._executor.poll():
            yield self._end(ended.job, ended.error)

    def start(self) -> Iterator[Event]:
        """Tell what cannot run, or how far it is; fill the slots of the executor."""
        yield from self._give_up()
        if self._clock() - self._looked >= LOOK:
            yield from self._look()
            self._looked = self._clock()
        while len(self.running) < self._executor.slots:
            job = self._queue.pop()
            if job is None:
                return
            if job.name in self.waiting:
                yield from self._submit(job)

    def _give_up(self) -> Iterator[Event]:
        """Fail the jobs that need a failed one, and so on."""
        for broken in self._doomed:  # grows meanwhile
            for job in self._queue.needing(broken):
                if job.name in self.waiting:
                    yield self._fail(job, f"it needs {broken}, which failed")
        self._doomed.clear()

    def _look(self) -> Iterator[Event]:
        """Tell how far running jobs are, and which of those that wait are done.

        At first all that wait, then some at a time, each in its turn.
        """
        self._queue.retry()
        for event in self._turn(list(self.running.values()), LOOKED):
            yield replace(event, progress=read_progress(event.job))
        waiting = list(self.waiting.values())
        for job in self._turn(waiting, LOOKED if self._looks else len(waiting)):
            if self._queue.is_ready(job):
                yield from self._check(job)
        self._looks += 1

    def _turn(self, rows: list[Row], most: int) -> list[Row]:
        first = self._looks * most % max(1, len(rows)) if len(rows) > most else 0
        return (rows[first:] + rows[:first])[:most]

    def _check(self, job: Job) -> Iterator[Event]:
        try:
            if job.is_done():
                yield self._finish(job)
        except SfpError as error:  # something else is in its place
            yield self._fail(job, str(error))

    def _submit(self, job: Job) -> Iterator[Event]:
        yield from self._check(job)
        if job.name not in self.waiting:
            return
        try:
            log = self._executor.submit(job)
        except Busy as error:
            self._queue.refuse(job)
            if job.name not in self._elsewhere:
                self._elsewhere.add(job.name)
                yield Event(job, "waiting", reason=str(error))
        except SfpError as error:
            yield self._fail(job, str(error))
        else:
            del self.waiting[job.name]
            event = Event(job, "running", read_progress(job), log=log)
            self.running[job.name] = event
            yield event

    def _end(self, job: Job, error: SfpError | None) -> Event:
        log = self.running.pop(job.name).log
        if error is None and not job.marker.is_file():
            error = SfpError(f"ended without {job.marker}")
        if error is None:
            return self._finish(job, log)
        again = Event(job, "waiting", reason=str(error), log=log)
        if isinstance(error, Busy):  # begun elsewhere between our look and its start
            self._queue.refuse(job)
        elif isinstance(error, Lost) and self._losses[job.name] < LOSSES:
            self._losses[job.name] += 1
            self._queue.push(job)
        else:
            self._failures[job.name] += 1
            if self._failures[job.name] == TRIES:
                return self._fail(job, str(error), log)
            self._queue.push(job, last=True)
        self.waiting[job.name] = job
        return again

    def _finish(self, job: Job, log: Path | None = None) -> Event:
        self.waiting.pop(job.name, None)
        self._queue.finish(job)
        return Event(job, "done", read_progress(job), log=log)

    def _fail(self, job: Job, reason: str, log: Path | None = None) -> Event:
        self.waiting.pop(job.name, None)
        self._doomed.append(job.name)
        return Event(job, "failed", reason=reason, log=log)
