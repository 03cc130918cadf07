"""Jobs on a cluster: threads stand for its nodes, a fake command does the work."""

import contextlib
import itertools
import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_local import PROGRAM, last, make_job, starts, until

from sfp.errors import Lost, SfpError
from sfp.experiments import on_ray
from sfp.experiments.driver import Driver, wait_for_driver
from sfp.experiments.lease import take
from sfp.experiments.on_ray import RayExecutor
from sfp.experiments.places import Place
from sfp.experiments.ray_cluster import Node, RayCluster, check_there
from sfp.experiments.schedule import run_jobs

pytestmark = pytest.mark.slow


class Threads:
    """A cluster in which every task is a thread."""

    def __init__(self, **nodes):
        self.there = {name: Node(name, slots) for name, slots in nodes.items()}
        self.results, self.where, self.dead = {}, {}, set()
        self.count, self.closed = itertools.count(), False

    def nodes(self):
        return {k: node for k, node in self.there.items() if k not in self.dead}

    def start(self, node, function, *args, cpus=0):
        task = next(self.count)
        self.where[task] = node

        def run():
            self.results[task] = function(*args)

        threading.Thread(target=run, daemon=True).start()
        return task

    def finished(self, tasks):
        return [t for t in tasks if t in self.results or self.where[t] in self.dead]

    def result(self, task):
        if self.where[task] in self.dead:
            raise Lost("its node or worker is gone")
        return self.results[task]

    def close(self):
        self.closed = True


@pytest.fixture
def driver(tmp_path):
    return Driver(tmp_path, tmp_path / "datasets", PROGRAM)


def test_jobs_run_on_all_nodes_by_the_same_rules_as_locally(tmp_path, driver):
    cluster = Threads(a=1, b=2)
    actions = {"good": "work", "bad": "fail", "shaky": "once", "begun": "busy"}
    jobs = [make_job(tmp_path, name, action) for name, action in actions.items()]
    jobs += [make_job(tmp_path, "needy", needs=["bad"])]
    executor = RayExecutor(cluster, driver)
    assert executor.slots == 3
    end = last(run_jobs(jobs, executor))
    states = {name: (event.state, event.reason) for name, event in end.items()}
    assert states == {
        "good": ("done", ""),
        "shaky": ("done", ""),
        "begun": ("done", ""),
        "bad": ("failed", "the disk is on fire: put it out."),
        "needy": ("failed", "it needs bad, which failed"),
    }
    assert end["bad"].log == tmp_path / "logs" / "bad.log"
    assert len(starts(tmp_path, "shaky")) == 2
    assert all(len(note["cores"]) == 1 for note in starts(tmp_path, "good"))
    assert set(cluster.where.values()) == {"a", "b"}
    assert cluster.closed
    wait_for_driver(tmp_path)  # the lease has been given back


def test_a_job_whose_node_dies_goes_on_elsewhere_when_its_lease_is_over(
    tmp_path, driver, monkeypatch
):
    """The process of the dead node lives on: its lease keeps all others away."""
    monkeypatch.setattr(on_ray, "LOOK", 0.1)
    cluster = Threads(a=1, b=1)
    job = make_job(tmp_path, "long", "wait")
    executor = RayExecutor(cluster, driver, workers=1)
    told = []
    for event in run_jobs([job], executor):
        told.append((event.state, event.reason))
        if starts(tmp_path, "long") and not cluster.dead:
            cluster.dead = {cluster.where[max(cluster.where)]}
        if "is at it" in event.reason:  # where there is no flock
            assert len(starts(tmp_path, "long")) == 1
            (tmp_path / "long" / "go").touch()
    assert ("waiting", "its node or worker is gone") in told
    assert any("is at it" in reason for _, reason in told)
    assert told[-1] == ("done", "")
    assert len(starts(tmp_path, "long")) == 1


