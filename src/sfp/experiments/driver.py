"""The driver of a grid on a cluster: the only one of its folder; it writes orders."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sfp.errors import Busy, SfpError
from sfp.experiments.job import Job
from sfp.experiments.lease import BEAT, Watch, take
from sfp.experiments.probe import source
from sfp.experiments.work import Order
from sfp.files import check_writable, remove

LEASES = "leases"


class Driver:
    """Holds the lease of a folder of results while it gives out the jobs in it.

    Args:
        out: folder of the results, which all nodes share.
        datasets: folder of the recordings, which they share too.
        program: the command that understands the words of a job.
        any_cpu: whether runs may be from several kinds of CPU.
    """

    def __init__(
        self,
        out: Path,
        datasets: Path,
        program: Sequence[str] = (),
        *,
        any_cpu: bool = False,
    ):
        self.out, self.datasets, self.any_cpu = out, datasets, any_cpu
        self._program, self._watch = tuple(program), Watch()
        for folder in (out / "logs", out / LEASES, datasets):
            check_writable(folder)
        with _alone(out):
            folder = out / LEASES / "driver"
            self._lease = take(folder, self._watch.wait(folder))
        self._renewed = time.monotonic()

    def order(self, job: Job, answer: str = "") -> dict[str, Any]:
        """What a node needs to run a job; `Busy` while somebody is at it."""
        lease = self.out / LEASES / job.name
        return asdict(
            Order(
                words=job.command(),
                out=str(self.out),
                datasets=str(self.datasets),
                log=str(self.log(job)),
                lease=str(lease),
                driver=str(self._lease.path.parent),
                source=source(),
                any_cpu=self.any_cpu,
                gone=self._watch.gone(lease),
                answer=answer,
                program=self._program,
            )
        )

    def log(self, job: Job) -> Path:
        return self.out / "logs" / f"{job.name}.log"

    def renew(self) -> None:
        """Keep the lease; to be called often."""
        if time.monotonic() - self._renewed >= BEAT:
            self._lease.renew()
            self._renewed = time.monotonic()

    def end(self) -> None:
        """Give the lease back: jobs that still run save and stop."""
        self._lease.end(stopped=True)
        for old in self._lease.path.parent.iterdir():
            if old != self._lease.path:
                remove(old)


def wait_for_driver(out: Path) -> None:
    """Wait until a driver that died is certainly gone; an `SfpError` if one lives."""
    with _alone(out):
        Watch().wait(out / LEASES / "driver")


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    try:
        yield
    except Busy as error:
        raise SfpError(
            f"another `sfp reproduce` drives {out} ({error}): wait for it, stop it, or "
            "choose another --out."
        ) from None
