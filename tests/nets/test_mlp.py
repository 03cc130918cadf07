from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.nets.mlp import MLP


@pytest.mark.slow
def test_equals_the_formula():
    mlp = MLP([3, 5, 2], key=jax.random.key(0))
    x = jnp.array([0.3, -1.0, 2.0])
    hidden = np.maximum(np.asarray(x @ mlp.weights[0] + mlp.biases[0]), 0.0)
    expected = hidden @ np.asarray(mlp.weights[1]) + np.asarray(mlp.biases[1])
    np.testing.assert_allclose(mlp(x), expected, rtol=1e-5)


@pytest.mark.slow
def test_every_leaf_is_an_array_so_that_plain_jit_takes_it():
    mlp = MLP([3, 8, 8, 2], key=jax.random.key(0))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(mlp))
    assert jax.jit(lambda m, x: m(x))(mlp, jnp.ones(3)).shape == (2,)


@pytest.mark.slow
@pytest.mark.parametrize("inputs", [1, 16, 400])
def test_initial_weights_are_uniform_within_the_root_of_the_inputs(inputs):
    mlp = MLP([inputs, 1000], key=jax.random.key(1))
    bound = inputs**-0.5
    for values in (mlp.weights[0], mlp.biases[0]):
        assert abs(float(jnp.abs(values).max()) - bound) < 0.01 * bound
        assert float(values.std()) == pytest.approx(bound / 3**0.5, rel=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(3, 2), (0, 3, 2)])
def test_weights_are_what_jax_draws_layer_by_layer(sizes):
    """As folders of earlier versions have them (see test_threefry.py for the bits)."""
    mlp, keys = MLP(sizes, key=jax.random.key(7)), jax.random.key(7)
    keys = jax.random.split(keys, len(sizes) - 1)
    for i, (key, shape) in enumerate(zip(keys, pairwise(sizes), strict=True)):
        bound = 1.0 / max(1, shape[0]) ** 0.5
        drawn = (mlp.weights[i], shape), (mlp.biases[i], shape[1:])
        for own, (values, shape) in zip(jax.random.split(key), drawn, strict=True):
            alone = jax.random.uniform(own, shape, minval=-bound, maxval=bound)
            np.testing.assert_allclose(values, alone, rtol=0, atol=2**-24)


@pytest.mark.slow
def test_nothing_to_look_at_is_allowed():
    mlp = MLP([0, 4, 2], key=jax.random.key(0))
    assert mlp(jnp.zeros(0)).shape == (2,)


@pytest.mark.slow
@pytest.mark.parametrize("context", [0, 2, 9])
@pytest.mark.parametrize("own", [0, 1, 5])
def test_a_batch_in_columns_equals_the_vmapped_one_and_so_do_its_gradients(
    context, own
):
    encoder = MLP([context, 6, 7, 8], key=jax.random.key(0))
    net = MLP([own + 8, 5, 4, 3], key=jax.random.key(3))
    x = jax.random.normal(jax.random.key(1), (10, context))
    y = jax.random.normal(jax.random.key(4), (10, own))
    weight = jax.random.normal(jax.random.key(2), (10, 3))

    def rows(encoder, net, x, y):
        out = jax.vmap(lambda x, y: net(jnp.concatenate([y, encoder(x)])))(x, y)
        return (weight * out**2).sum()

    def columns(encoder, net, x, y):
        out = net.columns_behind(encoder, encoder.hidden_columns(x.T), y.T).T
        return (weight * out**2).sum()

    ours, theirs = (
        jax.jit(jax.value_and_grad(way, (0, 1, 2, 3)))(encoder, net, x, y)
        for way in (rows, columns)
    )
    for one, other in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
