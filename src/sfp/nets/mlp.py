"""A multi-layer perceptron whose leaves are all arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets import threefry
from sfp.nets.namespace import along, relu


class MLP(eqx.Module):
    """Linear layers with ReLU between them, and none after the last.

    Weights and biases are drawn uniformly within 1/sqrt(inputs), PyTorch's default, as
    the networks of the paper were.
    """

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    def __init__(self, sizes: Sequence[int], *, key: PRNGKeyArray):
        self.weights, self.biases = _draw(sizes, key)

    def __call__(self, x: Any) -> Any:
        """Leading axes are free; with NumPy weights it computes in NumPy."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = relu(x @ weight + along(bias, x))
        return x @ self.weights[-1] + along(self.biases[-1], x)

    def hidden_columns(
        self, x: Float[Array, "inputs batch"]
    ) -> Float[Array, "width batch"]:
        """The last hidden layer for a batch with one input per column.

        That way round is faster to differentiate.
        """
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(affine(x, weight, bias))
        return x

    def columns_behind(
        self,
        encoder: MLP,
        hidden: Float[Array, "width batch"],
        own: Float[Array, "own batch"],
    ) -> Float[Array, "outputs batch"]:
        """For each column, `self` of `own` and of the encoder's output behind it.

        `hidden` is the encoder's last hidden layer. Between its last linear map and the
        first of this network there is nothing, so that the two are one product: a sixth
        of a flow's arithmetic less, forwards and backwards.
        """
        first, taken = self.weights[0][: len(own)], self.weights[0][len(own) :]
        bias = self.biases[0] + encoder.biases[-1] @ taken
        both = encoder.weights[-1] @ taken
        x = affine(own, first, bias) + affine(hidden, both, jnp.zeros(len(bias)))
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            x = affine(jax.nn.relu(x), weight, bias)
        return x


def _draw(sizes: Sequence[int], key: PRNGKeyArray) -> tuple[Any, Any]:
    """The weights and biases of all layers."""
    layers = list(pairwise(sizes))
    data = jax.random.key_data(key)
    if isinstance(data, Tracer):
        return _draw_traced(layers, key)
    weights, biases = [], []
    for (inputs, outputs), own in zip(
        layers, threefry.split(np.asarray(data), len(layers)), strict=True
    ):
        bound = 1.0 / max(1, inputs) ** 0.5
        one, other = threefry.split(own, 2)
        weight = threefry.uniform(one, inputs * outputs, bound)
        weights.append(jnp.asarray(weight.reshape(inputs, outputs)))
        biases.append(jnp.asarray(threefry.uniform(other, outputs, bound)))
    return tuple(weights), tuple(biases)


def _draw_traced(layers: list[tuple[int, int]], key: PRNGKeyArray) -> tuple[Any, Any]:
    """The same numbers inside a program of JAX.

    The first numbers of a long draw are those of a short one, so that one draw of the
    longest serves all layers: one for each would take seconds to compile.
    """
    bounds = jnp.array([1.0 / max(1, inputs) ** 0.5 for inputs, _ in layers])
    keys = jax.vmap(jax.random.split)(jax.random.split(key, len(layers)))

    def uniform(keys, most):
        draw = partial(jax.random.uniform, shape=(most,))
        return jax.vmap(lambda k, b: draw(k, minval=-b, maxval=b))(keys, bounds)

    weights = uniform(keys[:, 0], max(i * o for i, o in layers))
    biases = uniform(keys[:, 1], max(o for _, o in layers))
    return (
        tuple(
            w[: i * o].reshape(i, o) for w, (i, o) in zip(weights, layers, strict=True)
        ),
        tuple(b[:o] for b, (_, o) in zip(biases, layers, strict=True)),
    )


THIN = 4
"""A sum over so few terms is faster fused with its neighbours than as a product."""


@jax.custom_vjp
def affine(
    x: Float[Array, "inputs batch"],
    weight: Float[Array, "inputs outputs"],
    bias: Float[Array, " outputs"],
) -> Float[Array, "outputs batch"]:
    """The weights times every column, plus the bias.

    With samples in columns no product of the backward pass runs across the grain of
    large arrays, as the weight gradient xᵀg of samples in rows does. The gradients are
    spelled out because JAX would turn them into products that do.
    """
    return _product(weight.T, x) + bias[:, None]


def _affine_forward(x, weight, bias):
    return affine(x, weight, bias), (x, weight)


def _affine_backward(saved, g):
    x, weight = saved
    if len(x) > THIN:
        return _product(weight, g), x @ g.T, g.sum(axis=1)
    both = g @ jnp.concatenate([x, jnp.ones((1, x.shape[1]))]).T
    return weight @ g, both[:, :-1].T, both[:, -1]


affine.defvjp(_affine_forward, _affine_backward)


def _product(a: Float[Array, "n k"], b: Float[Array, "k m"]) -> Float[Array, "n m"]:
    if not 0 < a.shape[1] <= THIN:
        return a @ b
    return reduce(add, (a[:, i, None] * b[i, None] for i in range(a.shape[1])))
