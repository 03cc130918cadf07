"""A mixture density network: quickly learned, and sampled in one pass."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP, affine
from sfp.priors.draw import Draw, compile_draw
from sfp.priors.kernel import LOG_EDGE, LOG_SCALE, TINY, bounded, log_box
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar, Traits


class Parts(NamedTuple):
    """What the network says about a context; a batch has its axis behind the others.

    Attributes:
        weights: logits of the products.
        kernels: logits, means and raw scales of the kernels of each product.
        slopes: how a dimension of a product leans on those before it, row by row.
    """

    weights: Float[Any, "products ..."]
    kernels: Float[Any, "products 3 dims kernels ..."]
    slopes: Float[Any, "products slopes ..."]


class Mixture(eqx.Module):
    """p(a|c) = Σ_k w_k Π_d Σ_m v_kdm box(a_d - Σ_{j<d} l_kdj a_j; μ_kdm, s_kdm, ρ_kdm).

    All but ρ are outputs of one network of the context c. The products k are modes of
    the whole action, the kernels m let each dimension be several things on its own
    (at a bound, or not), and the slopes l turn a product to any direction.

    `box` is the density of μ + s(ρu + e) with u uniform in [-1, 1] and logistic e. It
    is a box with soft edges for large ρ, which is what a uniform, a saturated or a
    constant dimension needs, and nearly Gaussian for ρ = π.
    """

    traits: ClassVar[Traits] = Traits(frozen=("temperature",))
    net: MLP
    skip: Float[Array, "context outputs"]
    edges: Float[Array, "products dims kernels"]
    temperature: Scalar

    def __init__(
        self,
        dims: int,
        context: int,
        *,
        key: PRNGKeyArray,
        width: int = 64,
        products: int = 8,
        kernels: int = 4,
    ):
        net_key, mean_key = jax.random.split(key)
        shape = products, 3, dims, kernels
        slopes = products * dims * (dims - 1) // 2
        net = MLP(
            [context, width, width, products + math.prod(shape) + slopes], key=net_key
        )
        means = jax.random.uniform(mean_key, (products, dims, kernels), minval=-1.0)
        bias = jnp.concatenate(
            [
                jnp.zeros(products),
                jnp.zeros(shape).at[:, 1].set(means).ravel(),
                jnp.zeros(slopes),
            ]
        )
        self.net = eqx.tree_at(lambda net: net.biases[-1], net, bias)
        self.skip = jnp.zeros((context, len(bias)))
        self.edges = jnp.full(
            (products, dims, kernels), _raw(math.log(math.pi)), jnp.float32
        )
        self.temperature = jnp.ones(())

    def log_prob(self, action: Action, context: Context) -> Scalar:
        return self._log_density(action, self._parts(self._outputs(context)))

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Negative log-likelihood of a batch, computed with samples in columns."""
        columns, last = contexts.T, len(self.net.weights) - 1
        hidden = self.net.hidden_columns(columns)
        out = affine(hidden, self.net.weights[last], self.net.biases[last])
        out = out + affine(columns, self.skip, jnp.zeros(out.shape[0]))
        return -self._log_density(actions.T, self._parts(out)).mean()

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        return self.draw(jax.random.uniform(key, (self.numbers,)), context)

    @property
    def numbers(self) -> int:
        """How many uniform numbers a sample takes."""
        return 1 + 3 * self.edges.shape[1]

    def draw(self, uniform: Float[Array, " numbers"], context: Context) -> Action:
        """The sample that independent uniform numbers in [0, 1) make."""
        dims, heat = self.edges.shape[1], self.temperature
        parts, rows = self._parts(self._outputs(context)), jnp.arange(dims)
        k = _pick(parts.weights[None] / heat, uniform[:1])[0]
        kernels = parts.kernels[k]
        m = _pick(kernels[0] / heat, uniform[1 : 1 + dims])
        mean, raw = kernels[1:, rows, m]
        scale = jnp.exp(bounded(raw, LOG_SCALE)) * jnp.sqrt(heat)
        edge = jnp.exp(bounded(self.edges[k, rows, m], LOG_EDGE))
        side, noise = TINY + (1 - 2 * TINY) * uniform[1 + dims :].reshape(2, dims)
        own = mean + scale * (edge * (2 * side - 1) + jnp.log(noise / (1 - noise)))
        action, slopes = list(own), iter(parts.slopes[k])
        for d in range(1, dims):
            for j in range(d):
                action[d] += next(slopes) * action[j]
        return jnp.stack(action)

    def in_numpy(self) -> Draw:
        """`draw` for one context at a time, at a tenth of a compiled call's cost."""
        return compile_draw(self)

    def temper(self, temperature: float) -> Mixture:
        """The weights to the power 1/T, and kernels √T as wide."""
        changed = self.temperature * jnp.asarray(temperature, jnp.float32)
        return eqx.tree_at(lambda model: model.temperature, self, changed)

    def _outputs(self, context):
        return self.net(context) + context @ self.skip

    def _parts(self, out) -> Parts:
        """What the outputs mean; a batch lies behind."""
        products, dims, kernels = self.edges.shape
        batch, last = out.shape[1:], products * (1 + 3 * dims * kernels)
        return Parts(
            out[:products],
            out[products:last].reshape(products, 3, dims, kernels, *batch),
            out[last:].reshape(products, -1, *batch),
        )

    def _log_density(self, action, parts: Parts):
        """For one action, or for a batch of them in columns."""
        heat, kernels = self.temperature, parts.kernels
        edge = jnp.exp(bounded(self.edges, LOG_EDGE))
        edge = edge.reshape(edge.shape + (1,) * (action.ndim - 1))
        log_scale = bounded(kernels[:, 2], LOG_SCALE) + 0.5 * jnp.log(heat)
        own = self._unlean(action, parts.slopes)[:, :, None]
        z = (own - kernels[:, 1]) * jnp.exp(-log_scale)
        each = _mean(kernels[:, 0] / heat, log_box(z, edge) - log_scale, axis=2)
        return _mean(parts.weights / heat, each.sum(axis=1), axis=0)

    def _unlean(self, action, slopes):
        """a_d - Σ_{j<d} l_kdj a_j for every product k and dimension d."""
        rows = [jnp.broadcast_to(action[0], (len(slopes), *action.shape[1:]))]
        for d in range(1, len(action)):
            first = d * (d - 1) // 2
            lean = (slopes[:, first : first + d] * action[None, :d]).sum(axis=1)
            rows.append(action[d][None] - lean)
        return jnp.stack(rows, axis=1)


def _raw(log_edge: float) -> float:
    """What `bounded` maps to a log edge."""
    share = (log_edge - LOG_EDGE[0]) / (LOG_EDGE[1] - LOG_EDGE[0])
    return math.log(share / (1 - share))


def _mean(logits, log_values, *, axis: int):
    """Log Σ_i softmax(logits)_i exp(log_values_i)."""
    return _log_sum(logits + log_values, axis) - _log_sum(logits, axis)


def _log_sum(x, axis: int):
    """As `logsumexp`, without its care for infinite numbers: there are none."""
    top = jax.lax.stop_gradient(x.max(axis=axis, keepdims=True))
    return jnp.log(jnp.exp(x - top).sum(axis=axis)) + jnp.squeeze(top, axis)


def _pick(logits: Float[Array, "rows choices"], uniform: Float[Array, " rows"]) -> Any:
    """The choice in every row of logits that a uniform number makes."""
    power = jnp.exp(logits - logits.max(axis=1, keepdims=True))
    total = jnp.cumsum(power, axis=1)
    return (total[:, :-1] <= uniform[:, None] * total[:, -1:]).sum(axis=1)
