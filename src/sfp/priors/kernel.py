"""The kernel of a mixture: a box with soft edges."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from sfp.nets.namespace import namespace

LOG_SCALE = (-8.0, 1.0)
"""Bounds of the kernels' log scales; jittered data has nothing narrower."""

LOG_EDGE = (-2.0, 4.3)
"""Bounds of log ρ, from nearly logistic to a box with sharp edges."""

TINY = 1e-7
"""Uniform numbers stay this far from 0 and 1, where logistic noise is infinite."""


def log_box(z: Float[Array, ...], edge: Float[Array, ...]) -> Float[Array, ...]:
    """Log density of ρu + e at z, with u uniform in [-1, 1], e logistic, ρ the edge.

    It is [σ(z + ρ) - σ(z - ρ)] / 2ρ = (1 - q²) / (2ρ (1 + q² + 2q cosh z)), q = e^-ρ,
    here multiplied out so that nothing overflows.
    """
    far, q = jnp.exp(-jnp.abs(z)), jnp.exp(-edge)
    top = jnp.log(-jnp.expm1(-2 * edge)) - jnp.log(2 * edge)
    return top - jnp.abs(z) - jnp.log(far * (1 + q * q) + q * (1 + far * far))


def bounded(raw: Any, bounds: tuple[float, float]) -> Any:
    """From any number to one between the bounds; in NumPy too."""
    low, high = bounds
    return low + (high - low) * (0.5 * namespace(raw).tanh(0.5 * raw) + 0.5)
