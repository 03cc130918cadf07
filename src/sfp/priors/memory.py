"""A prior that remembers: dilated causal convolutions over many past actions."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.nets.namespace import along, namespace, relu
from sfp.priors.draw import Draw
from sfp.priors.mixture import Mixture
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar, Traits

RECENT = 2
"""Past actions that the density sees as they are, beside what is remembered."""


class Memory(eqx.Module):
    """p(a | m(a_{t-k} ... a_{t-1}), a_{t-2}, a_{t-1}) with a mixture density p.

    m is the last output of a stack of causal convolutions with two taps and dilations
    1, 2, 4 and so on. Only what the last output depends on is computed, a binary tree:
    every layer joins neighbours,

        h_i = relu(W [x_2i, x_2i+1] + b), and from the second layer on + x_2i+1,

    so that k actions take log2(k) products and one action k - 1 joins. A history that
    is no power of two long has zeros in front.

    It is meant for past actions alone; if there is a state, its entries are the last
    actions of the tree.
    """

    traits: ClassVar[Traits] = Traits(frozen=("temperature",))
    joins: tuple[MLP, ...]
    head: Mixture
    dims: int = eqx.field(static=True)

    def __init__(
        self,
        dims: int,
        context: int,
        *,
        key: PRNGKeyArray,
        width: int = 48,
        products: int = 8,
        kernels: int = 2,
    ):
        join_key, head_key = jax.random.split(key)
        levels = max(1, (-(-context // dims) - 1).bit_length())
        sizes = [dims, *[width] * levels]
        self.dims = dims
        self.joins = tuple(
            MLP([2 * sizes[i], sizes[i + 1]], key=one)
            for i, one in enumerate(jax.random.split(join_key, levels))
        )
        seen = width + min(context, RECENT * dims)
        mixture = {"products": products, "kernels": kernels}
        self.head = Mixture(dims, seen, key=head_key, **mixture)

    @property
    def temperature(self) -> Any:
        return self.head.temperature

    @property
    def numbers(self) -> int:
        """How many uniform numbers a sample takes."""
        return self.head.numbers

    def remember(self, context: Float[Any, "*lead context"]) -> Float[Any, "*lead _"]:
        """What is remembered, m, and the last actions; in NumPy or in JAX."""
        xp, lead = namespace(context), context.shape[:-1]
        length = self.dims * 2 ** len(self.joins)
        missing = xp.zeros((*lead, length - context.shape[-1]), context.dtype)
        x = xp.concatenate([missing, context], axis=-1).reshape(*lead, -1, self.dims)
        for level, join in enumerate(self.joins):
            pairs = x.reshape(*lead, -1, 2 * x.shape[-1])
            weight, bias = join.weights[0], join.biases[0]
            joined = relu(pairs @ weight + along(bias, pairs))
            x = joined + x[..., 1::2, :] if level else joined
        recent = context[..., max(0, context.shape[-1] - RECENT * self.dims) :]
        return xp.concatenate([x[..., 0, :], recent], axis=-1)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        return self.head.log_prob(action, self.remember(context))

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Negative log-likelihood of a batch."""
        return self.head.loss(key, actions, self.remember(contexts))

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        return self.head.sample(key, self.remember(context))

    def draw(self, uniform: Float[Array, " numbers"], context: Context) -> Action:
        """The sample that independent uniform numbers in [0, 1) make."""
        return self.head.draw(uniform, self.remember(context))

    def in_numpy(self) -> Draw:
        """`draw` for one context at a time, without JAX.

        `remember` with its arrays at hand: a module's attributes cost more to look up
        than the products do.
        """
        arrays = [(_array(j.weights[0]), _array(j.biases[0])) for j in self.joins]
        (first, first_bias), *others = arrays
        draw, last = self.head.in_numpy(), RECENT * self.dims
        blank = np.zeros(self.dims * 2 ** len(arrays), np.float32)

        def sample(uniform: np.ndarray, context: np.ndarray) -> list[float]:
            x = blank.copy()
            x[len(x) - len(context) :] = context
            x = x.reshape(-1, len(first)) @ first
            x += first_bias
            np.maximum(x, 0.0, out=x)
            for weight, bias in others:
                newer = x[1::2]
                x = x.reshape(-1, len(weight)) @ weight
                x += bias
                np.maximum(x, 0.0, out=x)
                x += newer
            return draw(uniform, np.concatenate((x[0], context[-last:])))

        return sample

    def temper(self, temperature: float) -> Memory:
        """The mixture's weights to the power 1/T, and its kernels √T as wide."""
        head = self.head.temper(temperature)
        return eqx.tree_at(lambda model: model.head, self, head)


def _array(x: Any) -> np.ndarray:
    return np.ascontiguousarray(np.asarray(x, np.float32))
