"""Runs jobs under SLURM, in arrays that `submitit` submits."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
import subprocess
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from sfp.documents import as_record, read_json
from sfp.errors import Lost, SfpError, reason
from sfp.experiments.driver import Driver
from sfp.experiments.job import Job
from sfp.experiments.lease import BEAT
from sfp.experiments.process import PATIENCE
from sfp.experiments.schedule import Ended
from sfp.experiments.work import Answer, work
from sfp.files import remove
from sfp.versions import install

COMMANDS = ("sbatch", "squeue", "scancel", "srun")
LOOK = 1.0
"""Seconds between two looks at the answers of jobs."""

ASK = 15.0
"""Seconds between two questions to SLURM: which jobs are there?"""

GRACE = 60.0
"""Seconds after the end of a SLURM job in which its answer must be seen."""


@dataclass(frozen=True)
class Settings:
    """What is asked of SLURM.

    Attributes:
        partition: where jobs run.
        time_limit: minutes of a job; one that needs longer goes on in the next.
        array: jobs in one submission, at most, and in the queue at a time.
        sbatch: other options of `sbatch`, by name.
    """

    partition: str | None = None
    time_limit: int = 240
    array: int = 100
    sbatch: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class Queue(Protocol):
    """What is asked of SLURM."""

    def clear(self) -> None: ...
    def submit(self, orders: Sequence[dict[str, Any]]) -> list[Any]: ...
    def exclude(self, host: str) -> None: ...
    def alive(self, handles: Sequence[Any]) -> set[str]: ...
    def cancel(self, handles: Sequence[Any], *, pending: bool) -> None: ...


class SlurmQueue:
    """SLURM as `submitit` shows it.

    Args:
        out: folder of the results; what `submitit` writes is in its `slurm/`.
        settings: of the jobs.
        cluster: `local` and `debug` run them on this machine, for tests.
    """

    def __init__(
        self,
        out: Path,
        settings: Settings,
        cluster: Literal["slurm", "local", "debug"] = "slurm",
    ):
        try:
            import submitit
        except ImportError:
            raise SfpError(
                "--on slurm needs submitit, which is not installed: "
                f"{install('slurm')}."
            ) from None
        missing = [name for name in COMMANDS if shutil.which(name) is None]
        if cluster == "slurm" and missing:
            raise SfpError(
                f"--on slurm needs the commands of SLURM, and {missing[0]} is missing: "
                "run it on a login node of the cluster."
            )
        self._cluster, self._excluded = cluster, set[str]()
        # One name per folder: whoever goes on finds the jobs of the driver before.
        self._name = f"sfp-{hashlib.sha256(bytes(out)).hexdigest()[:8]}"
        self._executor = submitit.AutoExecutor(out / "slurm", cluster=cluster)
        asked: dict[str, Any] = {"timeout_min": settings.time_limit, "name": self._name}
        if cluster == "slurm":
            asked |= {"cpus_per_task": 1, "tasks_per_node": 1, "slurm_nodes": 1}
            if settings.partition:
                asked["slurm_partition"] = settings.partition
            if settings.sbatch:
                asked["slurm_additional_parameters"] = dict(settings.sbatch)
        self._executor.update_parameters(**asked)

    def clear(self) -> None:
        """Take out of the queue what an earlier driver of the folder left there."""
        if self._cluster == "slurm":
            self._run("scancel", "--state=PENDING", f"--name={self._name}")

    def submit(self, orders: Sequence[dict[str, Any]]) -> list[Any]:
        try:
            return self._executor.map_array(work, orders)
        except Exception as error:  # submitit's, of many kinds
            raise SfpError(f"SLURM refuses the jobs: {_said(error)}") from error

    def exclude(self, host: str) -> None:
        """Let jobs run elsewhere from now on."""
        self._excluded.add(host)
        if self._cluster == "slurm":
            hosts = ",".join(sorted(self._excluded))
            self._executor.update_parameters(slurm_exclude=hosts)

    def alive(self, handles: Sequence[Any]) -> set[str]:
        """The ids of those that wait or run."""
        if self._cluster != "slurm":
            return {h.job_id for h in handles if not h.done(force_check=True)}
        listed = self._run("squeue", "-h", "-r", "-o", "%i", f"--name={self._name}")
        return set(listed.split())

    def cancel(self, handles: Sequence[Any], *, pending: bool) -> None:
        if self._cluster != "slurm":
            for handle in () if pending else handles:
                handle.cancel()
        elif handles:
            which = ["--state=PENDING"] if pending else []
            self._run("scancel", *which, f"--name={self._name}")

    def _run(self, *command: str) -> str:
        try:
            found = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SfpError(f"{command[0]} does not answer: {error}") from error
        if found.returncode:
            said = found.stderr.strip().splitlines() or [f"code {found.returncode}"]
            raise SfpError(
                f"SLURM refuses {command[0]} ({said[-1]}): run this on a login node of "
                "the cluster, where `sinfo` answers."
            )
        return found.stdout


@dataclass
class _Task:
    job: Job
    handle: Any
    answer: Path
    missed: float | None = None


class SlurmExecutor:
    """An `Executor` whose jobs wait in SLURM's queue; they outlive this process.

    Args:
        queue: SLURM, or what stands for it.
        driver: of the folder.
        slots: jobs in the queue at a time.
    """

    def __init__(self, queue: Queue, driver: Driver, slots: int):
        self.slots = slots
        queue.clear()
        self._queue, self._driver = queue, driver
        self._answers = driver.out / "slurm" / "answers"
        remove(self._answers)
        self._answers.mkdir(parents=True)
        self._batch: list[tuple[Job, dict[str, Any]]] = []
        self._tasks: list[_Task] = []
        self._looked = self._asked = time.monotonic()

    def submit(self, job: Job) -> Path:
        """Put a job into the next array, which `poll` submits."""
        answer = self._answers / f"{secrets.token_hex(8)}.json"
        answer.touch()
        self._batch.append((job, self._driver.order(job, str(answer))))
        return self._driver.log(job)

    def poll(self) -> list[Ended]:
        self._driver.renew()
        refused = self._flush()
        now = time.monotonic()
        if now - self._looked < LOOK:
            return refused
        self._looked = now
        if self._tasks and now - self._asked >= ASK:
            self._ask()
        ended: list[Ended] = refused
        for task in self._tasks[:]:
            found = _read(task.answer)
            if found is None and (task.missed is None or now - task.missed < GRACE):
                continue
            self._tasks.remove(task)
            task.answer.unlink(missing_ok=True)
            ended.append(Ended(task.job, self._error(task, found)))
        return ended

    def stop(self) -> None:
        """Let jobs save and end; those that wait are taken out of the queue."""
        self._driver.end()
        with contextlib.suppress(SfpError, KeyboardInterrupt):
            handles = [task.handle for task in self._tasks]
            self._queue.cancel(handles, pending=True)
            deadline = time.monotonic() + PATIENCE + 2 * BEAT
            while handles and time.monotonic() < deadline:
                alive = self._queue.alive(handles)
                handles = [h for h in handles if h.job_id in alive]
                time.sleep(0.5)
            self._queue.cancel(handles, pending=False)

    def _flush(self) -> list[Ended]:
        if not self._batch:
            return []
        batch, self._batch = self._batch, []
        try:
            handles = self._queue.submit([order for _, order in batch])
        except SfpError as error:
            return [Ended(job, error) for job, _ in batch]
        for (job, order), handle in zip(batch, handles, strict=True):
            self._tasks.append(_Task(job, handle, Path(order["answer"])))
        return []

    def _ask(self) -> None:
        """Note which jobs SLURM does not know any more."""
        self._asked = time.monotonic()
        try:
            alive = self._queue.alive([task.handle for task in self._tasks])
        except SfpError as error:
            warnings.warn(f"{error}; asking again.", stacklevel=2)
            return
        for task in self._tasks:
            if task.handle.job_id in alive:
                task.missed = None
            elif task.missed is None:
                task.missed = self._asked

    def _error(self, task: _Task, found: Answer | None) -> SfpError | None:
        if found is None:
            return Lost(
                f"SLURM job {task.handle.job_id} ended without a word: see "
                f"{self._driver.out / 'slurm'}, and whether its node shares that folder"
            )
        if found.kind == "unfit":
            self._queue.exclude(found.host)
            warnings.warn(f"{found.reason}: it gets no more jobs.", stacklevel=2)
        return found.error()


def _read(path: Path) -> Answer | None:
    """An answer; None before it is whole."""
    try:
        return as_record(Answer, read_json(path))
    except (SfpError, ValueError):
        return None


def _said(error: Exception) -> str:
    """What a command said; submitit's error puts it behind pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "error:" in line]
    return told[-1] if told else reason(error)
