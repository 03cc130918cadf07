"""The mixture density network: its kernel, its two samplers, its temperature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from sfp.errors import SfpError
from sfp.priors.base import CLAMP, Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.gaussian import Gaussian
from sfp.priors.kernel import log_box
from sfp.priors.mixture import Mixture
from sfp.priors.realnvp import FlowSize, RealNVP
from sfp.priors.sampler import Sampler

pytestmark = pytest.mark.slow


def build(dims=2, context=2, **sizes):
    """Away from its initial weights, as if it had learned something."""
    sizes = {"width": 16, "products": 3, "kernels": 2} | sizes
    model = Mixture(dims, context, key=jax.random.key(0), **sizes)
    leaves, structure = jax.tree.flatten(model)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    moved = [
        leaf + 0.3 * jax.random.normal(key, leaf.shape) / max(1, leaf.shape[0]) ** 0.5
        if leaf.ndim
        else leaf
        for leaf, key in zip(leaves, keys, strict=True)
    ]
    return jax.tree.unflatten(structure, moved)


@pytest.mark.parametrize("edge", [0.15, np.pi, 70.0])
def test_the_kernel_is_the_density_of_a_uniform_plus_a_logistic_number(edge):
    points = np.linspace(-edge - 20, edge + 20, 41)
    ours = np.exp(np.asarray(log_box(jnp.asarray(points), jnp.asarray(edge))))
    definition = stats.logistic.cdf(points + edge) - stats.logistic.cdf(points - edge)
    np.testing.assert_allclose(ours, definition / (2 * edge), rtol=2e-4, atol=1e-9)
    grid = np.linspace(-edge - 40, edge + 40, 20_001)
    density = np.exp(np.asarray(log_box(jnp.asarray(grid), jnp.asarray(edge))))
    total = np.trapezoid(density.astype(float), grid)
    assert total == pytest.approx(1.0, abs=1e-3)


def test_the_kernel_and_its_slope_are_finite_far_away():
    for z in (0.0, 1e-20, 90.0, 1e4, -1e4):
        value, slope = jax.value_and_grad(log_box)(jnp.asarray(z), jnp.asarray(73.0))
        assert np.isfinite(value)
        assert np.isfinite(slope)


def test_with_an_edge_of_pi_the_kernel_is_nearly_gaussian():
    deviation = np.sqrt(2 * np.pi**2 / 3)
    points = np.linspace(-3, 3, 31) * deviation
    ours = np.exp(np.asarray(log_box(jnp.asarray(points), jnp.asarray(np.pi))))
    normal = stats.norm.pdf(points, scale=deviation)
    assert np.abs(ours - normal).max() < 0.07 * normal.max()


@pytest.mark.parametrize(("dims", "context"), [(1, 0), (4, 3)])
def test_the_loss_and_its_gradient_equal_the_vmapped_definition(dims, context):
    model = build(dims, context)
    actions = jax.random.uniform(jax.random.key(1), (50, dims), minval=-1)
    contexts = jax.random.uniform(jax.random.key(2), (50, context), minval=-1)

    def definition(model):
        return -jax.vmap(model.log_prob)(actions, contexts).mean()

    def loss(model):
        return model.loss(jax.random.key(0), actions, contexts)

    for one, other in zip(
        jax.tree.leaves(jax.jit(jax.value_and_grad(definition))(model)),
        jax.tree.leaves(jax.jit(jax.value_and_grad(loss))(model)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dims", [1, 4])
def test_numpy_draws_what_jax_draws(dims):
    model = build(dims, 3).temper(0.7)
    rng = np.random.default_rng(0)
    uniform = rng.random((200, model.numbers)).astype(np.float32)
    uniform[0], uniform[1] = 0.0, np.nextafter(np.float32(1), np.float32(0))
    contexts = rng.uniform(-1, 1, (200, 3)).astype(np.float32)
    theirs = np.asarray(jax.jit(jax.vmap(model.draw))(uniform, contexts))
    draw = model.in_numpy()
    ours = np.array([draw(u, c) for u, c in zip(uniform, contexts, strict=True)])
    assert np.isfinite(ours).all()
    # where a number falls on the edge between two choices, rounding decides
    same = np.isclose(ours, theirs, rtol=1e-3, atol=1e-4).all(axis=1)
    assert same.mean() > 0.98


def prior_of(model, dims=2, low=1.0, high=5.0, state=2):
    """Sees one action and a state, in units that are not the model's."""
    bounds = jnp.full(dims, low), jnp.full(dims, high)
    frame = Frame(*bounds, jnp.full(state, 3.0), jnp.full(state, 2.0))
    seeds = jnp.full((8, 1, dims), low)
    return Prior(model, frame, seeds, Conditioning(1, state=state > 0))


def test_a_sampler_in_numpy_follows_the_prior():
    """Units, states and bounds are the prior's, whatever computes the sample."""
    prior = prior_of(build(2, 4))
    rng, sampler = np.random.default_rng(0), Sampler(prior)
    history, state = np.float32([[2.0, 4.0]]), np.float32([1.0, 6.0, 99.0])
    ours = np.array([sampler(rng, history, state) for _ in range(2000)])
    keys = jax.random.split(jax.random.key(0), 2000)
    context = prior.context(history, state)
    theirs = jax.jit(jax.vmap(prior.sample, in_axes=(0, None)))(keys, context)
    theirs = np.asarray(theirs)
    assert ours.dtype == np.float32
    assert np.abs((ours - 3) / 2).max() <= CLAMP + 1e-6
    for i in (0, 1):
        assert stats.ks_2samp(ours[:, i], theirs[:, i]).pvalue > 1e-3


def test_the_same_generator_gives_the_same_action():
    sampler = Sampler(prior_of(build(2, 2), state=0))
    one, two = (
        sampler(np.random.default_rng(5), np.ones((1, 2), np.float32), np.zeros(3))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)


@jax.jit
def log_probs(prior, grid, context):
    return jax.vmap(prior.log_prob, in_axes=(0, None))(grid, context)


@pytest.mark.parametrize("kind", ["mixture", "realnvp"])
def test_temperature_sharpens_and_broadens_and_leaves_a_density(kind):
    if kind == "mixture":
        model, far = build(2, 2), 2.5
    else:
        model, far = RealNVP(2, 2, key=jax.random.key(0), size=FlowSize(2, 8)), 8.0
    prior = prior_of(model, low=-1.0, high=1.0, state=0)
    context = jnp.array([0.3, -0.2])
    axis = jnp.linspace(-far, far, 201)
    grid = jnp.stack(jnp.meshgrid(axis, axis), -1).reshape(-1, 2)
    entropies = []
    for temperature in (0.5, 1.0, 2.0):
        changed = prior.tempered(temperature)
        log_prob = log_probs(changed, grid, context)
        density = np.exp(np.asarray(log_prob, np.float64)) * (far / 100) ** 2
        assert density.sum() == pytest.approx(1.0, abs=0.03)
        entropies.append(-(density * np.asarray(log_prob)).sum())
    assert entropies[0] < entropies[1] < entropies[2]
    once = prior.tempered(0.5).tempered(2.0)
    for a, b in zip(jax.tree.leaves(once), jax.tree.leaves(prior), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_is_above_0(temperature):
    with pytest.raises(SfpError, match="expected a temperature above 0"):
        prior_of(build(2, 2), state=0).tempered(temperature)


def test_not_every_model_has_a_temperature():
    prior = prior_of(Gaussian(2, 2, key=jax.random.key(0)), state=0)
    with pytest.raises(SfpError, match="a Gaussian has no temperature"):
        prior.tempered(0.5)
