"""The schedule alone: a fake executor, a fake clock, and no process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfp.errors import Busy, Lost, SfpError
from sfp.experiments.job import Job
from sfp.experiments.schedule import Ended, run_jobs


def make_job(out, name, needs=()):
    given = dict(kind="data", total=1, cost=1.0, needs=tuple(needs))
    return Job(name, words=(name,), marker=out / name, lock=out / "none", **given)


class Machine:
    """An executor whose jobs take two seconds of a fake clock each.

    `ends` has, for a job's name, what comes of each of its tries; usually it succeeds.
    """

    def __init__(self, slots=1, ends=None, refusals=None):
        self.slots, self.now, self.stopped = slots, 0.0, False
        self.ends = {name: iter(errors) for name, errors in (ends or {}).items()}
        self.refusals = {k: iter(errors) for k, errors in (refusals or {}).items()}
        self.running, self.began, self.most = [], [], 0

    def submit(self, job):
        if error := next(self.refusals.get(job.name, iter(())), None):
            raise error
        self.began.append(job.name)
        self.running.append((self.now + 2.0, job))
        self.most = max(self.most, len(self.running))

    def poll(self):
        over = [job for until, job in self.running if until <= self.now]
        self.running = [entry for entry in self.running if entry[1] not in over]
        return [self._end(job) for job in over]

    def _end(self, job):
        error = next(self.ends.get(job.name, iter(())), None)
        if error is None:
            job.marker.touch()
        return Ended(job, error)

    def stop(self):
        self.stopped = True

    def run(self, jobs):
        def sleep(seconds):
            self.now += seconds

        return run_jobs(jobs, self, clock=lambda: self.now, sleep=sleep)


def last(events):
    return {event.job.name: (event.state, event.reason) for event in events}


def test_jobs_begin_in_their_order_as_soon_as_their_needs_are_done(tmp_path):
    a, b = make_job(tmp_path, "a"), make_job(tmp_path, "b")
    c, d = make_job(tmp_path, "c", ["a"]), make_job(tmp_path, "d", ["a", "b"])
    machine = Machine()
    list(machine.run([a, c, b, d]))
    assert machine.began == ["a", "c", "b", "d"]
    for path in tmp_path.iterdir():
        path.unlink()
    machine = Machine(slots=2)
    list(machine.run([d, a, c, b]))  # d and c stand before what they need
    assert machine.began == ["a", "b", "d", "c"]


def test_a_job_that_fails_twice_fails_those_that_need_it(tmp_path):
    jobs = [make_job(tmp_path, "bad"), make_job(tmp_path, "shaky")]
    jobs += [make_job(tmp_path, "needy", ["bad"])]
    jobs += [make_job(tmp_path, "needier", ["needy"])]
    jobs += [make_job(tmp_path, "happy", ["shaky"])]
    failure = SfpError("no disk")
    machine = Machine(ends={"bad": [failure, failure], "shaky": [failure]})
    assert last(machine.run(jobs)) == {
        "bad": ("failed", "no disk"),
        "needy": ("failed", "it needs bad, which failed"),
        "needier": ("failed", "it needs needy, which failed"),
        "shaky": ("done", ""),
        "happy": ("done", ""),
    }
    assert machine.began == ["bad", "shaky", "bad", "shaky", "happy"]
    assert machine.stopped


def test_a_second_try_comes_after_the_others(tmp_path):
    jobs = [make_job(tmp_path, name) for name in "abc"]
    machine = Machine(ends={"a": [SfpError("no disk")]})
    list(machine.run(jobs))
    assert machine.began == ["a", "b", "c", "a"]


def test_a_job_that_cannot_start_fails_at_once(tmp_path):
    machine = Machine(refusals={"a": [SfpError("no log")]})
    jobs = [make_job(tmp_path, "a"), make_job(tmp_path, "b")]
    assert last(machine.run(jobs)) == {"a": ("failed", "no log"), "b": ("done", "")}
    assert machine.began == ["b"]


def test_a_busy_job_waits_and_has_not_failed(tmp_path):
    busy = [Busy("at it")]
    jobs = [make_job(tmp_path, "a"), make_job(tmp_path, "b")]
    machine = Machine(ends={"a": 3 * busy}, refusals={"a": 30 * busy})
    events = list(machine.run(jobs))
    assert last(events) == {"a": ("done", ""), "b": ("done", "")}
    told = [event.reason for event in events if event.state == "waiting"]
    assert told == 4 * ["at it"]
    assert machine.began == ["b", "a", "a", "a", "a"]


def test_a_job_that_left_no_marker_has_failed(tmp_path):
    job = make_job(tmp_path, "a")
    machine = Machine()
    machine._end = lambda job: Ended(job)
    assert last(machine.run([job]))["a"] == ("failed", f"ended without {job.marker}")


def test_jobs_that_are_done_do_not_run_again(tmp_path):
    jobs = [make_job(tmp_path, "a"), make_job(tmp_path, "b", ["a"])]
    jobs += [make_job(tmp_path, "c", ["b"])]
    for job in jobs[:2]:
        job.marker.touch()
    machine = Machine()
    states = [(event.job.name, event.state) for event in machine.run(jobs)]
    assert states[:2] == [("a", "done"), ("b", "done")]
    assert machine.began == ["c"]


def test_whoever_closes_the_events_stops_the_executor(tmp_path):
    machine = Machine()
    events = machine.run([make_job(tmp_path, "a")])
    assert next(events).state == "running"
    events.close()
    assert machine.stopped


def test_a_job_whose_machine_is_lost_goes_on_and_has_not_failed(tmp_path):
    lost = [Lost("the node is gone")]
    jobs = [make_job(tmp_path, "a"), make_job(tmp_path, "b")]
    machine = Machine(ends={"a": 5 * lost})
    events = list(machine.run(jobs))
    assert last(events) == {"a": ("done", ""), "b": ("done", "")}
    assert machine.began == [*(6 * ["a"]), "b"]
    (tmp_path / "a").unlink()
    machine = Machine(ends={"a": 99 * lost})  # it kills its machines
    assert last(machine.run(jobs))["a"] == ("failed", "the node is gone")
    assert machine.began == 12 * ["a"]


@pytest.mark.slow
def test_ten_thousand_jobs_on_500_slots_are_cheap():
    """The required bounds: 200 MB, and 10 ms of CPU for each job."""
    script = Path(__file__).with_name("simulate.py")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script)]
    found = json.loads(subprocess.check_output(command, env=env))
    assert found["memory"] < 200
    assert found["cpu"] < 10
    assert found["time"] < 1.1
