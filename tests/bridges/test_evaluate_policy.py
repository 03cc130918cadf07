"""Stable-Baselines3's `evaluate_policy` takes our policies as they are."""

import gymnasium as gym
import numpy as np
import pytest

import sfp
from sfp.envs.adapter import Environment
from sfp.training.evaluate import FIRST_SEED, evaluate

evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
pytestmark = pytest.mark.slow
SMALL = dict(steps=200, warmup=50, update_after=50, batch=8, width=8)
SMALL |= dict(eval_every=200, eval_episodes=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["MountainCarContinuous-v0", "sfp/Room-v0"])
def test_returns_are_those_of_our_evaluation(task):
    policy = sfp.train(task, method="sac", **SMALL)
    env = gym.make(task)
    env.reset(seed=FIRST_SEED)
    ours = Environment(gym.make(task), task)
    row, _ = evaluate(ours, policy.controller, 1)
    vector = evaluation.DummyVecEnv([lambda: env])
    vector.seed(FIRST_SEED)
    returns, lengths = evaluation.evaluate_policy(
        policy.as_sb3(), vector, n_eval_episodes=1, return_episode_rewards=True
    )
    np.testing.assert_allclose(returns[0], row["eval/mean_reward"], rtol=1e-4)
    assert lengths[0] == row["eval/mean_length"]
