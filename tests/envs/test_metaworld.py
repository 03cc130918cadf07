"""Meta-World: the original is the oracle, bit for bit."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy.spatial.transform import Rotation

import sfp
from sfp.envs.manipulation import MANIPULATIONS, quaternion
from sfp.envs.metaworld import MetaWorld
from sfp.envs.registry import get_task
from sfp.errors import SfpError

pytest.importorskip("metaworld")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def original(task, vector):
    """Meta-World's own environment with everything random fixed."""
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS

    env = ALL_V3_ENVIRONMENTS[f"{task}-v3"]()
    env._set_task_called = True
    env._partially_observable = False
    del env.sawyer_observation_space
    env._freeze_rand_vec, env._last_rand_vec = True, vector
    return env


def expert(task):
    from metaworld.policies import ENV_POLICY_MAP

    return ENV_POLICY_MAP[f"{task}-v3"]()


@pytest.mark.slow
@pytest.mark.parametrize("task", MANIPULATIONS)
def test_every_bit_is_the_originals(task):
    ours, policy = MetaWorld(task), expert(task)
    succeeded = False
    for seed, random in ((0, False), (7, True)):
        rng = np.random.default_rng(seed)
        seen, info = ours.reset(seed=seed)
        assert not info["is_success"]  # the first observation shows a closed window
        theirs = original(task, ours.simulation._last_rand_vec.copy())
        full, _ = theirs.reset()
        for step in range(60 if random else 160):
            np.testing.assert_array_equal(seen["observation"], full[:36])
            np.testing.assert_array_equal(seen["desired_goal"], full[36:])
            action = rng.uniform(-1.2, 1.2, 4) if random else policy.get_action(full)
            action = np.asarray(action, np.float32)
            full, _, _, _, told = theirs.step(action)
            seen, reward, terminated, truncated, info = ours.step(action)
            assert reward == told["success"] == float(info["is_success"]), step
            assert (terminated, truncated) == (False, False)
            succeeded |= info["is_success"]
    assert succeeded or task == "peg-insert-side"  # so that both answers were compared


@pytest.mark.slow
def test_the_seed_decides_everything_and_nothing_else_does():
    used, fresh, other = MetaWorld("window-open"), MetaWorld("window-open"), None
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32)

    def episode(env, seed, disturb=None):
        rows = [env.reset(seed=seed)[0]]
        for action in actions:
            rows.append(env.step(action)[0])
            if disturb is not None:
                disturb.step(-action)
        return np.array([np.concatenate(list(row.values())) for row in rows])

    before = np.random.get_state()[1].copy()  # noqa: NPY002
    episode(used, 3)
    other = MetaWorld("window-open")
    other.reset(seed=5)
    np.testing.assert_array_equal(episode(used, 4, other), episode(fresh, 4))
    assert not np.array_equal(episode(used, 4), episode(used, 5))
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.slow
def test_unseeded_resets_differ_but_follow_from_the_first_seed():
    env, again = MetaWorld("reach"), MetaWorld("reach")
    goals = [env.reset(seed=1)[0]["desired_goal"], env.reset()[0]["desired_goal"]]
    assert not np.array_equal(*goals)
    again.reset(seed=1)
    np.testing.assert_array_equal(again.reset()[0]["desired_goal"], goals[1])


@pytest.mark.slow
@pytest.mark.parametrize("task", ["reach", "door-open", "peg-insert-side"])
def test_gymnasium_finds_nothing_wrong(task):
    env = get_task(task).make()
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == 500
    assert env.spec.id.startswith("sfp/")


@pytest.mark.parametrize("task", sorted(set(MANIPULATIONS) - {"peg-insert-side"}))
def test_rewards_can_be_computed_from_goals(task):
    env = MetaWorld(task)
    rule = MANIPULATIONS[task]
    seen, _ = env.reset(seed=0)
    goal = seen["desired_goal"]
    gap = np.zeros((5, 3))
    gap[:, rule.axis or 0] = rule.near * np.array([0.0, 0.99, -0.99, 1.01, -1.01])
    rewards = env.compute_reward(goal + gap, np.tile(goal, (5, 1)), {})
    np.testing.assert_array_equal(rewards, [1, 1, 1, 0, 0])
    assert env.compute_reward(goal, goal, {}) == 1.0
    if rule.axis is not None:  # the other axes do not matter
        far = goal + np.where(np.arange(3) == rule.axis, 0.0, 9.0)
        assert env.compute_reward(far, goal, {}) == 1.0


@pytest.mark.parametrize("task", ["reach", "window-open"])
def test_one_goal_is_judged_as_many_are(task):
    rule, rng = MANIPULATIONS[task], np.random.default_rng(0)
    goals = rng.normal(0, rule.near, (2, 2000, 3))
    goals[0, :1000] = goals[1, :1000] + rule.near * rng.choice([-1, 1], (1000, 1))
    singly = [rule.reaches(*pair) for pair in zip(*goals, strict=True)]
    np.testing.assert_array_equal(rule.reached(*goals), singly)
    assert 50 < sum(singly) < 1950


def test_reach_is_about_the_fingers():
    seen, _ = MetaWorld("reach").reset(seed=0)
    hand = seen["observation"][:3]
    gap = seen["achieved_goal"] - hand
    assert -0.06 < gap[2] < -0.03  # below the hand
    np.testing.assert_allclose(gap[:2], 0, atol=0.01)


@pytest.mark.slow
def test_hindsight_is_refused_where_goals_tell_nothing():
    env = MetaWorld("peg-insert-side")
    with pytest.raises(SfpError, match="peg's head"):
        env.compute_reward(np.zeros((2, 3)), np.zeros((2, 3)), {})
    with pytest.raises(SfpError, match=r"allows no hindsight.*Set hindsight to 0"):
        sfp.train("peg-insert-side", method="sac", hindsight=4, steps=200)


@pytest.mark.parametrize(
    "name", ["window-close", "window-close-v3", "window_close", "Window-Close-V3"]
)
def test_spellings(name):
    assert get_task(name).name == "window-close"
    assert get_task("sfp/WindowClose-v0").name == "window-close"


def test_the_nearest_name_is_offered():
    with pytest.raises(SfpError, match=r"did you mean .*window-close"):
        get_task("windowclosed")
    with pytest.raises(SfpError, match=r"did you mean .*drawer-open"):
        MetaWorld("drawer-opened")


def test_without_metaworld_the_install_line_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "metaworld.env_dict", None)
    with pytest.raises(SfpError, match=r"pip install 'state-free-priors\[metaworld\]'"):
        gym.make("sfp/Reach-v0")


def test_quaternions_are_scipys():
    turns = Rotation.random(300, rng=0).as_matrix()
    small = Rotation.from_rotvec(np.random.default_rng(1).normal(0, 1e-4, (50, 3)))
    half = Rotation.from_rotvec(np.pi * np.eye(3))
    for turn in (*turns, *small.as_matrix(), *half.as_matrix(), np.eye(3)):
        expected = Rotation.from_matrix(turn).as_quat()
        np.testing.assert_array_equal(quaternion(turn.ravel().tolist()), expected)
