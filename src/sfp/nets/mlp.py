"""A multi-layer perceptron whose leaves are all arrays."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class MLP(eqx.Module):
    """Linear layers with ReLU between them, and none after the last.

    Weights and biases are drawn uniformly within 1/sqrt(inputs), PyTorch's default, as
    the networks of the paper were.
    """

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    def __init__(self, sizes: Sequence[int], *, key: PRNGKeyArray):
        weights, biases = [], []
        for layer_key, inputs, outputs in zip(
            jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:], strict=True
        ):
            bound = 1.0 / max(1, inputs) ** 0.5
            weight_key, bias_key = jax.random.split(layer_key)
            weights.append(
                jax.random.uniform(
                    weight_key, (inputs, outputs), minval=-bound, maxval=bound
                )
            )
            biases.append(
                jax.random.uniform(bias_key, (outputs,), minval=-bound, maxval=bound)
            )
        self.weights, self.biases = tuple(weights), tuple(biases)

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """One input, one output; callers `vmap`."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(x @ weight + bias)
        return x @ self.weights[-1] + self.biases[-1]


def relu_features(mlp: MLP, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
    """An MLP used as a preprocessor: ReLU after its last layer too."""
    return jnp.maximum(mlp(x), 0.0)
