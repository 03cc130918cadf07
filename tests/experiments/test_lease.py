"""Leases: one holder at a time, the dead and the silent make room, without flock."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import pytest

from sfp.errors import Busy, SfpError
from sfp.experiments import lease
from sfp.experiments.lease import BEAT, LAPSE, Watch, is_ended, take


class Clock:
    now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def elsewhere(monkeypatch):
    """Let leases be taken, from now on, on another machine."""

    def move():
        monkeypatch.setattr(lease, "_machine", lambda: ("far", "boot", "space"))

    return move


def test_one_at_a_time(tmp_path):
    first = take(tmp_path, cpu="mine")
    with pytest.raises(Busy, match=f"process {os.getpid()} of .* is at it"):
        take(tmp_path)
    with pytest.raises(Busy):
        Watch().gone(tmp_path)
    first.renew()
    first.end(kind="done")
    assert Watch().gone(tmp_path) == 0
    held = json.loads(first.path.read_text())
    assert (held["cpu"], held["kind"], held["ended"]) == ("mine", "done", True)
    assert take(tmp_path).path.name == "1.json"


def test_of_many_at_once_one_gets_it(tmp_path):
    taken, start = [], threading.Barrier(8)

    def contend():
        start.wait()
        with contextlib.suppress(Busy):
            taken.append(take(tmp_path))

    threads = [threading.Thread(target=contend) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(taken) == 1


@pytest.mark.slow
def test_a_holder_of_this_machine_that_died_is_gone_at_once(tmp_path):
    program = f"from sfp.experiments.lease import *; take(Path({str(tmp_path)!r}))"
    paths = os.pathsep.join(sys.path)
    env = os.environ | {"PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", program], check=True, env=env)
    assert not is_ended(tmp_path / "0.json")
    assert Watch().gone(tmp_path) == 0


def test_a_silent_holder_elsewhere_lapses_and_finds_out(tmp_path, elsewhere):
    old, clock = take(tmp_path), Clock()
    elsewhere()
    watch = Watch(clock)
    for _ in range(3):  # it renews: alive, however long it takes
        with pytest.raises(Busy, match="is at it"):
            watch.gone(tmp_path)
        clock.now += LAPSE
        os.utime(old.path, ns=(0, int(clock.now * 1e9)))
    with pytest.raises(Busy):
        watch.gone(tmp_path)
    clock.now += LAPSE + BEAT + 0.1
    assert watch.gone(tmp_path) == 0
    with pytest.raises(Busy):  # nobody else may conclude that without looking
        take(tmp_path)
    new = take(tmp_path, gone=0)
    assert new.path.name == "1.json"
    with pytest.raises(SfpError, match="was lost"):
        old.renew()
    new.renew()


def test_a_holder_that_slept_too_long_does_not_go_on(tmp_path, monkeypatch):
    held = take(tmp_path)
    held._renewed -= LAPSE + 1.0
    with pytest.raises(SfpError, match="was lost"):
        held.renew()


def test_waiting_ends_when_a_holder_lapses_or_shows_that_it_lives(tmp_path, elsewhere):
    held, clock = take(tmp_path), Clock()
    elsewhere()
    assert Watch(clock).wait(tmp_path, clock.sleep) == 0
    assert LAPSE < clock.now < 2 * LAPSE
    began = clock.now

    def sleep(seconds):
        clock.sleep(seconds)
        if clock.now > began + 1.0:
            os.utime(held.path, ns=(0, 1))

    with pytest.raises(Busy):
        Watch(clock).wait(tmp_path, sleep)
    assert clock.now < began + 2.0


def test_a_lease_that_is_being_written_is_held(tmp_path):
    (tmp_path / "0.json").touch()
    with pytest.raises(Busy, match="another machine"):
        take(tmp_path)
