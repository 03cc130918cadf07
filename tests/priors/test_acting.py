"""A prior that acts in NumPy draws what JAX would."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sfp
from probes import linear_prior
from sfp.priors.acting import numpy_inverse
from sfp.priors.base import CLAMP
from sfp.priors.realnvp import FlowSize, RealNVP

SMALL = FlowSize(layers=3, width=8)
SHARED = FlowSize(layers=2, width=8, encoder="shared", normalise=False)


def settled(dims, context, size):
    """A flow with statistics and gains that are not those of its beginning."""
    key = jax.random.key(dims)
    flow = RealNVP(dims, context, key=key, size=size)
    leaves, tree = jax.tree.flatten(flow)
    keys = jax.random.split(key, len(leaves))
    moved = [
        x + 0.2 * jax.random.normal(k, x.shape)
        for x, k in zip(leaves, keys, strict=True)
    ]
    flow = jax.tree.unflatten(tree, moved)
    if not flow.norms:
        return flow
    positive = jnp.abs(flow.variances) + 0.1
    return jax.tree.unflatten(
        tree, [positive if x is flow.variances else x for x in moved]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("dims", "size"), [(1, SMALL), (3, SMALL), (3, SHARED)])
def test_the_inverse_is_that_of_the_flow(dims, size):
    flow = settled(dims, 5, size)
    rng = np.random.default_rng(0)
    inverse = numpy_inverse(flow)
    slow = jax.jit(lambda noise, context: flow.inverse(noise, context))
    for _ in range(3):
        noise, context = rng.standard_normal(dims), rng.uniform(-1, 1, 5)
        noise, context = noise.astype(np.float32), context.astype(np.float32)
        made = inverse(noise, context)
        expected = slow(noise, context)
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)
        assert made.dtype == np.float32


@pytest.mark.slow
def test_actions_have_the_distribution_of_the_prior():
    prior = sfp.load_prior("room")
    sample, context = prior.sampler(seed=1), np.asarray(prior.seeds[3])
    ours = np.array([sample(context) for _ in range(4000)])
    keys = jax.random.split(jax.random.key(0), 4000)
    drawn = jax.jit(jax.vmap(prior.sample, in_axes=(0, None)))(keys, context.ravel())
    theirs = np.asarray(drawn)
    np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.03)
    assert np.abs(ours).max() <= CLAMP
    again = prior.sampler(seed=1)
    np.testing.assert_array_equal(again(context), ours[0])


@pytest.mark.slow
def test_an_episode_and_other_models():
    low, high = np.array([-2.0, 0.0], np.float32), np.array([2.0, 4.0], np.float32)
    prior = linear_prior(0.5, deviation=0.1, k=2, dims=2, low=low, high=high)
    sample = prior.sampler()
    history = sample.begin()
    assert history.shape == (2, 2)
    action = sample(history)
    assert ((low <= action) & (action <= high)).all()
    later = sample.push(history, action)
    np.testing.assert_array_equal(later, [history[1], action])
    np.testing.assert_array_equal(sample.push(history.ravel(), action), later)
    with pytest.raises(sfp.SfpError, match=r"expected 2 past actions of 2 numbers"):
        sample(history[0])


def test_what_it_is_called_for():
    with pytest.raises(sfp.SfpError, match="seed of at least 0"):
        linear_prior().sampler(seed=-1)
