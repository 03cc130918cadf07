import jax
import numpy as np
import pytest

from sfp.nets import threefry
from sfp.nets.mlp import MLP


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_the_numbers_are_those_of_jax(seed):
    key = jax.random.fold_in(jax.random.key(seed), 3)
    data = np.asarray(jax.random.key_data(key))
    ours, theirs = threefry.split(data, 5), jax.random.split(key, 5)
    np.testing.assert_array_equal(ours, jax.random.key_data(theirs))
    drawn = jax.random.uniform(key, (1000,), minval=-0.3, maxval=0.3)
    # JAX multiplies and adds with one rounding or with two, as the processor has it.
    np.testing.assert_allclose(
        threefry.uniform(data, 1000, 0.3), drawn, rtol=0, atol=2**-25
    )


@pytest.mark.slow
def test_a_network_that_is_made_inside_a_program_has_the_same_weights():
    sizes, key = [3, 8, 0, 2], jax.random.key(4)
    outside, inside = MLP(sizes, key=key), jax.jit(lambda k: MLP(sizes, key=k))(key)
    for here, there in zip(*map(jax.tree.leaves, (outside, inside)), strict=True):
        assert here.dtype == there.dtype
        np.testing.assert_allclose(here, there, rtol=0, atol=2**-24)
