"""Recordings as experience, against a slow loop that shares no code with them."""

import jax
import numpy as np
import pytest

from sfp.data.demonstrations import HalfReplay, fill_replay
from sfp.data.replay import Sizes, TimeStep
from sfp.data.trajectories import assemble

GAMMA = 0.9


def recordings(lengths=(6, 2, 9), seed=0):
    """Observations whose first number tells episode and step: 100 e + t."""
    rng = np.random.default_rng(seed)
    episodes = []
    for e, length in enumerate(lengths):
        observations = rng.normal(size=(length, 3)).astype(np.float32)
        observations[:, 0] = 100 * e + np.arange(length)
        goals = rng.normal(size=(length, 2)).astype(np.float32)
        actions = rng.uniform([-1, 0], [3, 1], (length, 2)).astype(np.float32)
        episodes.append(dict(actions=actions, observations=observations, goals=goals))
    low, high = np.array([-1.0, 0.0]), np.array([3.0, 1.0])
    return episodes, assemble(episodes, source="test", low=low, high=high)


def reward(achieved, goal):
    return (achieved * [1.0, 10.0] - goal).sum(axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("n_step", [1, 3, 20])
@pytest.mark.parametrize("hindsight", [0.0, 4.0])
def test_transitions_are_those_of_the_recordings(n_step, hindsight):
    episodes, data = recordings()
    replay = fill_replay(
        data,
        part=slice(1, 3),
        reward=reward,
        n_step=n_step,
        gamma=GAMMA,
        hindsight=hindsight,
    )
    assert len(replay) == sum(len(e["actions"]) - 1 for e in episodes)
    batch = replay.sample(np.random.default_rng(1), (4000,))
    batch = jax.tree.map(np.asarray, batch)  # rows of JAX arrays are slow to take
    seen, relabelled = set(), 0
    for i in range(4000):
        e, t = divmod(int(batch.obs.state[i, 0]), 100)
        episode = episodes[e]
        last = len(episode["actions"]) - 1
        after = min(t + n_step, last)
        seen.add((e, t))
        goal = np.asarray(batch.obs.goal[i])
        achieved = episode["observations"][:, 1:3]
        if not np.array_equal(goal, episode["goals"][t]):
            relabelled += 1
            later = [np.array_equal(goal, achieved[j]) for j in range(t + 1, last + 1)]
            assert any(later)
        total = sum(
            GAMMA**j * reward(achieved[t + j + 1], goal) for j in range(after - t)
        )
        np.testing.assert_allclose(batch.reward[i], total, rtol=1e-4, atol=1e-4)
        assert float(batch.discount[i]) == pytest.approx(GAMMA ** (after - t))
        np.testing.assert_array_equal(
            np.append(batch.next_obs.state[i], batch.next_obs.goal[i]),
            np.append(episode["observations"][after], goal),
        )
        scaled = episode["actions"][t] * [0.5, 2.0] - [0.5, 1.0]
        np.testing.assert_allclose(batch.action[i], scaled, atol=1e-6)
    every = {(e, t) for e, x in enumerate(episodes) for t in range(len(x["goals"]) - 1)}
    assert seen == every
    share = relabelled / 4000
    assert share == pytest.approx(0.8 if hindsight else 0.0, abs=0.03)


@pytest.mark.slow
def test_half_of_a_batch_is_recorded_and_half_is_not():
    _, data = recordings()
    options = dict(n_step=2, gamma=GAMMA, hindsight=4.0, reward=reward)
    filled = fill_replay(data, part=slice(1, 3), **options)
    replay = HalfReplay(50, Sizes(3, 2, 2), demonstrations=filled, **options)
    rng = np.random.default_rng(0)

    def moment():
        obs = np.append(-1.0, rng.normal(size=2))
        return TimeStep(obs, rng.normal(size=2), rng.normal(size=2), np.zeros(0))

    replay.begin(moment())
    for _ in range(5):
        replay.add(np.zeros(2), 0.0, moment(), terminated=False)
    for shape, own in (((30, 10), 5), ((7, 5), 3)):
        batch = replay.sample(rng, shape)
        assert batch.obs.state.shape == (*shape, 3)
        ours = np.asarray(batch.obs.state)[..., 0] == -1.0
        np.testing.assert_array_equal(ours.sum(axis=1), own)
        np.testing.assert_array_equal(
            np.asarray(batch.next_obs.state)[..., 0] == -1.0, ours
        )
