"""Decides which job runs next; an executor runs it, here or on a cluster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from sfp.errors import Busy, SfpError
from sfp.experiments.jobs import Job
from sfp.experiments.progress import NOTHING, Progress, read_progress

State: TypeAlias = Literal["waiting", "running", "done", "failed"]
TRIES = 2

POLL = 0.1
"""Seconds between two questions to the executor."""

LOOK = 1.0
"""Seconds between two looks at the files of jobs: how far are they, are they done."""


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
    """The end of a job; the error is `Busy` if another process is at the job."""

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


def ready(jobs: Iterable[Job], done: set[str], failed: set[str]) -> list[Job]:
    """The jobs that can start now, in their order: all that they need is done."""
    ended = done | failed
    return [job for job in jobs if job.name not in ended and done.issuperset(job.needs)]


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
        self._done, self._failed = set[str](), set[str]()
        self._failures = Counter[str]()
        self._elsewhere = set[str]()
        self._executor, self._clock = executor, clock
        self._looked = -LOOK

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
        if self._is_full():
            return
        for job in ready(self.waiting.values(), self._done, self._failed):
            yield from self._submit(job)
            if self._is_full():
                return

    def _is_full(self) -> bool:
        return len(self.running) >= self._executor.slots

    def _give_up(self) -> Iterator[Event]:
        """Fail the jobs that need a failed one; a job stands behind those it needs."""
        for job in list(self.waiting.values()) if self._failed else ():
            broken = [name for name in job.needs if name in self._failed]
            if broken:
                yield self._fail(job, f"it needs {broken[0]}, which failed")

    def _look(self) -> Iterator[Event]:
        """Tell how far running jobs are, and which of those that wait are done."""
        for event in self.running.values():
            yield replace(event, progress=read_progress(event.job))
        for job in list(self.waiting.values()):
            if self._done.issuperset(job.needs):
                yield from self._check(job)

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
        if isinstance(error, Busy):  # begun elsewhere between our look and its start
            self.waiting = {job.name: job, **self.waiting}
            return Event(job, "waiting", reason=str(error))
        self._failures[job.name] += 1
        if self._failures[job.name] == TRIES:
            return self._fail(job, str(error), log)
        self.waiting[job.name] = job
        return Event(job, "waiting", reason=str(error), log=log)

    def _finish(self, job: Job, log: Path | None = None) -> Event:
        self.waiting.pop(job.name, None)
        self._done.add(job.name)
        return Event(job, "done", read_progress(job), log=log)

    def _fail(self, job: Job, reason: str, log: Path | None = None) -> Event:
        self.waiting.pop(job.name, None)
        self._failed.add(job.name)
        return Event(job, "failed", reason=reason, log=log)
