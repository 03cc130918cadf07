"""A scout: of a prior's proposals, the one that leads to where nobody has been.

A prior goes somewhere, but it does not know where it has been already. A critic of
novelty knows: Q(s, a) is the novelty that is still to be had from s after a, if from
then on the best of the prior's proposals is taken. All actions remain the prior's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.losses import critic_loss, scout_target
from sfp.nets.layernorm import NormedMLP
from sfp.nets.mlp import MLP

WIDTH, DEPTH = 128, 2
LEARNING_RATE = 1e-3
POLYAK = 0.99
UNGUIDED = 0.1
"""Share of the steps at which the prior's first proposal is taken as it is."""


class ScoutState(NamedTuple):
    """The critic of novelty, its target and its optimiser."""

    critic: MLP
    target: MLP
    adam: optax.OptState


@dataclass(frozen=True)
class Scout:
    """Learns where novelty is, and chooses among proposals.

    Attributes:
        proposals: how many are compared at a step.
    """

    proposals: int

    @property
    def adam(self) -> optax.GradientTransformation:
        return optax.adam(LEARNING_RATE)

    def init(self, key: PRNGKeyArray, features: int, dims: int) -> ScoutState:
        critic = NormedMLP([features + dims, *[WIDTH] * DEPTH, 1], key=key)
        target = jax.tree.map(jnp.copy, critic)
        return ScoutState(critic, target, self.adam.init(critic))  # pyright: ignore[reportArgumentType]

    def choose(
        self,
        critic: MLP,
        features: Float[np.ndarray, " features"],
        proposals: list[np.ndarray],
        rng: np.random.Generator,
    ) -> np.ndarray:
        """The most promising proposal, or now and then the first; in NumPy."""
        if rng.random() < UNGUIDED:
            return proposals[0]
        values = [critic(np.concatenate([features, p]))[0] for p in proposals]
        return proposals[int(np.argmax(values))]

    def update(
        self,
        state: ScoutState,
        seen: Float[Array, "batch inputs"],
        novelty: Float[Array, " batch"],
        discount: Float[Array, " batch"],
        ahead: Float[Array, "batch proposals inputs"],
    ) -> tuple[ScoutState, dict[str, Any]]:
        """One gradient step.

        Args:
            state: of the critic.
            seen: features of s_t with a_t behind.
            novelty: of s_{t+n}.
            discount: γ^n; 0 after a termination.
            ahead: features of s_{t+n} with every proposal behind.
        """
        q_ahead = jax.vmap(jax.vmap(state.target))(ahead)[..., 0]
        target = scout_target(novelty, discount, q_ahead)

        def loss(critic):
            return critic_loss(jax.vmap(critic)(seen)[:, 0][None], target)

        value, gradient = jax.value_and_grad(loss)(state.critic)
        change, adam = self.adam.update(gradient, state.adam, state.critic)  # pyright: ignore[reportArgumentType]
        critic = optax.apply_updates(state.critic, change)  # pyright: ignore[reportArgumentType]
        target = jax.tree.map(
            lambda slow, fast: POLYAK * slow + (1.0 - POLYAK) * fast,
            state.target,
            critic,
        )
        return ScoutState(critic, target, adam), {"the scout's loss": value}  # pyright: ignore[reportArgumentType]
