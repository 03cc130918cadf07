"""The schedule alone: a fake executor, a fake clock, and no process."""

import itertools
import time

import pytest

from sfp.errors import Busy, SfpError
from sfp.experiments.jobs import Job
from sfp.experiments.schedule import Ended, ready, run_jobs


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


def test_ready_is_a_function_of_what_is_done_and_what_failed(tmp_path):
    a, b = make_job(tmp_path, "a"), make_job(tmp_path, "b")
    c, d = make_job(tmp_path, "c", ["a"]), make_job(tmp_path, "d", ["a", "b"])
    jobs = [a, c, b, d]
    assert ready(jobs, set(), set()) == [a, b]
    assert ready(jobs, {"a"}, set()) == [c, b]
    assert ready(jobs, {"a", "b"}, set()) == [c, d]
    assert ready(jobs, {"a"}, {"b"}) == [c]
    assert ready(jobs, {"a", "c"}, {"b"}) == []


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


@pytest.mark.slow
def test_a_thousand_jobs_are_cheap(tmp_path):
    """A hundred seeds of ten methods, each of which needs a prior."""
    priors = [make_job(tmp_path, f"prior-{i}") for i in range(10)]
    jobs = [*priors]
    for seed, name in itertools.product(range(100), range(10)):
        jobs.append(make_job(tmp_path, f"run-{name}-{seed}", [f"prior-{name}"]))
    machine = Machine(slots=20)
    began = time.process_time()
    events = list(machine.run(jobs))
    seconds = time.process_time() - began
    assert {state for state, _ in last(events).values()} == {"done"}
    assert len(machine.began) == len(set(machine.began)) == 1010
    assert machine.most == 20
    turns = machine.now / 0.1
    assert turns < 1.3 * 10 * 2.0 * len(jobs) / 20
    assert seconds / turns < 0.005, "more than 5 % of the time between two polls"
