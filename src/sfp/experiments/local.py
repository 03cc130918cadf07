"""Runs jobs on this machine, a process and a core each: a list in, events out."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeAlias

from sfp.errors import Busy, SfpError
from sfp.experiments import launch
from sfp.experiments.jobs import Job
from sfp.experiments.progress import NOTHING, Progress, read_progress
from sfp.files import append_to, disk_errors, is_locked

State: TypeAlias = Literal["waiting", "running", "done", "failed"]
PROGRAM = (sys.executable, "-P", "-m", "sfp")
TRIES = 2
POLL = 0.1
LOOK = 1.0
"""Seconds between two looks at whether processes ended, and at how far they are."""

PATIENCE = 30.0
"""Seconds that a process has to save and stop."""


@dataclass(frozen=True)
class Event:
    """News of a job.

    Attributes:
        job: which.
        state: `waiting` again after a first failure.
        progress: how far it is.
        reason: why it failed, or what it waits for.
        log: what it printed; None if it did not run.
    """

    job: Job
    state: State
    progress: Progress = NOTHING
    reason: str = ""
    log: Path | None = None


def run_local(
    jobs: Sequence[Job],
    *,
    workers: int,
    logs: Path,
    program: Sequence[str] = PROGRAM,
) -> Generator[Event, None, None]:
    """Run jobs until each is done or has failed twice; yields what happens.

    Whoever stops listening (closes the generator) stops the processes; they save
    first. If this process is killed, they die with it. Either way the same list goes on
    where it stopped: what is done is not run again, what was begun resumes.

    Args:
        jobs: what is needed comes before what needs it.
        workers: processes at a time.
        logs: a folder for what they print, a file each.
        program: what understands a job's words.
    """
    crew = _Crew(list(jobs), logs, list(program))
    try:
        while crew.waiting or crew.running:
            yield from crew.collect()
            yield from crew.start(workers)
            time.sleep(POLL)
    finally:
        crew.stop()


@dataclass
class _Process:
    job: Job
    worker: int
    popen: subprocess.Popen[bytes]
    log: Path
    begins: int
    looked: float


class _Crew:
    """The processes that run, and what is still to do."""

    def __init__(self, jobs: list[Job], logs: Path, program: list[str]):
        self.waiting, self.running = jobs, list[_Process]()
        self._logs, self._program = logs, program
        self._done, self._failed = set[str](), set[str]()
        self._failures: dict[str, int] = {}
        self._elsewhere = set[str]()
        self._looked = 0.0
        has_cores = hasattr(os, "sched_getaffinity")
        self._cores = sorted(os.sched_getaffinity(0)) if has_cores else []

    def start(self, workers: int) -> Iterator[Event]:
        """Say what need not run; give every idle worker the first job that can."""
        full = len(self.running) >= workers
        if full and time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        for job in list(self.waiting):
            broken = [name for name in job.needs if name in self._failed]
            if broken:
                yield self._fail(job, f"it needs {broken[0]}, which failed")
                continue
            if not self._done.issuperset(job.needs):
                continue
            try:
                is_done = job.is_done()
            except SfpError as error:
                yield self._fail(job, str(error))
                continue
            if is_done:
                self.waiting.remove(job)
                self._done.add(job.name)
                yield Event(job, "done", read_progress(job))
            elif len(self.running) >= workers:
                continue
            elif is_locked(job.lock):
                if job.name not in self._elsewhere:
                    self._elsewhere.add(job.name)
                    yield Event(job, "waiting", reason="another process is at it")
            else:
                yield self._launch(job)

    def collect(self) -> Iterator[Event]:
        """Tell how far processes are, and what came of those that ended."""
        for process in list(self.running):
            code, job = process.popen.poll(), process.job
            if code is None:
                if time.monotonic() - process.looked > LOOK:
                    process.looked = time.monotonic()
                    yield Event(job, "running", read_progress(job), log=process.log)
                continue
            self.running.remove(process)
            if code == 0 and job.marker.is_file():
                self._done.add(job.name)
                yield Event(job, "done", read_progress(job), log=process.log)
                continue
            if code == Busy.code:  # begun elsewhere between our look and its start
                self.waiting.insert(0, job)
                yield Event(job, "waiting", reason="another process is at it")
                continue
            reason = _reason(process, code)
            self._failures[job.name] = self._failures.get(job.name, 0) + 1
            if self._failures[job.name] < TRIES:
                self.waiting.append(job)
                yield Event(job, "waiting", reason=reason, log=process.log)
            else:
                yield self._fail(job, reason, process.log)

    def stop(self) -> None:
        """Let the processes save and end; those that do not are killed."""
        for process in self.running:
            process.popen.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        for process in self.running:
            try:
                process.popen.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            except KeyboardInterrupt:  # asked twice: at once
                deadline = 0.0
            process.popen.kill()
            process.popen.wait()

    def _fail(self, job: Job, reason: str, log: Path | None = None) -> Event:
        if job in self.waiting:
            self.waiting.remove(job)
        self._failed.add(job.name)
        return Event(job, "failed", reason=reason, log=log)

    def _launch(self, job: Job) -> Event:
        busy = {process.worker for process in self.running}
        worker = next(w for w in range(len(busy) + 1) if w not in busy)
        core = str(self._cores[worker % len(self._cores)]) if self._cores else "-"
        command = [*self._program, *job.command()]
        launcher = [sys.executable, "-I", launch.__file__, core, str(os.getpid())]
        log = self._logs / f"{job.name}.log"
        try:
            with disk_errors(log), append_to(log) as file:
                begins = _head(file, command)
                # A session of its own: Ctrl-C reaches us alone, and we tell them.
                popen = subprocess.Popen(
                    [*launcher, *command],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                )
        except SfpError as error:
            return self._fail(job, str(error))
        self.waiting.remove(job)
        now = time.monotonic()
        self.running.append(_Process(job, worker, popen, log, begins, now))
        return Event(job, "running", read_progress(job), log=log)


def _head(file: IO[bytes], command: Sequence[str]) -> int:
    """Write what is run; returns where its own output begins."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"# {now} {shlex.join(command)}\n".encode())
    file.flush()
    return file.tell()


def _reason(process: _Process, code: int) -> str:
    """The last line that it printed, or the signal that ended it."""
    if code < 0:
        known = {kind.value: kind.name for kind in signal.Signals}
        return f"ended by {known.get(-code, f'signal {-code}')}"
    try:
        with process.log.open("rb") as file:
            file.seek(process.begins)
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        lines = [f"ended with code {code}, and its log is gone"]
    said = [line.strip() for line in lines if line.strip()]
    if code == 0:
        return f"ended without {process.job.marker}"
    return said[-1].removeprefix("sfp: ") if said else f"ended with code {code}"
