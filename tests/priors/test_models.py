"""Every model: is its density one, and do its samples follow it?"""

from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
import pytest
from flowjax.bijections import Affine, Chain, Coupling, Flip, Invert
from flowjax.distributions import StandardNormal, Transformed

from sfp.priors.models import MODELS, get_model
from sfp.priors.realnvp import LOG_SCALE, PARROT, FlowSize, RealNVP
from sfp.priors.vae import VAE

pytestmark = pytest.mark.slow

CONTEXT = jnp.array([0.3, -0.6])
DENSITIES = [name for name in MODELS if name != "deterministic"]
FLOWS = ["realnvp", "parrot"]


def shaken(model, key=1, scale=0.2):
    """A model away from its initial weights, as if it had learned something."""
    rng = np.random.default_rng(key)

    def moved(leaf):
        noise = scale * rng.standard_normal(leaf.shape) / leaf.shape[0] ** 0.5
        return jnp.asarray(np.asarray(leaf) + noise, leaf.dtype)

    return jax.tree.map(lambda leaf: moved(leaf) if leaf.ndim else leaf, model)


SMALL = {
    "realnvp": lambda *a, **k: RealNVP(*a, **k, size=FlowSize(4, 24)),
    "parrot": lambda *a, **k: RealNVP(*a, **k, size=replace(PARROT, width=24)),
    "vae": lambda *a, **k: VAE(*a, **k, width=24, count=512),
}


@cache
def build(name, dims=2, context=2):
    """The structure of the real one, less wide where that saves time."""
    make = SMALL.get(name, get_model(name).build)
    model = make(dims, context, key=jax.random.key(0))
    if name == "lscde":
        rng = np.random.default_rng(0)
        c = rng.uniform(-1, 1, (300, context)).astype(np.float32)
        a = 0.5 * np.resize(c, (300, dims)) + 0.1 * rng.standard_normal((300, dims))
        return model.solve(a.astype(np.float32), c, rng)
    model = shaken(model)
    if name in FLOWS:  # variances must stay positive
        model = eqx.tree_at(
            lambda m: m.variances, model, 0.3 + jnp.abs(model.variances)
        )
    return model


def draw(model, keys):
    return jax.jit(jax.vmap(model.sample, in_axes=(0, None)))(keys, CONTEXT)


@pytest.mark.parametrize("name", DENSITIES)
def test_density_integrates_to_one(name):
    model = build(name)
    keys = jax.random.split(jax.random.key(3), 10_000)
    samples = draw(model, keys)
    low, high = samples.min(axis=0) - 0.3, samples.max(axis=0) + 0.3
    if name == "gaussian":  # behind a tanh all mass is inside
        low, high = jnp.full(2, -1 + 1e-3), jnp.full(2, 1 - 1e-3)
    count = 401
    axes = [jnp.linspace(low[i], high[i], count) for i in (0, 1)]
    grid = jnp.stack(jnp.meshgrid(*axes), -1).reshape(-1, 2)
    log_prob = jax.jit(jax.vmap(model.log_prob, in_axes=(0, None)))
    density = np.exp(np.asarray(log_prob(grid, CONTEXT), np.float64))
    density = density.reshape(count, count)
    cell = float(jnp.prod(high - low)) / (count - 1) ** 2
    trapezium = np.ones(count)
    trapezium[[0, -1]] = 0.5
    total = (density * trapezium * trapezium[:, None]).sum() * cell
    assert total == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("name", DENSITIES)
def test_samples_agree_with_the_density(name):
    """The share of samples in boxes equals the integral of the density over them."""
    model = build(name)
    keys = jax.random.split(jax.random.key(3), 40_000)
    samples = np.asarray(draw(model, keys))
    log_prob = jax.jit(jax.vmap(model.log_prob, in_axes=(0, None)))
    quantiles = np.quantile(samples, [0.1, 0.35, 0.6, 0.9], axis=0)
    for lo, hi in ((0, 1), (1, 2), (2, 3)):
        low, high = quantiles[lo], quantiles[hi]
        axes = [np.linspace(low[i], high[i], 101) for i in (0, 1)]
        grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2).astype(np.float32)
        density = np.exp(log_prob(grid, CONTEXT))
        integral = float(density.mean()) * float(np.prod(high - low))
        share = ((samples >= low) & (samples <= high)).all(axis=1).mean()
        error = 5 * np.sqrt(share / 40_000) + (0.02 if name == "vae" else 0.003)
        assert integral == pytest.approx(share, abs=error)


