"""A grid of 10,000 jobs on 500 slots with a fake clock: what the driver itself costs.

    python simulate.py [JOBS [SLOTS]]

Schedule and board do all that they do for a real grid; jobs take 20 seconds of the fake
clock. Prints memory in MB, milliseconds of CPU per job and the length of the grid as a
multiple of the ideal one.
"""

import heapq
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from sfp.cli.watch import Board
from sfp.experiments.job import Job
from sfp.experiments.schedule import Ended, run_jobs

SECONDS = 20.0


class Simulated:
    """An executor whose jobs take 20 seconds each, a little more for some."""

    def __init__(self, slots):
        self.slots, self.now, self.running, self.most = slots, 0.0, [], 0

    def submit(self, job):
        until = self.now + SECONDS + len(self.running) % 7
        heapq.heappush(self.running, (until, job.name, job))
        self.most = max(self.most, len(self.running))

    def poll(self):
        ended = []
        while self.running and self.running[0][0] <= self.now:
            *_, job = heapq.heappop(self.running)
            job.marker.touch()
            ended.append(Ended(job))
        return ended

    def stop(self):
        pass

    def sleep(self, seconds):
        self.now += seconds


def main(count=10_000, slots=500):
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None  # the disk is not tested
    with tempfile.TemporaryDirectory(dir=place) as folder:
        out = Path(folder)
        given = dict(kind="data", total=1, lock=out, cost=SECONDS)
        priors = [f"prior-{i}" for i in range(10)]
        jobs = [Job(p, words=(p,), marker=out / p, **given) for p in priors]
        for i in range(count - len(priors)):
            name = f"run-{i}"
            needs = (priors[i % len(priors)],)
            jobs.append(
                Job(name, words=(name,), marker=out / name, needs=needs, **given)
            )
        machine, board = Simulated(slots), Board([], jobs, slots)
        began = time.process_time()
        for event in run_jobs(
            jobs, machine, clock=lambda: machine.now, sleep=machine.sleep
        ):
            board.hear(event)
            board.summary()
        spent = time.process_time() - began
        assert board.count("done") == count
        assert machine.most == min(slots, count - len(priors))
    # Not `getrusage`, which counts the process that started this one.
    status = Path("/proc/self/status").read_text()
    memory = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    ideal = count * (SECONDS + 3.0) / slots
    found = {"memory": memory, "cpu": 1000 * spent / count, "time": machine.now / ideal}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
