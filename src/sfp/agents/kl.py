"""SAC with the KL divergence to a Gaussian prior in place of the entropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from sfp.agents.acting import draw_action
from sfp.agents.base import (
    Decision,
    Keys,
    Memory,
    Metrics,
    Turn,
    draw_seed,
    shifted,
)
from sfp.agents.losses import Values, gaussian_kl, td_target
from sfp.agents.sac import SAC, SACState, min_q, sample
from sfp.data.batch import Batch
from sfp.nets.policy import Policy
from sfp.priors.base import Prior
from sfp.priors.gaussian import Gaussian


@dataclass(frozen=True, eq=False)
class KL(SAC):
    """SAC that stays close to a prior: E[Q(s, a)] - α KL(π(· | s) || π̄(· | context)).

    Policy and prior are both Gaussian before tanh, so the divergence is the closed one
    between those two.

    Attributes:
        prior: of the model `gaussian`, in scaled actions; it may see past actions, the
            state, or both.
    """

    prior: Prior = field(kw_only=True)

    def begin(self, rng: np.random.Generator) -> Memory:
        """H_0: consecutive actions from the data, if the prior sees any."""
        return Memory(draw_seed(self.prior, rng))

    def act(self, actor: Policy, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """The prior's actions at first, then those of the policy."""
        if turn.phase == "warmup":
            seed = turn.rng.integers(2**32, dtype=np.uint32)
            action = np.asarray(self._ask(seed, memory.history, turn.obs))
        else:
            action = draw_action(actor, turn.obs, turn.rng)
        return Decision(action, action, {}), Memory(shifted(memory.history, action))

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SACState, Metrics]:
        """Critics, policy and targets, with the divergence where the entropy was."""
        keys, alpha = Keys.split(key), jnp.exp(state.log_alpha)
        action, _ = sample(state.policy, keys.target, batch.next_obs)
        value = min_q(state.targets, batch.next_obs, action)
        cost = self._divergence(state.policy, batch.next_obs, batch.next_history)
        target = td_target(batch.reward, batch.discount, value, cost, alpha)
        state, critic_metrics = self.learn_critics(state, batch, target)
        state, policy_metrics, _ = self.learn_policy(
            state,
            batch.obs,
            keys.policy,
            jnp.zeros_like(batch.reward),
            penalty=lambda policy: self._divergence(policy, batch.obs, batch.history),
        )
        metrics = {"losses/kl": cost.mean()}
        return self.follow(state), critic_metrics | policy_metrics | metrics

    def _divergence(self, policy: Policy, obs: Array, history: Array) -> Values:
        def of_one(obs, history):
            context = self.prior.scaled(self.prior.context(history, obs))
            assert isinstance(self.prior.model, Gaussian)
            return gaussian_kl(*policy(obs), *self.prior.model.moments(context))

        return jax.vmap(of_one)(obs, history)

    @cached_property
    def _ask(self) -> Callable[[np.uint32, np.ndarray, np.ndarray], Array]:
        """One sample of the prior, compiled with its weights inside."""

        def ask(seed, history, obs):
            context = self.prior.context(history.ravel(), obs)
            return self.prior.sample(jax.random.key(seed, impl="rbg"), context)

        return jax.jit(ask)
