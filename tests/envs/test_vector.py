"""Environments that are stepped together, beside single ones with the same seeds."""

import os
import signal
from functools import partial

import gymnasium as gym
import numpy as np
import pytest

from environments import Drift
from sfp.envs.adapter import Environment, make_env
from sfp.envs.vector import make_vector
from sfp.errors import SfpError

ROOM = partial(gym.make, "sfp/Room-v0", max_episode_steps=4)


def walk(vector, count, make, steps=9):
    """Compare every step with environments of their own; each begins when it ends."""
    alone = [Environment(make(), "probe") for _ in range(count)]
    seeds = dict(enumerate(range(count)))
    due, rng = seeds, np.random.default_rng(0)
    successes = []
    for step in range(steps):
        if due:
            shown = vector.reset(due)
            assert shown.keys() == due.keys()
            for i, seed in due.items():
                same(shown[i], alone[i].reset(seed))
        actions = list(rng.uniform(-1, 1, (count, alone[0].spec.action)))
        outcomes = vector.step(actions)
        due = {}
        for i, (ours, action) in enumerate(zip(outcomes, actions, strict=True)):
            theirs = alone[i].step(action)
            same(ours.observed, theirs.observed)
            for name in ("reward", "terminated", "truncated", "success"):
                assert getattr(ours, name) == getattr(theirs, name)
            successes.append(ours.success)
            if ours.terminated or ours.truncated:
                due[i] = 100 + step + i
    return successes


def same(one, other):
    for ours, theirs in zip(one.obs, other.obs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(one.achieved, other.achieved)


@pytest.mark.parametrize("make", [ROOM, partial(Drift, length=3)])
def test_rows_are_what_single_environments_show(make):
    with make_vector(make, 3, "probe", "sync") as vector:
        told = walk(vector, 3, make, steps=30)
    assert (None in told) == (make is not ROOM)


@pytest.mark.slow
def test_processes_go_on_when_ctrl_c_reaches_them_and_one_line_says_if_one_dies():
    with make_vector(ROOM, 2, "room", "async") as vector:
        for process in vector.vector.processes:
            os.kill(process.pid, signal.SIGINT)
            os.kill(process.pid, signal.SIGTERM)
        walk(vector, 2, ROOM)
        processes = vector.vector.processes
        os.kill(processes[0].pid, signal.SIGKILL)
        processes[0].join()
        with pytest.raises(SfpError, match=r"^one of 2 environments room raised"):
            walk(vector, 2, ROOM)
    for process in processes:
        process.join(5)
        assert not process.is_alive()


def test_one_line_if_an_environment_errs():
    make = partial(Drift, fault="raise")
    with (
        make_vector(make, 2, "drift", "sync") as vector,
        pytest.raises(SfpError, match=r"^one of 2 .* RuntimeError \(the motor\): try"),
    ):
        walk(vector, 2, make)
    with (
        pytest.raises(SfpError, match=r"^unknown task"),
        make_vector(partial(make_env, "no-such"), 2, "no-such", "sync"),
    ):
        pass
    make = partial(Drift, fault="nan", at=2)
    with (
        make_vector(make, 2, "drift", "sync") as vector,
        pytest.raises(SfpError, match="drift showed nan at step 2 of the episode"),
    ):
        walk(vector, 2, Drift)
