"""SAC with the KL divergence to a Gaussian prior in place of the entropy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from sfp.agents.base import Decision, Keys, Memory, Metrics, Turn
from sfp.agents.losses import Values, gaussian_kl, td_target
from sfp.agents.sac import SAC, Actor, Features, SACState, min_q, sample
from sfp.data.batch import Batch
from sfp.nets.policy import Policy, shaken_action
from sfp.observation import Obs
from sfp.priors.base import Prior
from sfp.priors.gaussian import Gaussian
from sfp.priors.sampler import Sampler


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
        return Memory(self.prior.conditioning.begin(self.prior.seeds, rng))

    def act(self, actor: Actor, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """Uniform actions or the prior's at first, then those of the policy."""
        if turn.given is not None:
            action = turn.given
        elif turn.phase == "warmup":
            state = np.concatenate([turn.obs.state, turn.obs.goal])
            action = self._sampler(turn.rng, memory.history, state)
        elif turn.phase == "uniform":
            action = turn.uniform(self.spec.action)
        else:
            noise = turn.rng.standard_normal(self.spec.action, np.float32)
            action = shaken_action(actor.policy, actor.encoder(turn.obs), noise)
        history = self.prior.conditioning.push(memory.history, action)
        return Decision(action, action, {}), Memory(history)

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SACState, Metrics]:
        """Critics, policy and targets, with the divergence where the entropy was."""
        keys, alpha = Keys.split(key), jnp.exp(state.log_alpha)
        batch = self.shifted(batch, key)
        ahead = self.look_ahead(state, batch.next_obs)
        action, _ = sample(state.policy, keys.target, ahead.features)
        value = min_q(state.targets, ahead.target, action)
        cost = self._divergence(
            state.policy, ahead.features, batch.next_obs, batch.next_history
        )
        target = td_target(batch.reward, batch.discount, value, cost, alpha)
        state, critic_metrics, features = self.learn_critics(state, batch, target)
        state, policy_metrics, _ = self.learn_policy(
            state,
            features,
            keys.policy,
            jnp.zeros_like(batch.reward),
            penalty=lambda policy: self._divergence(
                policy, features, batch.obs, batch.history
            ),
        )
        metrics = {"losses/kl": cost.mean()}
        return self.follow(state), critic_metrics | policy_metrics | metrics

    def _divergence(
        self, policy: Policy, features: Features, obs: Obs, history: Array
    ) -> Values:
        def of_one(features, state, history):
            context = self.prior.scaled(self.prior.context(history, state))
            assert isinstance(self.prior.model, Gaussian)
            return gaussian_kl(*policy(features), *self.prior.model.moments(context))

        states = jnp.concatenate([obs.state, obs.goal], axis=1)
        return jax.vmap(of_one)(features, states, history)

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.prior)