def test_an_unfit_node_stops_the_grid_before_it_begins(tmp_path, driver, monkeypatch):
    cluster = Threads(a=1, b=1)
    found = {"source": "sfp 0.0.1", "cpu": "?", "wrong": ""}
    monkeypatch.setattr(on_ray, "examine", lambda question: found)
    with pytest.raises(SfpError, match=r"node a has sfp 0\.0\.1, this machine sfp"):
        RayExecutor(cluster, driver)
    with pytest.raises(SfpError, match="no node with a CPU"):
        RayExecutor(Threads(), driver)


def test_a_node_that_joins_is_examined_first(tmp_path, driver, monkeypatch):
    monkeypatch.setattr(on_ray, "LOOK", 0.0)
    cluster = Threads(a=1)
    executor = RayExecutor(cluster, driver)
    cluster.there["b"] = Node("b", 4)
    executor.poll()
    assert executor.slots == 5
    cluster.dead = {"b"}
    executor.poll()
    assert executor.slots == 1
    monkeypatch.setattr(on_ray, "judge", lambda *_, **__: (_ for _ in ()).throw(BAD))
    cluster.there["c"] = Node("c", 4)
    with pytest.warns(UserWarning, match="it is unfit: It gets no job"):
        executor.poll()
    executor.poll()
    assert executor.slots == 1
    executor.stop()


BAD = SfpError("it is unfit:")


def test_whoever_stops_listening_lets_jobs_save(tmp_path, driver):
    jobs = [make_job(tmp_path, "long", "sleep"), make_job(tmp_path, "next")]
    executor = RayExecutor(Threads(a=1), driver)
    with contextlib.closing(run_jobs(jobs, executor)) as events:
        assert next(events).state == "running"
        until(lambda: starts(tmp_path, "long"))
    assert (tmp_path / "long" / "saved").exists()
    held = json.loads((tmp_path / "leases" / "long" / "0.json").read_text())
    assert (held["kind"], held["reason"]) == ("lost", "stopped")


def test_two_drivers_on_one_folder(tmp_path, driver):
    def renew():
        while not over.wait(0.2):
            driver._lease.renew()

    over = threading.Event()
    beats = threading.Thread(target=renew)
    beats.start()
    try:
        for begin in (
            lambda: Driver(tmp_path, tmp_path),
            lambda: wait_for_driver(tmp_path),
        ):
            with pytest.raises(
                SfpError, match=r"another `sfp reproduce` drives .* \(pro"
            ):
                begin()
    finally:
        over.set()
        beats.join()
    driver.end()
    Driver(tmp_path, tmp_path).end()


def test_without_ray_or_without_a_cluster(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SfpError, match=r"needs Ray, .*-priors\[ray\]'"):
        RayCluster("ray")
    with pytest.raises(
        SfpError, match=r"no Ray cluster at ray://127\.0\.0\.1:1 .*start one"
    ):
        check_there("ray://127.0.0.1:1")
    with pytest.raises(SfpError, match=r"no Ray cluster at ray://127\.0\.0\.1:x"):
        check_there("ray://127.0.0.1:x")


@pytest.mark.parametrize(("busy", "tries"), [(2, 3), (9, 3)])
def test_a_busy_head_is_asked_again(monkeypatch, busy, tries):
    asked = []

    def init(address, **options):
        asked.append(address)
        if len(asked) <= busy:
            raise ConnectionError("Initialization failure from server:\n")

    monkeypatch.setenv("RAY_ADDRESS", "")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    if busy < tries:
        RayCluster("ray")
    else:
        with pytest.raises(SfpError, match=r"cannot join .*: Initialization failure"):
            RayCluster("ray")
    assert len(asked) == tries


def test_places(tmp_path, monkeypatch):
    monkeypatch.delenv("MINARI_DATASETS_PATH")
    from sfp.data.sources.minari import root

    with Place("ray").datasets(tmp_path):
        assert root() == tmp_path / "datasets"
    assert root() != tmp_path / "datasets"
    assert Path.home() in root().parents
    with pytest.raises(SfpError, match=r"expected --on local, ray, .* received 'mars'"):
        Place("mars")
    held = take(tmp_path / "leases" / "driver")
    held.end()
    assert Place().executor(tmp_path, [], 3).slots == 3
