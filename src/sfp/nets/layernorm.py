"""An MLP with layer normalisation in front of every ReLU."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP

EPSILON = 1e-6


class NormedMLP(MLP):
    """The same layers; hidden units are normalised within each sample.

    It bounds how fast a critic can grow away from its data (RLPD).
    """

    gains: tuple[Float[Array, " _"], ...]
    offsets: tuple[Float[Array, " _"], ...]

    def __init__(self, sizes: Sequence[int], *, key: PRNGKeyArray):
        super().__init__(sizes, key=key)
        self.gains = tuple(jnp.ones(size) for size in sizes[1:-1])
        self.offsets = tuple(jnp.zeros(size) for size in sizes[1:-1])

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """One input, one output; callers `vmap`."""
        hidden = zip(
            self.weights[:-1], self.biases[:-1], self.gains, self.offsets, strict=True
        )
        for weight, bias, gain, offset in hidden:
            x = x @ weight + bias
            x = (x - x.mean()) * jax.lax.rsqrt(x.var() + EPSILON)
            x = jax.nn.relu(gain * x + offset)
        return x @ self.weights[-1] + self.biases[-1]
