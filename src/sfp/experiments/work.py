"""What a node does with a job: takes its lease and a core, and runs `sfp`."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfp.compute import cpu_kind
from sfp.errors import Busy, Lost, SfpError
from sfp.experiments.lease import BEAT, LAPSE, Lease, is_stopped, take
from sfp.experiments.probe import check_node
from sfp.experiments.process import PATIENCE, PROGRAM, Process, start

KINDS = {"busy": Busy, "lost": Lost, "unfit": Lost, "failed": SfpError}


@dataclass(frozen=True)
class Order:
    """A job as it travels to a node: text and numbers only.

    Attributes:
        words: of the command.
        out: folder of the results.
        datasets: folder of the recordings.
        log: file for the output.
        lease: folder of the job's lease.
        driver: folder of the driver's lease; when a driver stops, the job saves and
            ends. A driver that dies leaves it alone.
        source: of the package that the node must have.
        any_cpu: whether the node may have another kind of CPU than runs in `out` had.
        gone: number of the job's last lease, of which the holder is gone.
        answer: a file for what came of it, where no other way leads back.
        program: the command that understands the words; the node's `sfp` by default.
    """

    words: tuple[str, ...]
    out: str
    datasets: str
    log: str
    lease: str
    driver: str
    source: str
    any_cpu: bool
    gone: int = -1
    answer: str = ""
    program: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What came of an order: `done`, or a kind of error and its reason."""

    kind: str
    reason: str = ""
    host: str = ""
    cpu: str = ""

    def error(self) -> SfpError | None:
        return KINDS[self.kind](self.reason) if self.kind in KINDS else None


def work(order: dict[str, Any]) -> dict[str, Any]:
    """Run an order on this node, to its end; never raises."""
    given = Order(**order)
    with _asked_to_stop() as asked:
        answer = _work(given, asked)
    answer = replace(answer, host=socket.gethostname(), cpu=cpu_kind())
    answer = asdict(answer)
    if given.answer:
        Path(given.answer).write_text(json.dumps(answer), encoding="utf-8")
    return answer


def _work(order: Order, asked: threading.Event) -> Answer:
    try:
        check_node(order.out, order.datasets, order.source, any_cpu=order.any_cpu)
    except SfpError as error:
        return Answer("unfit", str(error))
    try:
        if is_stopped(Path(order.driver)):
            return Answer("lost", "stopped before it began")
        lease = take(Path(order.lease), order.gone, cpu=cpu_kind())
    except Busy as error:
        return Answer("busy", str(error))
    except SfpError as error:
        return Answer("failed", str(error))
    answer = Answer("lost", "ended before its process did")
    try:
        with _one_core() as core:
            answer = _run(order, core, lease, asked)
    except SfpError as error:
        answer = Answer("failed", str(error))
    finally:
        with contextlib.suppress(OSError):  # then it lapses
            lease.end(**asdict(answer))
    return answer


def _run(
    order: Order, core: int | None, lease: Lease, asked: threading.Event
) -> Answer:
    env = os.environ | {"MINARI_DATASETS_PATH": order.datasets}
    command = [*(order.program or PROGRAM), *order.words]
    process = start(command, Path(order.log), core, env, Path(order.out))
    try:
        stopped = _attend(process, order, lease, asked)
    finally:
        process.popen.kill()
        process.popen.wait()
    error = process.error()
    if error is None:
        return Answer("done")
    kind = "busy" if isinstance(error, Busy) else "failed"
    return Answer("lost", stopped) if stopped else Answer(kind, str(error))


def _attend(
    process: Process, order: Order, lease: Lease, asked: threading.Event
) -> str:
    """Renew the lease until the process ends; returns why it was stopped, if it was."""
    stopped, deadline = "", float("inf")
    beat = renewed = time.monotonic()
    while process.popen.poll() is None and time.monotonic() < deadline:
        process.wait(0.25)
        now = time.monotonic()
        if not stopped and asked.is_set():
            stopped = "the cluster asked it to stop"
        elif not stopped and now - beat >= BEAT:
            beat = now
            try:
                lease.renew()
                renewed = now
                stopped = "stopped" if is_stopped(Path(order.driver)) else ""
            except SfpError as error:
                return str(error)
            except OSError as error:  # the disk is away: not for long
                if now - renewed > LAPSE / 2:
                    return f"the shared folder is away: {error}"
        if stopped and deadline == float("inf"):
            deadline = now + PATIENCE
            process.popen.terminate()
    return stopped


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by the signals with which SLURM announces a time limit or a preemption."""
    asked = threading.Event()
    if "SLURM_JOB_ID" not in os.environ and "SUBMITIT_EXECUTOR" not in os.environ:
        yield asked
        return
    kinds = (signal.SIGTERM, signal.SIGUSR2)
    before = [signal.signal(kind, lambda *_: asked.set()) for kind in kinds]
    try:
        yield asked
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


@contextlib.contextmanager
def _one_core() -> Iterator[int | None]:
    """A core that no other job on this machine has, as long as there are some."""
    if not hasattr(os, "sched_getaffinity"):
        yield None
        return
    cores = sorted(os.sched_getaffinity(0))
    folder = Path(tempfile.gettempdir()) / f"sfp-cores-{os.getuid()}"
    with contextlib.ExitStack() as stack:
        for core in cores:
            with contextlib.suppress(OSError):  # it is taken, or cannot be
                folder.mkdir(mode=0o700, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                held = os.open(folder / str(core), flags, 0o600)
                stack.callback(os.close, held)
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield core
                return
        yield cores[os.getpid() % len(cores)]
