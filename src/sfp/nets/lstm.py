"""A long short-term memory cell whose leaves are all arrays."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.nets.namespace import namespace


class LSTM(eqx.Module):
    """Hochreiter and Schmidhuber's cell with a forget gate; NumPy or JAX.

    The bias of the forget gate begins at 1, so that early gradients reach back.
    """

    gates: MLP
    size: int = eqx.field(static=True)

    def __init__(self, inputs: int, size: int, *, key: PRNGKeyArray):
        gates = MLP([inputs + size, 4 * size], key=key)
        bias = gates.biases[0].at[size : 2 * size].set(1.0)
        self.gates = eqx.tree_at(lambda net: net.biases[0], gates, bias)
        self.size = size

    def __call__(
        self, carry: tuple[Any, Any], inputs: Float[Any, " inputs"]
    ) -> tuple[Any, Any]:
        """The output and the memory after one more input."""
        output, memory = carry
        xp = namespace(output)
        both = self.gates(xp.concatenate([inputs, output]))
        enter, keep, fresh, leave = xp.split(both, 4)
        memory = _gate(keep) * memory + _gate(enter) * xp.tanh(fresh)
        return _gate(leave) * xp.tanh(memory), memory

    def last(self, sequence: Float[Array, "steps inputs"]) -> Float[Array, " size"]:
        """The output after a whole sequence."""
        zero = jax.numpy.zeros(self.size)

        def step(carry, inputs):
            return self(carry, inputs), None

        (output, _), _ = jax.lax.scan(step, (zero, zero), sequence)
        return output


def _gate(x: Any) -> Any:
    """The logistic function, finite for every x."""
    return 0.5 * (1.0 + namespace(x).tanh(0.5 * x))
