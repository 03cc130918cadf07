"""The jobs that can start now: a queue that never looks at all jobs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from sfp.experiments.job import Job


class Ready:
    """The jobs whose needs are done, in their order."""

    def __init__(self, jobs: Sequence[Job]):
        self._jobs = {job.name: job for job in jobs}
        self._rank = {job.name: rank for rank, job in enumerate(jobs)}
        self._missing = {job.name: len(set(job.needs)) for job in jobs}
        self._needing: dict[str, list[Job]] = {}
        for job in jobs:
            for name in set(job.needs):
                self._needing.setdefault(name, []).append(job)
        self._heap = [(rank, j.name) for rank, j in enumerate(jobs) if not j.needs]
        self._refused: list[Job] = []

    def pop(self) -> Job | None:
        return self._jobs[heapq.heappop(self._heap)[1]] if self._heap else None

    def push(self, job: Job, *, last: bool = False) -> None:
        if last:
            self._rank[job.name] += len(self._jobs)
        heapq.heappush(self._heap, (self._rank[job.name], job.name))

    def refuse(self, job: Job) -> None:
        """Put a job aside until the next `retry`."""
        self._refused.append(job)

    def retry(self) -> None:
        for job in self._refused:
            self.push(job)
        self._refused.clear()

    def finish(self, job: Job) -> None:
        for other in self.needing(job.name):
            self._missing[other.name] -= 1
            if self.is_ready(other):
                self.push(other)

    def is_ready(self, job: Job) -> bool:
        return self._missing[job.name] == 0

    def needing(self, name: str) -> Sequence[Job]:
        return self._needing.get(name, ())
