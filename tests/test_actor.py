"""A prior beside somebody else's learner: memories, noises, and what is refused."""

import gymnasium as gym
import numpy as np
import pytest

import sfp
from probes import linear_prior

BOX = gym.spaces.Box(np.float32([-1, 0]), np.float32([1, 4]))


@pytest.mark.slow
def test_each_environment_remembers_what_was_executed_in_it():
    prior = linear_prior(gain=0.1, k=1, dims=1)
    actor = sfp.PriorActor(prior, gym.spaces.Box(-1, 1, (1,), np.float32), envs=2)
    actor.remember([[0.5], [-0.5]])
    np.testing.assert_allclose(actor.propose(), [[0.05], [-0.05]], atol=1e-6)
    np.testing.assert_allclose(actor.propose([False, True]), [[0], [-0.05]], atol=1e-6)
    actor.reset([True, False])
    first, second = actor.propose()
    assert first != 0.05
    np.testing.assert_allclose(second, -0.05, atol=1e-6)


def test_a_noise_acts_within_the_bounds():
    actor = sfp.PriorActor("uniform", BOX, envs=200)
    drawn = actor.propose()
    assert (drawn >= BOX.low).all()
    assert (drawn <= BOX.high).all()
    np.testing.assert_allclose(drawn.mean(axis=0), [0, 2], atol=0.4)


@pytest.mark.parametrize(
    ("prior", "space", "words"),
    [
        (linear_prior(dims=2), BOX, r"is for actions within \[-1, 1\] x \[-1, 1\]"),
        ("room", gym.spaces.Discrete(3), "expected a Box action space"),
        ("pink", gym.spaces.Box(-np.inf, np.inf, (2,)), "finite bounds"),
        (linear_prior(state=1, dims=2, high=[1, 4], low=[-1, 0]), BOX, "state-free"),
    ],
)
def test_one_line_for_what_cannot_act(prior, space, words):
    with pytest.raises(sfp.SfpError, match=words):
        sfp.PriorActor(prior, space)
