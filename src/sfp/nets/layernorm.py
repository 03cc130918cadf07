"""An MLP with layer normalisation in front of every ReLU."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.nets.namespace import along, normalise, relu


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

    def __call__(self, x: Any) -> Any:
        hidden = zip(
            self.weights[:-1], self.biases[:-1], self.gains, self.offsets, strict=True
        )
        for weight, bias, gain, offset in hidden:
            x = normalise(x @ weight + along(bias, x))
            x = relu(along(gain, x) * x + along(offset, x))
        return x @ self.weights[-1] + along(self.biases[-1], x)
