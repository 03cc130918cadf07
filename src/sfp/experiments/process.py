"""The process of a job: pinned to one core, its output in a log."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sfp.errors import Busy, SfpError
from sfp.experiments import launch
from sfp.files import append_to, disk_errors

PROGRAM = (sys.executable, "-P", "-m", "sfp")

PATIENCE = 30.0
"""Seconds that a process has to save and stop."""


@dataclass
class Process:
    """A process that dies with the one that started it, and its log."""

    popen: subprocess.Popen[bytes]
    log: Path
    begins: int

    def wait(self, seconds: float) -> None:
        """Wait for its end, for so long at most; `Popen.wait` would notice it late."""
        try:
            end = os.pidfd_open(self.popen.pid)
        except (AttributeError, OSError):  # not Linux
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(seconds)
            return
        try:
            select.select([end], [], [], seconds)
        finally:
            os.close(end)

    def error(self) -> SfpError | None:
        """Why it failed: the signal that ended it, or the last line it printed."""
        code = self.popen.returncode
        if code == 0:
            return None
        if code == Busy.code:
            return Busy("another process is at it")
        if code < 0:
            known = {kind.value: kind.name for kind in signal.Signals}
            return SfpError(f"ended by {known.get(-code, f'signal {-code}')}")
        try:
            with self.log.open("rb") as file:
                file.seek(self.begins)
                lines = file.read().decode(errors="replace").split("\n")
        except OSError:
            return SfpError(f"ended with code {code}, and its log is gone")
        said = [line.strip() for line in lines if line.strip()]
        last = said[-1].removeprefix("sfp: ") if said else f"ended with code {code}"
        return SfpError(last)


def start(
    command: Sequence[str],
    log: Path,
    core: int | None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Process:
    """Start a command on one core; its output goes into the log, behind its words."""
    where = "-" if core is None else str(core)
    launcher = [sys.executable, "-I", "-S", launch.__file__, where, str(os.getpid())]
    with disk_errors(log), append_to(log) as file:
        begins = _write_head(file, command)
        # A session of its own: Ctrl-C reaches us alone, and we tell them.
        popen = subprocess.Popen(
            [*launcher, *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )
    return Process(popen, log, begins)


def _write_head(file: IO[bytes], command: Sequence[str]) -> int:
    """Write the command into its log; returns where its own output begins."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"# {now} {shlex.join(command)}\n".encode())
    file.flush()
    return file.tell()