@pytest.mark.parametrize("dims", [1, 2, 7])
@pytest.mark.parametrize("name", FLOWS)
def test_flow_round_trip_and_log_det(name, dims):
    flow = build(name, dims=dims)

    @jax.jit
    def there_and_back(noise):
        action = flow.inverse(noise, CONTEXT)
        jacobian = jax.jacobian(lambda a: flow.forward(a, CONTEXT)[0])(action)
        return *flow.forward(action, CONTEXT), jacobian

    for seed in range(5):
        noise = jax.random.normal(jax.random.key(seed), (dims,))
        again, log_det, jacobian = there_and_back(noise)
        np.testing.assert_allclose(again, noise, atol=2e-4)
        _, expected = np.linalg.slogdet(np.asarray(jacobian, np.float64))
        assert float(log_det) == pytest.approx(expected, abs=2e-3)


def test_every_dimension_depends_on_every_other_and_on_the_context():
    flow = build("realnvp", dims=4)
    action = jnp.array([0.1, -0.2, 0.3, 0.4])
    forward = jax.jit(jax.jacobian(lambda a, c: flow.forward(a, c)[0], (0, 1)))
    jacobian, by_context = forward(action, CONTEXT)
    assert (np.abs(jacobian) > 1e-7).all()
    assert (np.abs(by_context) > 1e-7).all()


def test_the_paper_structure_has_the_paper_size():
    flow = get_model("realnvp").build(2, 2, key=jax.random.key(0))
    assert len(flow.couplings) == len(flow.norms) == len(flow.encoders) == 6
    shapes = [w.shape for w in flow.encoders[0].weights]
    assert shapes == [(2, 128), (128, 128), (128, 128)]
    shapes = [w.shape for w in flow.couplings[0].net.weights]
    assert shapes == [(129, 128), (128, 128), (128, 2)]
    parrot = get_model("parrot").build(2, 4, key=jax.random.key(0))
    assert (len(parrot.couplings), len(parrot.norms), len(parrot.encoders)) == (4, 0, 1)
    assert [w.shape for w in parrot.encoders[0].weights] == [(4, 256)] + [
        (256, 256)
    ] * 2


def test_log_scale_is_bounded_far_from_the_data():
    flow = shaken(get_model("realnvp").build(2, 2, key=jax.random.key(0)), scale=30.0)
    flow = eqx.tree_at(lambda m: m.variances, flow, jnp.ones_like(flow.variances))
    axis = jnp.linspace(-3, 3, 61)
    grid = jnp.stack(jnp.meshgrid(axis, axis), -1).reshape(-1, 2)
    features = jnp.ones((len(grid), 128))
    coupling = flow.couplings[0]
    _, log_det = jax.jit(jax.vmap(coupling.forward))(grid, features)
    assert float(jnp.abs(log_det).max()) <= LOG_SCALE
    normal = build("realnvp")
    values = jax.jit(jax.vmap(normal.log_prob, in_axes=(0, None)))(grid, CONTEXT)
    assert np.isfinite(values).all()


def as_flowjax(flow, context, dims):
    """The same flow, assembled from another library's parts."""
    features = flow._features(context)
    layers = []
    for i, ours in enumerate(flow.couplings):
        theirs = Coupling(
            jax.random.key(0),
            transformer=Affine(),
            untransformed_dim=ours.kept,
            dim=dims,
            nn_width=4,
            nn_depth=1,
        )

        def conditioner(kept, ours=ours, features=features[i]):
            out = ours.net(jnp.concatenate([kept, features]))
            log_scale, shift = jnp.split(out, 2)
            log_scale = LOG_SCALE * jnp.tanh(log_scale / LOG_SCALE)
            scale = jnp.exp(-log_scale)
            # flowjax keeps scales as softplus, and parameters relative to scale 1.
            raw = jnp.log(jnp.expm1(scale)) - jnp.log(jnp.expm1(1.0))
            return jnp.stack([-shift * scale, raw], axis=1).ravel()

        theirs = eqx.tree_at(lambda c: c.conditioner, theirs, conditioner)
        layers += [Flip((dims,)), theirs, Flip((dims,))] if ours.flip else [theirs]
        norm = flow.norms[i]
        gain = jnp.exp(norm.log_gain) / jnp.sqrt(flow.variances[i] + 1e-5)
        layers.append(Affine(norm.offset - flow.means[i] * gain, gain))
    chain = paramax.unwrap(Chain(layers))
    return Transformed(StandardNormal((dims,)), Invert(chain))


