"""Runs jobs on this machine: each is a process, pinned to one core."""

from __future__ import annotations

import os
import signal
import subprocess
import time
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
    slot: int
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
        taken = {running.slot for running in self._running}
        slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
        core = self._cores[slot % len(self._cores)] if self._cores else None
        command = [*self._program, *job.command()]
        process = start(command, self._logs / f"{job.name}.log", core)
        self._running.append(_Running(job, slot, process))
        return process.log

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
