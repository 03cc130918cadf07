"""Sparse, biased and inverted: on environments whose answer is known."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sfp
from sfp.envs.adapter import Environment, make_env
from sfp.envs.identity import identify
from sfp.envs.registry import suite_of
from sfp.envs.wrappers import BiasedObservation, InvertedAction, SparseDisplacement
from sfp.errors import SfpError


class Track(gym.Env):
    """A point that moves by its action; the info tells where it is."""

    observation_space = spaces.Box(-9.0, 9.0, (3,), np.float32)
    action_space = spaces.Box(
        np.array([-1.0, -2.0], np.float32), np.array([1.0, 3.0], np.float32)
    )

    def __init__(self, told=("x_position", "y_position")):
        self.told = told

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.array([1.0, 1.0])
        return self._seen()

    def step(self, action):
        self.at = self.at + action
        observation, info = self._seen()
        return observation, 7.0, False, False, info

    def _seen(self):
        seen = np.array([*self.at, 0.0], np.float32)
        return seen, dict(zip(self.told, self.at, strict=False))


def walk(env, actions):
    env.reset(seed=0)
    return [env.step(np.array(action, np.float32)) for action in actions]


@pytest.mark.parametrize(
    ("signed", "displacements"), [(False, [1.0, 0.0, 5.0]), (True, [-1.0, 0.0, 3.0])]
)
def test_the_reward_is_1_from_the_threshold_on(signed, displacements):
    env = SparseDisplacement(Track(), 1.0, signed=signed)
    _, info = env.reset(seed=0)
    assert (info["displacement"], info["is_success"]) == (0.0, False)
    steps = walk(env, [(-1, 0), (1, 0), (3, 4)])
    assert [step[4]["displacement"] for step in steps] == displacements
    rewards = [step[1] for step in steps]
    assert rewards == [float(far >= 1.0) for far in displacements]
    assert [step[4]["is_success"] for step in steps] == [r == 1.0 for r in rewards]


def test_one_coordinate_is_a_position_and_none_is_refused():
    env = SparseDisplacement(Track(("x_position",)), 0.0)
    assert env.reset(seed=0)[1]["is_success"]
    assert walk(env, [(-1, 3)])[0][4]["displacement"] == 1.0
    with pytest.raises(SfpError, match=r"^Pendulum-v1 has no position .*x_position"):
        SparseDisplacement(gym.make("Pendulum-v1"), 1.0).reset()


def test_a_maze_is_measured_in_cells_and_allows_no_hindsight():
    env = SparseDisplacement(gym.make("sfp/Corridor-v0"), 2.0)
    steps = walk(env, [(1, 0), (1, 0), (1, 0)])
    assert [step[1] for step in steps] == [0.0, 1.0, 1.0]
    assert not Environment(env).can_relabel
    with pytest.raises(SfpError, match="reward is for the displacement"):
        Environment(env).check_hindsight()


def test_a_bias_is_added_to_states_and_not_to_goals():
    plain, env = (gym.make("sfp/Maze-v0") for _ in range(2))
    env = BiasedObservation(env, 0.25)
    seen, _ = env.reset(seed=3)
    truth, _ = plain.reset(seed=3)
    assert seen["observation"].dtype == np.float32
    np.testing.assert_array_equal(seen["observation"], truth["observation"] + 0.25)
    for goal in ("achieved_goal", "desired_goal"):
        np.testing.assert_array_equal(seen[goal], truth[goal])
    assert env.observation_space["observation"].high.tolist() == [1.25, 1.25]
    assert env.observation_space.contains(seen)
    assert env.bias_norm == pytest.approx(0.25 * np.sqrt(2))
    assert Environment(env).note.endswith("are biased by 0.25, norm 0.354.")
    assert Environment(plain).note == ""


def test_inverted_actions_arrive_in_reverse_order():
    env = InvertedAction(Track())
    assert env.action_space.low.tolist() == [-2.0, -1.0]
    assert env.action_space.high.tolist() == [3.0, 1.0]
    assert walk(env, [(3, -1)])[0][0].tolist() == [0.0, 4.0, 0.0]
    with pytest.raises(SfpError, match=r"shape \(1,\): expected a vector of two"):
        InvertedAction(gym.make("Pendulum-v1"))
    with pytest.raises(SfpError, match="CartPole-v1 has Discrete actions"):
        InvertedAction(gym.make("CartPole-v1"))


@pytest.mark.parametrize("bias", [np.nan, np.inf, -np.inf])
def test_a_bias_is_a_number(bias):
    with pytest.raises(SfpError, match=r"expected bias of Pendulum-v1 as a number"):
        BiasedObservation(gym.make("Pendulum-v1"), bias)


def test_every_task_of_ours_can_be_biased_and_inverted():
    env = make_env("maze:bias=0.5,inverted=true")
    plain = make_env("maze")
    seen, _ = env.reset(seed=0)
    truth, _ = plain.reset(seed=0)
    np.testing.assert_array_equal(seen["observation"], truth["observation"] + 0.5)
    seen, truth = env.step(np.array([0.4, 0.0]))[0], plain.step(np.array([0, 0.4]))[0]
    np.testing.assert_array_equal(seen["observation"], truth["observation"] + 0.5)
    assert suite_of(env) == "point-maze"
    again = gym.make(env.spec)
    assert again.get_wrapper_attr("bias") == 0.5
    assert identify(env) != identify(plain)
    assert sfp.envs.get_task("maze:inverted=true,bias=0.5").name == (
        "maze:bias=0.5,inverted=true"
    )
