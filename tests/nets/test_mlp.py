import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.nets.mlp import MLP


def test_equals_the_formula():
    mlp = MLP([3, 5, 2], key=jax.random.key(0))
    x = jnp.array([0.3, -1.0, 2.0])
    hidden = np.maximum(np.asarray(x @ mlp.weights[0] + mlp.biases[0]), 0.0)
    expected = hidden @ np.asarray(mlp.weights[1]) + np.asarray(mlp.biases[1])
    np.testing.assert_allclose(mlp(x), expected, rtol=1e-5)


def test_every_leaf_is_an_array_so_that_plain_jit_takes_it():
    mlp = MLP([3, 8, 8, 2], key=jax.random.key(0))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(mlp))
    assert jax.jit(lambda m, x: m(x))(mlp, jnp.ones(3)).shape == (2,)


@pytest.mark.parametrize("inputs", [1, 16, 400])
def test_initial_weights_are_uniform_within_the_root_of_the_inputs(inputs):
    mlp = MLP([inputs, 1000], key=jax.random.key(1))
    bound = inputs**-0.5
    for values in (mlp.weights[0], mlp.biases[0]):
        assert abs(float(jnp.abs(values).max()) - bound) < 0.01 * bound
        assert float(values.std()) == pytest.approx(bound / 3**0.5, rel=0.06)


def test_nothing_to_look_at_is_allowed():
    mlp = MLP([0, 4, 2], key=jax.random.key(0))
    assert mlp(jnp.zeros(0)).shape == (2,)


@pytest.mark.parametrize("sizes", [[0, 5, 2], [2, 5, 5, 3], [3, 4], [9, 16, 12]])
def test_a_batch_in_columns_equals_the_vmapped_one_and_so_do_its_gradients(sizes):
    mlp = MLP(sizes, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (7, sizes[0]))
    weight = jax.random.normal(jax.random.key(2), (7, sizes[-1]))

    def rows(mlp, x):
        return (weight * jax.vmap(mlp)(x) ** 2).sum()

    def columns(mlp, x):
        return (weight * mlp.columns(x.T).T ** 2).sum()

    for one, other in zip(
        jax.tree.leaves(jax.value_and_grad(rows, (0, 1))(mlp, x)),
        jax.tree.leaves(jax.value_and_grad(columns, (0, 1))(mlp, x)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