@pytest.mark.parametrize("dims", [2, 3])
def test_flowjax_assembled_from_its_own_parts_gives_the_same_density(dims):
    flow = build("realnvp", dims=dims)
    oracle = as_flowjax(flow, CONTEXT, dims)
    points = jax.random.uniform(jax.random.key(5), (50, dims), minval=-1.2, maxval=1.2)
    ours = jax.jit(jax.vmap(flow.log_prob, in_axes=(0, None)))(points, CONTEXT)
    theirs = jax.jit(lambda points: oracle.log_prob(points))(points)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-3)


def test_settled_statistics_are_those_of_the_batch():
    """With settled statistics, evaluation equals training on the same samples."""
    flow = shaken(RealNVP(2, 2, key=jax.random.key(0), size=FlowSize(3, 16)))
    actions = jax.random.uniform(jax.random.key(1), (500, 2), minval=-1)
    contexts = jax.random.uniform(jax.random.key(2), (500, 2), minval=-1)
    loss = eqx.filter_jit(flow.loss)(jax.random.key(0), actions, contexts)
    settled = eqx.filter_jit(flow.settle)(actions, contexts)

    @jax.jit
    def evaluate(flow):
        return -jax.vmap(flow.log_prob)(actions, contexts).mean()

    evaluated, before = evaluate(settled), evaluate(flow)
    assert float(evaluated) == pytest.approx(float(loss), abs=1e-4)
    assert abs(float(before) - float(loss)) > 0.01


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("dims", [1, 3])
def test_the_loss_and_its_gradient_equal_the_vmapped_definition(name, dims):
    flow = build(name, dims=dims)
    actions = jax.random.uniform(jax.random.key(1), (300, dims), minval=-1)
    contexts = jax.random.uniform(jax.random.key(2), (300, 2), minval=-1)

    def definition(flow):
        x, features = actions, jax.vmap(flow._features)(contexts)
        total = jnp.zeros(len(x))
        for i, coupling in enumerate(flow.couplings):
            x, log_det = jax.vmap(coupling.forward)(x, features[i])
            total += log_det
            if flow.norms:
                x, log_det = flow.norms[i].forward(x, x.mean(axis=0), x.var(axis=0))
                total += log_det
        return -(total - 0.5 * (x * x + jnp.log(2 * jnp.pi)).sum(axis=1)).mean()

    def loss(flow):
        return flow.loss(jax.random.key(0), actions, contexts)

    for one, other in zip(
        jax.tree.leaves(jax.jit(jax.value_and_grad(definition))(flow)),
        jax.tree.leaves(jax.jit(jax.value_and_grad(loss))(flow)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_vae_lower_bound_is_below_its_log_likelihood():
    vae = build("vae")
    action = jnp.array([0.2, 0.1])
    keys = jax.random.split(jax.random.key(0), 4000)
    bounds = jax.vmap(vae.lower_bound, in_axes=(0, None, None))(keys, action, CONTEXT)
    assert float(bounds.mean()) < float(vae.log_prob(action, CONTEXT)) + 0.05


def test_deterministic_has_no_density_and_one_sample():
    model = build("deterministic")
    one, two = (model.sample(jax.random.key(s), CONTEXT) for s in (0, 1))
    np.testing.assert_array_equal(one, two)
    assert np.isnan(model.log_prob(one, CONTEXT))


def test_gaussian_stays_inside_and_has_no_mass_outside():
    model = build("gaussian")
    keys = jax.random.split(jax.random.key(0), 1000)
    samples = jax.vmap(model.sample, in_axes=(0, None))(keys, CONTEXT)
    assert float(jnp.abs(samples).max()) <= 1.0
    assert np.isfinite(model.log_prob(jnp.full(2, 0.9999), CONTEXT))
    for outside in (-1.0, 1.0, 1.5):
        assert model.log_prob(jnp.array([0.0, outside]), CONTEXT) == -np.inf
