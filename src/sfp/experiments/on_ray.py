"""Runs jobs on a Ray cluster: each is a task that runs `sfp` on a node we choose."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfp.errors import Lost, SfpError
from sfp.experiments.driver import Driver
from sfp.experiments.job import Job
from sfp.experiments.lease import BEAT
from sfp.experiments.probe import asking, examine, judge
from sfp.experiments.process import PATIENCE
from sfp.experiments.ray_cluster import Cluster, Node
from sfp.experiments.schedule import Ended
from sfp.experiments.work import Answer, work

LOOK = 5.0
"""Seconds between two looks at the nodes."""

GRACE = 15.0
"""Seconds that Ray has to tell of the tasks of a node that is gone."""

ANSWER = 120.0
"""Seconds that a node has to answer what it is asked first."""


@dataclass
class _Task:
    job: Job
    node: str
    handle: Any
    missed: float | None = None


class RayExecutor:
    """An `Executor` whose jobs are tasks of a Ray cluster.

    Every node is examined before it gets a job, also one that joins later. Tasks die
    with this process; the nodes' own processes die with their tasks.

    Args:
        cluster: Ray, or what stands for it.
        driver: of the folder.
        workers: jobs at a time, at most; None for as many as the nodes have CPUs.
        markers: files that every node must see if they are there.
    """

    def __init__(
        self,
        cluster: Cluster,
        driver: Driver,
        workers: int | None = None,
        markers: Sequence[Path] = (),
    ):
        self._cluster, self._driver = cluster, driver
        self._workers, self._markers = workers, markers
        self._tasks: list[_Task] = []
        self._fit: dict[str, Node] = {}
        self._unfit = set[str]()
        self._admit(cluster.nodes())
        if not self._fit:
            raise SfpError("the Ray cluster has no node with a CPU: start one.")
        self._looked = time.monotonic()

    @property
    def slots(self) -> int:
        there = sum(node.slots for node in self._fit.values())
        return there if self._workers is None else min(self._workers, there)

    def submit(self, job: Job) -> Path:
        order = self._driver.order(job)
        taken = [task.node for task in self._tasks]
        free = {k: node.slots - taken.count(k) for k, node in self._fit.items()}
        node = max(free, key=lambda k: free[k])
        handle = self._cluster.start(node, work, order, cpus=1)
        self._tasks.append(_Task(job, node, handle))
        return self._driver.log(job)

    def poll(self) -> list[Ended]:
        self._driver.renew()
        if time.monotonic() - self._looked >= LOOK:
            self._look()
            self._looked = time.monotonic()
        finished = set(self._cluster.finished([task.handle for task in self._tasks]))
        ended = [task for task in self._tasks if task.handle in finished]
        lost = [task for task in self._tasks if task not in ended and _is_lost(task)]
        gone = {id(task) for task in (*ended, *lost)}
        self._tasks = [task for task in self._tasks if id(task) not in gone]
        silent = Lost("its node is gone")
        return [
            *(Ended(task.job, self._error(task)) for task in ended),
            *(Ended(task.job, silent) for task in lost),
        ]

    def stop(self) -> None:
        """Let jobs save and end: they see that the driver's lease has ended."""
        self._driver.end()
        deadline = time.monotonic() + PATIENCE + 2 * BEAT
        try:
            while self._tasks and time.monotonic() < deadline:
                handles = [task.handle for task in self._tasks]
                done = set(self._cluster.finished(handles))
                self._tasks = [t for t in self._tasks if t.handle not in done]
                time.sleep(0.1)
        except KeyboardInterrupt:  # asked twice: at once
            pass
        finally:
            self._cluster.close()

    def _error(self, task: _Task) -> SfpError | None:
        try:
            return Answer(**self._cluster.result(task.handle)).error()
        except SfpError as error:
            return error

    def _look(self) -> None:
        """Forget nodes that are gone, examine new ones; an unfit one is left out."""
        there = self._cluster.nodes()
        self._fit = {k: node for k, node in there.items() if k in self._fit}
        for task in self._tasks:
            if task.node not in there and task.missed is None:
                task.missed = time.monotonic()
        new = {k: n for k, n in there.items() if k not in self._fit}
        new = {k: n for k, n in new.items() if k not in self._unfit}
        try:
            self._admit(new)
        except SfpError as error:
            self._unfit |= new.keys()
            warnings.warn(f"{error} It gets no job.", stacklevel=2)

    def _admit(self, nodes: dict[str, Node]) -> None:
        """Examine nodes; an `SfpError` names one that is unfit."""
        driver = self._driver
        if not nodes:
            return
        with asking(driver.out, driver.datasets, self._markers) as question:
            start, asked = self._cluster.start, asdict(question)
            tasks = {node: start(node, examine, asked) for node in nodes}
            self._await([*tasks.values()])
            done = set(self._cluster.finished([*tasks.values()]))
            answers: dict[str, dict[str, Any]] = {}
            fit: dict[str, Node] = {}
            for node, task in tasks.items():
                name = nodes[node].name
                if task not in done:
                    raise SfpError(f"node {name} did not answer in {ANSWER:.0f} s.")
                try:
                    answers[name] = self._cluster.result(task)
                    fit[node] = nodes[node]
                except Lost:  # it has died, and Ray does not tell yet
                    continue
                except SfpError as error:
                    raise SfpError(
                        f"node {name} cannot be examined: {error}; is sfp installed "
                        "there?"
                    ) from error
        if fit:
            judge(answers, driver.out, any_cpu=driver.any_cpu)
        self._fit |= fit

    def _await(self, tasks: Sequence[Any]) -> None:
        deadline = time.monotonic() + ANSWER
        while time.monotonic() < deadline:
            self._driver.renew()
            if len(list(self._cluster.finished(tasks))) == len(tasks):
                return
            time.sleep(0.05)


def _is_lost(task: _Task) -> bool:
    """Whether a node has been gone for so long that Ray will not tell any more."""
    return task.missed is not None and time.monotonic() - task.missed > GRACE
