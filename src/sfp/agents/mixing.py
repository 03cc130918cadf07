"""Λ: per state, how far the priors are trusted, and which of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from sfp.agents.losses import Scalar, Values, Weights, mixing_loss, several_loss
from sfp.agents.sac import Features, descend
from sfp.config import Mixture, settle
from sfp.nets.mlp import MLP
from sfp.nets.namespace import namespace

EVEN = 0.1
"""Of several priors' weight, what they share evenly: none is ever written off."""


class Learned(NamedTuple):
    """Λ after a step, and what the step was taken from."""

    net: MLP
    adam: optax.OptState
    loss: Scalar
    weights: Weights


@dataclass(frozen=True, eq=False)
class Mixing:
    """λ_k = σ(t) w_k from the output (t, u) of a network.

    The trust σ(t) is the paper's λ. The shares w are a softmax of u, but for a tenth
    that all priors have alike; of one prior there is no u, and w is 1.

    Attributes:
        count: K, the number of priors.
        mixture: sizes of the network, where λ begins, or what it is fixed at.
        adam: of the other networks; here it sees small gradients.
    """

    count: int
    mixture: Mixture
    adam: optax.GradientTransformation

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam behind the scale of gradients."""
        scale = settle(self.mixture, {}).mixing_gradient_scale
        assert scale is not None
        return optax.chain(optax.scale(scale), self.adam)

    def init(self, key: PRNGKeyArray, features: int) -> tuple[MLP, optax.OptState]:
        """A network whose weights sum to `mixing_start`, and its optimiser's state."""
        mixture, outputs = self.mixture, 1 if self.count == 1 else 1 + self.count
        sizes = [features, *[mixture.mixing_width] * mixture.mixing_depth, outputs]
        net = MLP(sizes, key=key)
        odds = mixture.mixing_start / (1.0 - mixture.mixing_start)
        bias = jnp.zeros(outputs, jnp.float32).at[0].set(jnp.log(odds))
        net = eqx.tree_at(lambda net: net.biases[-1], net, bias)
        return net, self.optimiser.init(net)  # pyright: ignore[reportArgumentType]

    def weights(self, logits: Any) -> Any:
        """λ_1 to λ_K from the network's output; the rest is the policy's.

        NumPy or JAX, as the output is.
        """
        fixed = self.mixture.mixing_fixed
        if fixed is not None:
            xp, shape = namespace(logits), (*logits.shape[:-1], self.count)
            return xp.full(shape, fixed / self.count, None if xp is np else xp.float32)
        if self.count == 1:
            return _sigmoid(logits)
        return _sigmoid(logits[..., :1]) * self.shares(logits)

    @staticmethod
    def shares(logits: Any) -> Any:
        """What each of several priors has of their weight."""
        which = logits[..., 1:]
        power = namespace(which).exp(which - which.max(axis=-1, keepdims=True))
        best = power / power.sum(axis=-1, keepdims=True)
        return (1.0 - EVEN) * best + EVEN / which.shape[-1]

    def of(self, net: MLP, features: Features) -> Weights:
        """λ in every state of a batch."""
        return jax.vmap(lambda one: self.weights(net(one)))(features)

    def learn(
        self,
        net: MLP,
        adam: optax.OptState,
        features: Features,
        values: tuple[Weights, Values],
        counted: Values | None,
    ) -> Learned:
        """A step towards whichever of priors and policy the critics prefer.

        Args:
            net: the network.
            adam: its optimiser's state.
            features: of the states.
            values: of every prior's proposal, and of the policy's action.
            counted: the states that count for the trust, 1, others 0; None is all.
        """
        q_prior, q_policy = values

        def loss(net):
            weights = self.of(net, features)
            if self.count == 1 or self.mixture.mixing_fixed is not None:
                return mixing_loss(weights, q_prior, q_policy, counted), weights
            trust, shares = weights.sum(axis=1), self.shares(jax.vmap(net)(features))
            return several_loss(trust, shares, q_prior, q_policy, counted), weights

        (value, weights), slope = jax.value_and_grad(loss, has_aux=True)(net)
        return Learned(*descend(self.optimiser, slope, adam, net), value, weights)


def _sigmoid(logits: Any) -> Any:
    if namespace(logits) is np:
        with np.errstate(over="ignore"):  # far below 0, λ is 0
            return 1.0 / (1.0 + np.exp(-logits))
    return jax.nn.sigmoid(logits)
