"""Runs jobs on this machine: each is a process, pinned to one core."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfp.errors import Busy
from sfp.experiments.job import Job
from sfp.experiments.process import PATIENCE, PROGRAM, Process, start
from sfp.experiments.schedule import Ended
from sfp.files import is_locked


@dataclass
class _Running:
    job: Job
    core: int | None
    process: Process


class LocalExecutor:
    """An `Executor` whose jobs are processes; if this process is killed, they die too.

    Args:
        slots: processes at a time.
        logs: a folder for what they print, a file each.
        program: the command that understands the words of a job.
    """

    def __init__(self, slots: int, logs: Path, program: Sequence[str] = PROGRAM):
        self.slots = slots
        self._logs, self._program = logs, program
        self._running: list[_Running] = []
        has_cores = hasattr(os, "sched_getaffinity")
        self._cores = sorted(os.sched_getaffinity(0)) if has_cores else []

    def submit(self, job: Job) -> Path:
        if is_locked(job.lock):
            raise Busy("another process is at it")
        core = self._free_core()
        command = [*self._program, *job.command()]
        process = start(command, self._logs / f"{job.name}.log", core)
        self._running.append(_Running(job, core, process))
        return process.log

    def _free_core(self) -> int | None:
        """The core with the fewest jobs: of this command first, then of any other."""
        if not self._cores:
            return None
        own = Counter(running.core for running in self._running)
        others = _pinned()
        return min(self._cores, key=lambda core: (own[core], others[core], core))

    def poll(self) -> list[Ended]:
        ended = [r for r in self._running if r.process.popen.poll() is not None]
        self._running = [r for r in self._running if r not in ended]
        return [Ended(running.job, running.process.error()) for running in ended]

    def stop(self) -> None:
        """Let the processes save and end; those that do not are killed."""
        processes = [running.process.popen for running in self._running]
        for popen in processes:
            popen.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        for popen in processes:
            try:
                popen.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            except KeyboardInterrupt:  # asked twice: at once
                deadline = 0.0
            popen.kill()
            popen.wait()


def _pinned() -> Counter[int]:
    """How many processes are bound to each core, as those of other commands are."""
    found: Counter[int] = Counter()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            status = (folder / "status").read_text(encoding="utf-8", errors="replace")
            allowed = re.search(r"^Cpus_allowed_list:\s+(\d+)$", status, re.M)
            if allowed and (folder / "cmdline").read_bytes():  # the kernel's have none
                found[int(allowed[1])] += 1
    return found
