"""The runner: retries, order, cores, interruption; a fake command does the work."""

import contextlib
import fcntl
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfp.errors import SfpError
from sfp.experiments.job import Job
from sfp.experiments.local import LocalExecutor
from sfp.experiments.schedule import run_jobs

pytestmark = pytest.mark.slow

FAKE = Path(__file__).with_name("fake.py")
PROGRAM = [sys.executable, "-I", str(FAKE)]


def make_job(out, name, action="work", *, needs=(), **kwargs):
    folder = out / name
    words = (str(folder), action)
    given = dict(kind="train", total=10, cost=1.0, needs=tuple(needs)) | kwargs
    return Job(name, words=words, marker=folder / "marker", lock=folder, **given)


def run(jobs, out, workers=1):
    (out / "logs").mkdir(exist_ok=True)
    return run_jobs(jobs, LocalExecutor(workers, out / "logs", PROGRAM))


def starts(out, name):
    path = out / name / "starts"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def last(events):
    """The last event of each job."""
    return {event.job.name: event for event in events}


def until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_failed_job_is_tried_twice_and_stops_no_other(tmp_path):
    actions = {"bad": "fail", "good": "work", "shaky": "once", "lost": "forgets"}
    jobs = [make_job(tmp_path, name, action) for name, action in actions.items()]
    jobs += [make_job(tmp_path, "killed", "dies")]
    jobs += [make_job(tmp_path, "needy", needs=["good", "bad"])]
    jobs += [make_job(tmp_path, "needier", needs=["needy"])]
    events = list(run(jobs, tmp_path, workers=2))
    end = last(events)
    failed = {name for name, event in end.items() if event.state == "failed"}
    assert failed == {"bad", "lost", "killed", "needy", "needier"}
    assert {e.state for e in end.values()} == {"done", "failed"}
    tries = {name: len(starts(tmp_path, name)) for name in end}
    assert tries == {
        **{"good": 1, "needy": 0, "needier": 0},
        **{"bad": 2, "shaky": 2, "lost": 2, "killed": 2},
    }
    assert end["bad"].reason == "the disk is on fire: put it out."
    assert end["bad"].log == tmp_path / "logs" / "bad.log"
    assert end["bad"].log.read_text().count("some line") == 2
    assert end["killed"].reason == "ended by SIGKILL"
    assert end["lost"].reason == f"ended without {tmp_path}/lost/marker"
    assert end["needy"].reason == "it needs bad, which failed"
    assert end["needier"].reason == "it needs needy, which failed"
    states = [e.state for e in events if e.job.name == "shaky"]
    assert [state for state, _ in itertools.groupby(states)] == [
        "running",
        "waiting",
        "running",
        "done",
    ]


def test_odd_ends_stop_no_other(tmp_path):
    """A signal without a name, a log that is gone, a table that is one huge field."""
    jobs = [make_job(tmp_path, "odd", "dies40"), make_job(tmp_path, "burnt", "burns")]
    huge = make_job(tmp_path, "huge")
    huge.lock.mkdir()
    (huge.lock / "train.csv").write_text('step\n"' + "1" * 200_000 + "\n")
    end = last(run([*jobs, huge], tmp_path))
    states = {name: (event.state, event.reason) for name, event in end.items()}
    assert states == {
        "odd": ("failed", "ended by signal 40"),
        "burnt": ("failed", "ended with code 3, and its log is gone"),
        "huge": ("done", ""),
    }


def test_what_another_process_began_meanwhile_has_not_failed(tmp_path):
    prior, needy = make_job(tmp_path, "prior", "busy"), "needy"
    events = list(run([prior, make_job(tmp_path, needy, needs=["prior"])], tmp_path))
    assert len(starts(tmp_path, "prior")) == 4
    assert {name: event.state for name, event in last(events).items()} == {
        **{"prior": "done", needy: "done"}
    }
    told = [event.reason for event in events if event.state == "waiting"]
    assert told == 3 * ["another process is at it"]


def test_what_is_done_is_said_before_the_first_job_ends(tmp_path):
    jobs = [make_job(tmp_path, name) for name in ("one", "two", "three")]
    last(run(jobs[2:], tmp_path))
    states = [(e.job.name, e.state) for e in run(jobs, tmp_path)]
    assert states.index(("three", "done")) < states.index(("one", "done"))


def test_what_is_done_is_kept_and_what_was_begun_resumes(tmp_path):
    jobs = [make_job(tmp_path, "one"), make_job(tmp_path, "two")]
    list(run(jobs[:1], tmp_path))
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "config.json").touch()
    end = last(run(jobs, tmp_path))
    assert {event.state for event in end.values()} == {"done"}
    assert [note["words"] for note in starts(tmp_path, "one")] == [["work"]]
    assert [note["words"] for note in starts(tmp_path, "two")] == [["work", "--resume"]]


