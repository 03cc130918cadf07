"""One scale of actions, with the bits of the expressions that it replaced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.envs.scale import ActionScale

RNG = np.random.default_rng(0)
LOW = RNG.uniform(-5, 1, 4)
HIGH = LOW + RNG.uniform(0.01, 7, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_of_what_the_environment_was_given(dtype):
    units = RNG.uniform(-1.2, 1.2, (5000, 4)).astype(dtype)
    made = ActionScale(LOW, HIGH).execute(units)
    old = np.clip(LOW + (HIGH - LOW) * (0.5 * (units + 1.0)), LOW, HIGH)
    np.testing.assert_array_equal(made, old)
    if dtype == np.float64:  # as `Trained.predict` had it
        old = np.clip(LOW + (HIGH - LOW) * 0.5 * (units + 1.0), LOW, HIGH)
        np.testing.assert_array_equal(made, old)
    ends = ActionScale(LOW, HIGH).execute(np.array([[-1.0] * 4, [3.0] * 4]))
    np.testing.assert_array_equal(ends, [LOW, HIGH])


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_the_bits_of_what_a_prior_sees(compiled):
    low, high = jnp.asarray(LOW, jnp.float32), jnp.asarray(HIGH, jnp.float32)
    actions = jnp.asarray(RNG.uniform(-6, 8, (5000, 4)), jnp.float32)

    def old(actions):
        middle, half = (low + high) / 2, (high - low) / 2
        return (actions - middle) / half, middle + half * actions

    def new(actions):
        scale = ActionScale(low, high)
        return scale.to_unit(actions), scale.from_unit(actions)

    if compiled:
        old, new = jax.jit(old), jax.jit(new)
    for a, b in zip(old(actions), new(actions), strict=True):
        np.testing.assert_array_equal(a, b)


def test_numpy_and_back_again():
    low, high = LOW.astype(np.float32), HIGH.astype(np.float32)
    actions = RNG.uniform(low, high, (100, 4)).astype(np.float32)
    middle, half = (high + low) / 2, (high - low) / 2
    units = ActionScale(low, high).to_unit(actions)
    np.testing.assert_array_equal(units, (actions - middle) / half)
    assert units.dtype == np.float32
    back = ActionScale(low, high).from_unit(units)
    np.testing.assert_allclose(back, actions, rtol=1e-5, atol=1e-5)
