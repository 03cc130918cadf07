"""Where a grid runs: on this machine, on a Ray cluster, or under SLURM."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfp.data.sources import minari
from sfp.errors import SfpError, at_least
from sfp.experiments.driver import Driver, wait_for_driver
from sfp.experiments.job import Job
from sfp.experiments.local import LocalExecutor
from sfp.experiments.on_ray import RayExecutor
from sfp.experiments.on_slurm import Settings, SlurmExecutor, SlurmQueue
from sfp.experiments.ray_cluster import RayCluster
from sfp.experiments.schedule import Executor

HOME = "MINARI_DATASETS_PATH"


@dataclass(frozen=True)
class Place:
    """Where jobs run, and how.

    Attributes:
        on: `local`, `ray`, `ray://HOST:PORT` or `slurm`.
        workers: jobs at a time; None for as many as there are cores.
        slurm: settings of SLURM.
        any_cpu: whether runs may be from several kinds of CPU.
    """

    on: str = "local"
    workers: int | None = None
    slurm: Settings = field(default_factory=Settings)
    any_cpu: bool = False

    def __post_init__(self):
        known = self.on in ("local", "ray", "slurm") or self.on.startswith("ray://")
        if not known:
            raise SfpError(
                "expected --on local, ray, ray://HOST:PORT or slurm, received "
                f"{self.on!r}."
            )
        at_least(1, time_limit=self.slurm.time_limit, array=self.slurm.array)
        if self.workers is not None:
            at_least(1, workers=self.workers)
        if self.on != "slurm" and self.slurm != Settings():
            raise SfpError(
                "--partition, --time-limit, --array and --sbatch are for --on slurm, "
                f"received --on {self.on}."
            )

    @property
    def is_local(self) -> bool:
        return self.on == "local"

    @contextlib.contextmanager
    def datasets(self, out: Path) -> Iterator[None]:
        """Keep recordings below `out` on a cluster, unless the user chose a folder."""
        if self.is_local or os.environ.get(HOME):
            yield
            return
        os.environ[HOME] = str(out / "datasets")
        try:
            yield
        finally:
            del os.environ[HOME]

    def executor(self, out: Path, jobs: Sequence[Job], cores: int) -> Executor:
        """What runs the jobs; on a cluster every node has been examined."""
        if self.is_local:
            wait_for_driver(out)
            return LocalExecutor(self.workers or cores, out / "logs")
        return self._slurm(out) if self.on == "slurm" else self._ray(out, jobs)

    def _slurm(self, out: Path) -> Executor:
        queue = SlurmQueue(out, self.slurm)
        driver = Driver(out, minari.root(), any_cpu=self.any_cpu)
        try:
            return SlurmExecutor(queue, driver, self.workers or self.slurm.array)
        except BaseException:
            driver.end()
            raise

    def _ray(self, out: Path, jobs: Sequence[Job]) -> Executor:
        cluster = RayCluster(self.on)
        markers = [job.marker for job in jobs if job.kind == "data"]
        try:
            driver = Driver(out, minari.root(), any_cpu=self.any_cpu)
            try:
                return RayExecutor(cluster, driver, self.workers, markers)
            except BaseException:
                driver.end()
                raise
        except BaseException:
            cluster.close()
            raise
