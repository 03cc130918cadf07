"""SAC whose policy has been cloned from recorded observations and actions."""

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
from sfp.agents.sac import SAC, Features, SACState, descend
from sfp.exploration.family import Explorer
from sfp.nets.policy import Policy
from sfp.observation import Obs

EDGE = 1e-3
"""Actions are clipped to 1 - EDGE: no tanh reaches a bound."""

BLOCK = 1000
"""Gradient steps in one call. On images it is one, outside of any loop, in which XLA's
convolutions are slow."""


def cloning_loss(
    policy: Policy,
    features: Features,
    actions: Float[Array, "batch dims"],
) -> Scalar:
    """-E[log π(a | s)] over recorded pairs."""
    inside = jnp.clip(actions, EDGE - 1.0, 1.0 - EDGE)
    return -jax.vmap(policy.log_prob)(features, inside).mean()


@dataclass(frozen=True, eq=False)
class BC(SAC):
    """Maximum likelihood on the recordings first, then SAC.

    Attributes:
        explorer: by default the clone explores from the first step on.
        shown: recorded observations; what sees images is cloned with the policy.
        actions: recorded a_t, scaled to [-1, 1].
        batch: pairs per gradient step.
        epochs: passes over the recordings.
        report: called with the share that is done.
    """

    explorer: Explorer | None = None
    shown: Obs = field(kw_only=True)
    actions: Float[np.ndarray, "pairs dims"] = field(kw_only=True)
    batch: int = field(kw_only=True, default=100)
    epochs: int = field(kw_only=True, default=10)
    report: Callable[[float], None] = field(kw_only=True, default=lambda share: None)

    def prepare(self, state: SACState, key: PRNGKeyArray) -> SACState:
        """Clone the policy and its encoder; their optimisers for SAC stay fresh."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        learned: Any = state.policy, state.encoder
        adam = self.adam.init(learned)
        steps = len(self.actions) // self.batch
        block = 1 if self.spec.image else BLOCK
        for epoch in range(self.epochs):
            order = rng.permutation(len(self.actions))[: steps * self.batch]
            rows = order.reshape(steps, self.batch)
            for first in range(0, steps, block):
                pairs = jax.tree.map(
                    lambda part, some=rows[first : first + block]: part[some],
                    (self.shown, self.actions),
                )
                learned, adam = self._clone(learned, adam, pairs)
                done = min(steps, first + block)
                self.report((epoch + done / steps) / self.epochs)
        policy, encoder = learned
        behind = jax.tree.map(jnp.copy, encoder)
        return state._replace(policy=policy, encoder=encoder, target_encoder=behind)

    @cached_property
    def _clone(self) -> Callable[..., tuple[Any, Any]]:
        """Many gradient steps in one scan; on images one."""

        def loss(learned, obs, actions):
            policy, encoder = learned
            return cloning_loss(policy, encoder(obs), actions)

        def step(carry, pairs):
            learned, adam = carry
            gradient = jax.grad(loss)(learned, *pairs)
            return descend(self.adam, gradient, adam, learned), None

        def steps(learned, adam, pairs):
            if self.spec.image:
                one = jax.tree.map(lambda part: part[0], pairs)
                return step((learned, adam), one)[0]
            return jax.lax.scan(step, (learned, adam), pairs)[0]

        return jax.jit(steps)