def test_something_else_in_its_place_fails_that_job_alone(tmp_path):
    def refuse():
        raise SfpError("this is another run")

    jobs = [make_job(tmp_path, "other", check=refuse), make_job(tmp_path, "one")]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "marker").touch()
    end = last(run(jobs, tmp_path))
    assert (end["other"].state, end["other"].reason) == (
        "failed",
        "this is another run",
    )
    assert end["one"].state == "done"
    assert starts(tmp_path, "other") == []


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_run_side_by_side_on_a_core_each(tmp_path, workers):
    names = ["a", "b", "c", "d"]
    most = 0
    running = set()
    for event in run([make_job(tmp_path, name) for name in names], tmp_path, workers):
        running.discard(event.job.name)
        if event.state == "running":
            running.add(event.job.name)
        most = max(most, len(running))
    assert most == workers
    cores = [note["cores"] for name in names for note in starts(tmp_path, name)]
    assert all(len(mine) == 1 for mine in cores)
    available = len(os.sched_getaffinity(0))
    assert len({mine[0] for mine in cores}) >= min(workers, available)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_two_commands_side_by_side_do_not_share_a_core(tmp_path):
    """Each has one worker; what another command has bound to a core counts."""
    first, *_ = sorted(os.sched_getaffinity(0))
    count = 6  # more than tests beside this one may have bound to any other core
    words = ["import os, time", f"os.sched_setaffinity(0, {{{first}}})"]
    words += ["print(flush=True)", "time.sleep(60)"]
    command = [sys.executable, "-I", "-c", "; ".join(words)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        assert all(other.stdout.readline() for other in others)
        list(run([make_job(tmp_path, "mine")], tmp_path))
    finally:
        for other in others:
            other.kill()
            other.communicate()
    (note,) = starts(tmp_path, "mine")
    assert len(note["cores"]) == 1
    assert note["cores"] != [first]


def test_needs_come_first(tmp_path):
    (tmp_path / "prior").mkdir()
    jobs = [make_job(tmp_path, "prior", "wait"), make_job(tmp_path, "own")]
    jobs.insert(1, make_job(tmp_path, "run", needs=["prior"]))
    order = []
    for event in run(jobs, tmp_path, workers=2):
        if event.state == "done":
            order.append(event.job.name)
        if order == ["own"]:
            (tmp_path / "prior" / "go").touch()
    assert order == ["own", "prior", "run"]


def test_whoever_stops_listening_stops_the_processes_and_can_go_on(tmp_path):
    jobs = [make_job(tmp_path, "long", "wait"), make_job(tmp_path, "next")]
    with contextlib.closing(run(jobs, tmp_path)) as events:
        assert next(events).state == "running"
        until(lambda: starts(tmp_path, "long"))
    assert (tmp_path / "long" / "saved").exists()
    assert not is_alive(starts(tmp_path, "long")[0]["pid"])
    (tmp_path / "long" / "go").touch()
    end = last(run(jobs, tmp_path))
    assert {event.state for event in end.values()} == {"done"}
    assert starts(tmp_path, "long")[1]["words"] == ["wait", "--resume"]


RUNNER = """
import sys
from pathlib import Path
from test_local import make_job, run
out = Path(sys.argv[1])
list(run([make_job(out, "a", "sleep"), make_job(out, "b", "sleep")], out, workers=2))
"""


def test_processes_die_with_a_runner_that_is_killed(tmp_path):
    command = [sys.executable, "-c", RUNNER, str(tmp_path)]
    paths = os.pathsep.join(sys.path)
    runner = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths})
    until(lambda: starts(tmp_path, "a") and starts(tmp_path, "b"), 30.0)
    pids = [starts(tmp_path, name)[0]["pid"] for name in ("a", "b")]
    assert all(map(is_alive, pids))
    runner.kill()
    runner.wait()
    until(lambda: not any(map(is_alive, pids)))
    assert not (tmp_path / "a" / "saved").exists()


def test_a_folder_that_another_process_writes_to_is_waited_for(tmp_path):
    (tmp_path / "busy").mkdir()
    jobs = [make_job(tmp_path, "busy"), make_job(tmp_path, "free")]
    with (tmp_path / "busy" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        states = []
        for event in run(jobs, tmp_path):
            states.append((event.job.name, event.state))
            if states[-1] == ("free", "done"):
                assert starts(tmp_path, "busy") == []
                fcntl.flock(lock, fcntl.LOCK_UN)
    assert states[0] == ("busy", "waiting")
    assert states[-1] == ("busy", "done")
