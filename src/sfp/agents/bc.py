"""SAC whose policy has been cloned from recorded states and actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.losses import Scalar
from sfp.agents.sac import SAC, SACState, descend
from sfp.exploration.family import Explorer
from sfp.nets.policy import Policy

EDGE = 1e-3
"""Actions are clipped to 1 - EDGE: no tanh reaches a bound."""

BLOCK = 1000
"""Gradient steps in one call."""


def cloning_loss(
    policy: Policy,
    states: Float[Array, "batch obs"],
    actions: Float[Array, "batch dims"],
) -> Scalar:
    """-E[log π(a | s)] over recorded pairs."""
    inside = jnp.clip(actions, EDGE - 1.0, 1.0 - EDGE)
    return -jax.vmap(policy.log_prob)(states, inside).mean()


@dataclass(frozen=True, eq=False)
class BC(SAC):
    """Maximum likelihood on the recordings first, then SAC.

    Attributes:
        explorer: by default the clone explores from the first step on.
        states: recorded s_t, with the goal behind it.
        actions: recorded a_t, scaled to [-1, 1].
        batch: pairs per gradient step.
        epochs: passes over the recordings.
        report: called with the share that is done.
    """

    explorer: Explorer | None = None
    states: Float[np.ndarray, "pairs obs"] = field(kw_only=True)
    actions: Float[np.ndarray, "pairs dims"] = field(kw_only=True)
    batch: int = field(kw_only=True, default=100)
    epochs: int = field(kw_only=True, default=10)
    report: Callable[[float], None] = field(kw_only=True, default=lambda share: None)

    def prepare(self, state: SACState, key: PRNGKeyArray) -> SACState:
        """Clone the policy; its optimiser for SAC stays fresh."""
        states, actions = jnp.asarray(self.states), jnp.asarray(self.actions)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        policy, adam = state.policy, self.adam.init(state.policy)  # pyright: ignore[reportArgumentType]
        steps = len(states) // self.batch
        for epoch in range(self.epochs):
            order = rng.permutation(len(states))[: steps * self.batch]
            rows = order.reshape(steps, self.batch).astype(np.int32)
            for first in range(0, steps, BLOCK):
                some = jnp.asarray(rows[first : first + BLOCK])
                policy, adam = self._clone(policy, adam, states, actions, some)
                done = min(steps, first + BLOCK)
                self.report((epoch + done / steps) / self.epochs)
        return state._replace(policy=policy)

    @cached_property
    def _clone(self) -> Callable[..., tuple[Policy, Any]]:
        """Many gradient steps in one scan."""

        def step(carry, rows, states, actions):
            policy, adam = carry
            gradient = jax.grad(cloning_loss)(policy, states[rows], actions[rows])
            return descend(self.adam, gradient, adam, policy), None

        def steps(policy, adam, states, actions, rows):
            carry, _ = jax.lax.scan(
                lambda carry, some: step(carry, some, states, actions),
                (policy, adam),
                rows,
            )
            return carry

        return jax.jit(steps)
