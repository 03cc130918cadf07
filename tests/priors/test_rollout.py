import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.errors import SfpError
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.rollout import rollout

pytestmark = pytest.mark.slow


class Echo:
    """A model whose next action tells its context: their sum plus one hundredth."""

    def sample(self, key, context):
        return context.reshape(-1, 2).sum(axis=0) + 0.01

    def log_prob(self, action, context):
        return jnp.zeros(())


jax.tree_util.register_static(Echo)


def echo(k):
    frame = Frame(-jnp.ones(2), jnp.ones(2), jnp.zeros(0), jnp.zeros(0))
    seeds = jnp.arange(3 * k * 2, dtype=jnp.float32).reshape(3, k, 2) / 100
    return Prior(Echo(), frame, seeds, Conditioning(k))


def test_history_is_oldest_first_and_moves_by_one():
    for numpy in (np, jnp):
        history = numpy.array([[1.0, 1], [2, 2], [3, 3]])
        moved = Conditioning(3).push(history, numpy.array([4.0, 4]))
        np.testing.assert_array_equal(moved, [[2, 2], [3, 3], [4, 4]])
        empty = numpy.zeros((0, 2))
        assert Conditioning(0).push(empty, numpy.array([1.0, 1])).shape == (0, 2)


def test_every_action_follows_from_the_last_k():
    for k in (0, 1, 2, 3):
        actions = np.asarray(rollout(echo(k), jax.random.key(0), count=4, steps=6))
        for sequence in actions:
            for t in range(k, 6):
                expected = sequence[t - k : t].sum(axis=0) + 0.01
                np.testing.assert_allclose(
                    sequence[t], np.clip(expected, -0.99, 0.99), atol=1e-5
                )


def test_a_context_of_another_length_is_refused():
    with pytest.raises(SfpError, match="4 numbers; received a context of 2"):
        echo(2).sample(jax.random.key(0), np.zeros(2))


def test_first_actions_follow_from_a_seed():
    prior = echo(2)
    actions = np.asarray(rollout(prior, jax.random.key(0), count=30, steps=1))
    starts = np.asarray(prior.seeds).sum(axis=1) + 0.01
    found = {tuple(np.round(a[0], 4)) for a in actions}
    assert found == {tuple(np.round(s, 4)) for s in starts}
