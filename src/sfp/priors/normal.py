"""The normal distribution's log density."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def log_normal(
    x: Float[Array, ...],
    mean: Float[Array, ...] | float = 0.0,
    log_deviation: Float[Array, ...] | float = 0.0,
) -> Float[Array, ...]:
    """Log N(x; mean, deviation²) of each number on its own; the three broadcast."""
    z = (x - mean) * jnp.exp(-log_deviation)
    return -0.5 * (z * z + jnp.log(2 * jnp.pi)) - log_deviation
