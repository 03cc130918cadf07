"""The warp is the flow's inverse, on the central part of its noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.realnvp import FlowSize, RealNVP
from sfp.priors.store import load_prior, make_card, save_prior
from sfp.priors.warp import latent, reach, warp

pytestmark = pytest.mark.slow


def make(state=2):
    flow = RealNVP(2, state, key=jax.random.key(0), size=FlowSize(3, 8))
    low, high = jnp.array([-1.0, 0.0]), jnp.array([3.0, 1.0])
    frame = Frame(low, high, jnp.zeros(state), jnp.full(state, 2.0))
    return Prior(flow, frame, jnp.zeros((4, 0, 2)), Conditioning(0, state=True))


def test_uniform_becomes_the_central_ninety_percent_of_normal_noise():
    u = np.linspace(-1, 1, 11)
    np.testing.assert_allclose(
        latent(jnp.asarray(u)), stats.norm.ppf(0.5 + 0.45 * u), atol=1e-5
    )
    assert float(latent(jnp.array([1.0]))[0]) == pytest.approx(1.645, abs=1e-3)


def test_the_flow_takes_a_warped_action_back_to_its_noise():
    prior = make()
    context = jnp.array([0.3, -0.7])
    for seed in range(20):
        u = jax.random.uniform(jax.random.key(seed), (2,), minval=-1)
        action = warp(prior, u, context)
        scaled = (action - jnp.array([1.0, 0.5])) / jnp.array([2.0, 0.5])
        if float(jnp.abs(scaled).max()) >= 0.99:
            continue
        z, _ = prior.model.forward(scaled, context / 2.0)
        np.testing.assert_allclose(z, latent(u), atol=1e-3)
        needed = reach(prior, np.asarray(action)[None], np.asarray(context)[None])[0]
        assert needed == pytest.approx(float(jnp.abs(u).max()), abs=2e-3)


def test_the_share_that_can_be_reached():
    """Of the flow's own samples, 0.9 per dimension: the central part of the noise."""
    prior = make()
    keys = jax.random.split(jax.random.key(1), 4000)
    context = jnp.array([0.3, -0.7])
    scaled = jax.vmap(prior.model.sample, (0, None))(keys, context / 2.0)
    actions = np.asarray(jnp.array([1.0, 0.5]) + jnp.array([2.0, 0.5]) * scaled)
    needed = reach(prior, actions, np.tile(context, (4000, 1)))
    beyond = (np.abs(scaled) > 0.99).any(axis=1)
    np.testing.assert_array_equal(np.isinf(needed), beyond)
    z = jax.vmap(prior.model.forward, (0, None))(scaled, context / 2.0)[0]
    central = (np.abs(z) < 1.6448).all(axis=1)
    assert central.mean() == pytest.approx(0.81, abs=4 * np.sqrt(0.81 * 0.19 / 4000))
    assert ((needed <= 1.0) == (central & ~beyond)).mean() > 0.999


@pytest.mark.parametrize("name", ["realnvp", "parrot", "vae", "gaussian"])
def test_a_prior_knows_its_own_model(name, tmp_path):
    from sfp.priors.models import MODELS

    model = MODELS[name].build(2, 5, key=jax.random.key(0))
    ones = jnp.ones(2)
    frame = Frame(-ones, ones, jnp.zeros(3), jnp.ones(3))
    prior = Prior(model, frame, jnp.zeros((4, 1, 2)), Conditioning(1, state=True))
    card = make_card(prior)
    assert card.model == name
    save_prior(tmp_path / "prior", prior, card)
    kept = load_prior(tmp_path / "prior")
    for a, b in zip(jax.tree.leaves(prior), jax.tree.leaves(kept), strict=True):
        np.testing.assert_array_equal(a, b)
