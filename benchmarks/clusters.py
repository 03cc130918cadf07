"""What a job costs beyond its own time, and how a grid shrinks with cores.

    python benchmarks/clusters.py measure [--on local|ray|ray://HOST:PORT] [--jobs 200]
    python benchmarks/clusters.py table [--overhead 0.15]

`measure` runs fake jobs that sleep for a second, two at a time, as `sfp reproduce` does
with real ones: at most 0.15 s each beyond that, 85 % of the ideal (required). Wants two
idle cores, and for Ray a cluster of two CPUs.

`table` plays experiments at the scale of the paper with a fake clock, from estimates
of `sfp list experiments` and the overhead that was measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from sfp.experiments.driver import Driver
from sfp.experiments.job import Job
from sfp.experiments.jobs import make_jobs
from sfp.experiments.local import LocalExecutor
from sfp.experiments.on_ray import RayExecutor
from sfp.experiments.plan import make_plan
from sfp.experiments.ray_cluster import RayCluster
from sfp.experiments.schedule import Ended, run_jobs

WARM = 2
REQUIRED, EFFICIENCY = 0.15, 0.85
SLEEP = "import sys, time; time.sleep(1.0); open(sys.argv[1], 'w').close()"
PROGRAM = (sys.executable, "-I", "-S", "-c", SLEEP)
EXPERIMENTS = ("transfer", "conditioning", "integration", "models", "data")
CORES = (1, 8, 32, 128, 512)


def measure(on: str, count: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        (out / "logs").mkdir()
        jobs = []
        for number in range(count):
            name = f"job-{number}"
            marker = out / name
            given = dict(lock=out / "locks" / name, total=1, cost=1.0)
            words = (str(marker),)
            jobs.append(Job(name, "data", words=words, marker=marker, **given))
        if on == "local":
            executor = LocalExecutor(2, out / "logs", PROGRAM)
        else:
            driver = Driver(out, out / "datasets", PROGRAM)
            executor = RayExecutor(RayCluster(on), driver, workers=2)
            assert executor.slots == 2, "expected two CPUs"
        began = cpu = seconds = 0.0
        done = 0
        for event in run_jobs(jobs, executor):
            assert event.state != "failed", event.reason
            done += event.state == "done"
            if done == WARM and not began:  # workers have started
                began, cpu = time.perf_counter(), time.process_time()
            if done == count:
                seconds = time.perf_counter() - began
                cpu = time.process_time() - cpu
    number = count - WARM
    ideal = number / 2
    overhead = (seconds - ideal) * 2 / number
    bare = _bare()
    print(f"{on}: {number} jobs of one second, two at a time: {seconds:.1f} s,")
    print(f"{ideal / seconds:.0%} of the ideal (required: {EFFICIENCY:.0%});")
    print(f"{overhead:.3f} s beyond its second for a job (required: {REQUIRED}),")
    print(f"{bare:.3f} s for the same process from a bare thread, in this run;")
    print(f"{1000 * cpu / number:.1f} ms of the driver's CPU for a job")
    return overhead <= REQUIRED and ideal / seconds >= EFFICIENCY


def _bare(count: int = 20) -> float:
    """Seconds beyond its second of a process that a thread starts, two at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as threads:
        began = time.perf_counter()
        commands = [[*PROGRAM, f"{folder}/{number}"] for number in range(count)]
        list(threads.map(subprocess.check_call, commands))
        return (time.perf_counter() - began) * 2 / count - 1.0


class Played:
    """An executor with a fake clock; a job takes its cost and the overhead."""

    def __init__(self, slots: int, overhead: float):
        self.slots, self.overhead = slots, overhead
        self.now, self.running = 0.0, []

    def submit(self, job):
        self.running.append((self.now + job.cost + self.overhead, job))

    def poll(self):
        over = [job for until, job in self.running if until <= self.now]
        self.running = [entry for entry in self.running if entry[0] > self.now]
        for job in over:
            job.marker.parent.mkdir(parents=True, exist_ok=True)
            job.marker.touch()
        return [Ended(job) for job in over]

    def stop(self):
        pass

    def sleep(self, seconds):
        first = min((until for until, _ in self.running), default=0.0)
        self.now = max(self.now + seconds, first)


def hours(name: str, slots: int, overhead: float) -> float:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = f"{folder}/datasets"
        jobs = make_jobs([make_plan(name, scale="paper")], Path(folder, "out"))
        jobs = [replace(job, kind="data", check=lambda: None) for job in jobs]
        machine = Played(slots, overhead)
        events = run_jobs(jobs, machine, clock=lambda: machine.now, sleep=machine.sleep)
        assert [event.state for event in events].count("failed") == 0
        return machine.now / 3600


def table(overhead: float) -> None:
    print("| experiment |", " | ".join(f"{n} cores" for n in CORES), "|")
    print("|---" * (len(CORES) + 1) + "|")
    for name in EXPERIMENTS:
        found = [hours(name, cores, overhead) for cores in CORES]
        print(f"| `{name}` |", " | ".join(f"{h:.1f} h" for h in found), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["measure", "table"])
    parser.add_argument("--on", default="local")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--overhead", type=float, default=REQUIRED)
    given = parser.parse_args()
    if given.what == "table":
        table(given.overhead)
    else:
        sys.exit(not measure(given.on, given.jobs))


if __name__ == "__main__":
    main()
