"""Recordings of Meta-World: reaching, experts, the same bits however they are made."""

import resource

import numpy as np
import pytest

from sfp.data import manipulation
from sfp.data.collect import collect
from sfp.data.reaching import HIGH, LOW, REACHED, Expert, Reaching
from sfp.data.record import roll, stack
from sfp.data.sources import load, minari
from sfp.envs.metaworld import MetaWorld
from sfp.errors import SfpError

pytest.importorskip("metaworld")


@pytest.mark.slow
def test_reaching_reaches(monkeypatch):
    env = MetaWorld("reach")
    made = roll(env, Reaching(), 300, np.random.default_rng([0, 0]))
    seen = stack(made.observations)
    goals, fingers = seen["desired_goal"], seen["achieved_goal"]
    changes = np.flatnonzero((goals[1:] != goals[:-1]).any(axis=1))
    assert len(changes) >= 4
    assert ((goals >= LOW - 1e-6) & (goals <= HIGH + 1e-6)).all()
    # A goal changes when the fingers are there, and not before.
    gaps = np.linalg.norm(fingers[1:] - goals[:-1], axis=1)
    np.testing.assert_array_equal(np.flatnonzero(gaps[:-1] <= REACHED), changes)
    np.testing.assert_array_equal(made.rewards, gaps <= REACHED)
    actions = stack(made.actions)
    assert actions.dtype == np.float32
    assert np.abs(actions).max() <= 1.0
    assert np.abs(actions[:, 3]).mean() == pytest.approx(0.5, abs=0.1)  # uniform


def test_the_scripted_action():
    rng = np.random.default_rng(0)
    script, goal = Reaching(), np.array([0.1, 0.6, 0.3])
    seen = {"achieved_goal": np.array([0.0, 0.6, 0.4])}
    moves = np.array([script.act(goal, seen, rng)[0][:3] for _ in range(500)])
    np.testing.assert_allclose(moves.mean(axis=0), [0.5, 0.0, -0.5], atol=0.004)
    np.testing.assert_allclose(moves.std(axis=0), 0.02, rtol=0.1)
    far = {"achieved_goal": np.array([-0.4, 0.6, 0.3])}
    assert script.act(goal, far, rng)[0][0] > 0.9


@pytest.mark.slow
def test_the_data_depends_on_neither_parts_nor_workers(monkeypatch):
    size = {"episodes": 3, "steps": 30, "seed": 5}
    alone = collect("reach", **size)
    monkeypatch.setattr(manipulation, "PART", 1)
    shared = collect("reach", **size, workers=2, name="sfp/reach/again-v0")
    assert shared.fingerprint == alone.fingerprint
    full = load(minari.root() / "sfp/reach/again-v0", columns=("observations", "goals"))
    assert full.observations.shape == (90, 36)
    assert full.goals.shape == (90, 3)
    assert full.names == ("x", "y", "z", "gripper")
    assert not (minari.root() / ".parts").exists()
    other = collect("reach", episodes=3, steps=30, seed=6, name="sfp/reach/other-v0")
    assert other.fingerprint != alone.fingerprint


@pytest.mark.slow
def test_a_full_disk_in_the_middle_loses_nothing(monkeypatch):
    monkeypatch.setattr(manipulation, "PART", 1)
    size = {"episodes": 3, "steps": 30}
    whole = collect("reach", **size, name="sfp/reach/whole-v0")
    made, make = [], manipulation.Episodes.make

    def counted(self):
        made.append(self.first)
        if len(made) == 2:  # from now on not a byte fits
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
        return make(self)

    monkeypatch.setattr(manipulation.Episodes, "make", counted)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(SfpError, match="cannot write"):
            collect("reach", **size)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    again = collect("reach", **size)
    assert made == [0, 1, 1, 2]
    assert again.fingerprint == whole.fingerprint


@pytest.mark.slow
def test_an_expert_solves_its_task():
    env, rng = MetaWorld("window-close"), np.random.default_rng([0, 1])
    made = roll(env, Expert("window-close"), 150, rng)
    assert made.rewards[-1] == 1
    goals = stack(made.observations)["desired_goal"]
    assert (goals == goals[0]).all()
    data = collect("window-close", policy="expert", episodes=2, steps=150)
    full = load(data.source, columns=("observations", "goals"))
    assert (data.lengths < 150).all()  # they end when it is closed, not at the limit
    for i, rng in enumerate(np.random.default_rng([0, i]) for i in range(2)):
        alone = roll(env, Expert("window-close"), 150, rng, until_reward=True)
        assert alone.rewards == [0.0] * (len(alone.rewards) - 1) + [1.0]
        part = slice(full.starts[i], full.ends[i])
        np.testing.assert_array_equal(full.actions[part], stack(alone.actions))
        seen = stack(alone.observations)["observation"][:-1].astype(np.float32)
        np.testing.assert_array_equal(full.observations[part], seen)
    data = collect("pick-place", policy="expert", episodes=1, steps=20)
    assert data.source == "sfp/pick-place/expert-v0"
    with pytest.warns(FutureWarning, match="write --policy expert"):
        old = collect("pick-place", expert=True, episodes=1, steps=20, force=True)
    assert old.fingerprint == data.fingerprint


def test_bad_requests():
    with pytest.raises(SfpError, match="choose --policy expert"):
        collect("push", episodes=1)
    with pytest.raises(SfpError, match="choose --policy scripted"):
        collect("room", episodes=1, policy="expert")
    with pytest.raises(SfpError, match="workers of at least 1"):
        collect("reach", episodes=1, workers=0)
