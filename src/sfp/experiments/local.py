"""Runs jobs on this machine: each is a process, pinned to one core."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sfp.errors import Busy, SfpError
from sfp.experiments import launch
from sfp.experiments.jobs import Job
from sfp.experiments.schedule import Ended
from sfp.files import append_to, disk_errors, is_locked

PROGRAM = (sys.executable, "-P", "-m", "sfp")

PATIENCE = 30.0
"""Seconds that a process has to save and stop."""


@dataclass
class _Process:
    job: Job
    slot: int
    popen: subprocess.Popen[bytes]
    log: Path
    begins: int


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
        self._processes: list[_Process] = []
        has_cores = hasattr(os, "sched_getaffinity")
        self._cores = sorted(os.sched_getaffinity(0)) if has_cores else []

    def submit(self, job: Job) -> Path:
        if is_locked(job.lock):
            raise Busy("another process is at it")
        taken = {process.slot for process in self._processes}
        slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
        core = str(self._cores[slot % len(self._cores)]) if self._cores else "-"
        command = [*self._program, *job.command()]
        launcher = [sys.executable, "-I", launch.__file__, core, str(os.getpid())]
        log = self._logs / f"{job.name}.log"
        with disk_errors(log), append_to(log) as file:
            begins = _write_head(file, command)
            # A session of its own: Ctrl-C reaches us alone, and we tell them.
            popen = subprocess.Popen(
                [*launcher, *command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._processes.append(_Process(job, slot, popen, log, begins))
        return log

    def poll(self) -> list[Ended]:
        ended = [p for p in self._processes if p.popen.poll() is not None]
        self._processes = [p for p in self._processes if p not in ended]
        return [Ended(process.job, _error(process)) for process in ended]

    def stop(self) -> None:
        """Let the processes save and end; those that do not are killed."""
        for process in self._processes:
            process.popen.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        for process in self._processes:
            try:
                process.popen.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            except KeyboardInterrupt:  # asked twice: at once
                deadline = 0.0
            process.popen.kill()
            process.popen.wait()


def _write_head(file: IO[bytes], command: Sequence[str]) -> int:
    """Write the command into its log; returns where its own output begins."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"# {now} {shlex.join(command)}\n".encode())
    file.flush()
    return file.tell()


def _error(process: _Process) -> SfpError | None:
    """Why a process failed: the signal that ended it, or the last line it printed."""
    code = process.popen.returncode
    if code == 0:
        return None
    if code == Busy.code:
        return Busy("another process is at it")
    if code < 0:
        known = {kind.value: kind.name for kind in signal.Signals}
        return SfpError(f"ended by {known.get(-code, f'signal {-code}')}")
    try:
        with process.log.open("rb") as file:
            file.seek(process.begins)
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return SfpError(f"ended with code {code}, and its log is gone")
    said = [line.strip() for line in lines if line.strip()]
    last = said[-1].removeprefix("sfp: ") if said else f"ended with code {code}"
    return SfpError(last)
