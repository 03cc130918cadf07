"""Environments of other packages: their ids work as they are."""

import numpy as np
import pytest

import sfp
from sfp.envs.adapter import Environment, make_env

pytest.importorskip("gymnasium_robotics")  # here, so that every test has its ids
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
SMALL = dict(steps=200, warmup=50, update_after=50, batch=8, width=8)
SMALL |= dict(eval_every=100, eval_episodes=1, log_every=100)


@pytest.mark.parametrize("name", ["FetchReach-v4", "PointMaze_UMaze-v3"])
def test_goals_success_and_hindsight(name):
    environment = Environment(make_env(name), name)
    environment.check_hindsight()
    assert environment.check_seed()
    outcome = environment.step(np.zeros(environment.spec.action))
    assert outcome.success in (True, False)
    policy = sfp.train(name, method="sac", hindsight=4.0, **SMALL)
    assert policy.evaluations[-1]["eval/success_rate"] is not None


def test_dm_control_through_shimmy():
    pytest.importorskip("shimmy")
    name = "dm_control/cheetah-run-v0"
    (uniform,) = sfp.explore(name, ["uniform"], trajectories=2, steps=10, repetitions=1)
    assert np.isfinite(uniform.paths).all()
    policy = sfp.train(name, method="sac", **SMALL)
    env = make_env(name)
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(policy.predict(observation))


def test_exploration_before_training():
    (uniform,) = sfp.explore("FetchReach-v4", ["uniform"], trajectories=2, steps=10)
    assert uniform.paths.shape == (20, 11, 3)
