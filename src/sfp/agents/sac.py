"""Soft Actor-Critic: twin critics, target networks, a tanh-Gaussian policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.acting import draw_action, mean_action
from sfp.agents.base import Act, Decision, Keys, Memory, Metrics, Turn
from sfp.agents.losses import (
    Scalar,
    Values,
    critic_loss,
    policy_loss,
    td_target,
    temperature_loss,
)
from sfp.config import EntropyWeight, Networks
from sfp.data.batch import Batch
from sfp.nets.mlp import MLP
from sfp.nets.policy import Policy

Critics = tuple[MLP, MLP]


class SACState(NamedTuple):
    """All that SAC learns, with its optimisers."""

    policy: Policy
    critics: Critics
    targets: Critics
    log_alpha: Scalar
    policy_adam: optax.OptState
    critic_adam: optax.OptState
    alpha_adam: optax.OptState


@dataclass(frozen=True)
class SAC:
    """SAC with fixed α (the paper) or a tuned one.

    Attributes:
        obs_size: numbers in s_t, the goal included.
        action_size: numbers in a_t.
        alpha: the inverse of the reward scale; the beginning of it if it is tuned.
        networks: sizes and optimisation; its `alpha` has been settled by now.
    """

    obs_size: int
    action_size: int
    alpha: float = 0.2
    networks: Networks = field(default_factory=Networks)

    @property
    def adam(self) -> optax.GradientTransformation:
        """The optimiser of every network."""
        return optax.adam(self.networks.learning_rate, b1=0.9, b2=0.999)

    def init(self, key: PRNGKeyArray) -> SACState:
        """Fresh networks; the targets are the critics."""
        policy_key, first_key, second_key = jax.random.split(key, 3)
        width, depth = self.networks.width, self.networks.depth
        policy = Policy(
            self.obs_size, self.action_size, width=width, depth=depth, key=policy_key
        )
        sizes = [self.obs_size + self.action_size, *[width] * depth, 1]
        critics = self.critic(sizes, first_key), self.critic(sizes, second_key)
        log_alpha = jnp.log(self.alpha)
        init = self.adam.init
        optimisers = init(policy), init(critics), init(log_alpha)  # pyright: ignore[reportArgumentType]
        targets = jax.tree.map(jnp.copy, critics)
        return SACState(policy, critics, targets, log_alpha, *optimisers)

    def critic(self, sizes: Sequence[int], key: PRNGKeyArray) -> MLP:
        """A fresh critic."""
        return MLP(sizes, key=key)

    def prepare(self, state: SACState, key: PRNGKeyArray) -> SACState:
        """Nothing to learn from yet."""
        return state

    def actor(self, state: SACState) -> Policy:
        """The policy."""
        return state.policy

    @property
    def bank(self) -> int:
        """There is no prior."""
        return 0

    def begin(self, rng: np.random.Generator) -> Memory:
        """Nothing to remember."""
        return Memory(np.zeros((0, self.action_size), np.float32))

    def act(self, actor: Policy, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """A uniform action at first, then one of the policy."""
        if turn.phase == "warmup":
            action = turn.rng.uniform(-1.0, 1.0, self.action_size).astype(np.float32)
        else:
            action = draw_action(actor, turn.obs, turn.rng)
        return Decision(action, action, {}), memory

    def tester(self, actor: Policy, rng: np.random.Generator) -> Act:
        """The policy's mean."""
        return partial(mean_action, actor)

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "moments history"]
    ) -> Float[Array, "moments bank dims"]:
        """Nothing: there is no prior."""
        return jnp.zeros((len(histories), 0, self.action_size))

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SACState, Metrics]:
        """Critics, policy, targets; and α if it is tuned."""
        keys, alpha = Keys.split(key), jnp.exp(state.log_alpha)
        action, log_prob = sample(state.policy, keys.target, batch.next_obs)
        value = min_q(state.targets, batch.next_obs, action)
        target = td_target(batch.reward, batch.discount, value, log_prob, alpha)
        state, critic_metrics = self.learn_critics(state, batch, target)
        no_mixing = jnp.zeros_like(batch.reward)
        state, policy_metrics, _ = self.learn_policy(
            state, batch.obs, keys.policy, no_mixing
        )
        return self.follow(state), critic_metrics | policy_metrics

    def learn_critics(
        self, state: SACState, batch: Batch, target: Values
    ) -> tuple[SACState, Metrics]:
        """Towards the target."""

        def loss(critics):
            q = q_values(critics, batch.obs, batch.action)
            return critic_loss(q, jax.lax.stop_gradient(target)), q

        (value, q), gradient = jax.value_and_grad(loss, has_aux=True)(state.critics)
        critics, adam = descend(self.adam, gradient, state.critic_adam, state.critics)
        metrics = {"losses/critic": value, "losses/q": q.mean()}
        return state._replace(critics=critics, critic_adam=adam), metrics

    def learn_policy(
        self,
        state: SACState,
        obs: Array,
        key: PRNGKeyArray,
        mixing: Values,
        *,
        entropy_weight: EntropyWeight = "mixed",
        penalty: Callable[[Policy], Values] | None = None,
    ) -> tuple[SACState, Metrics, Values]:
        """Towards the critics; also returns min_i Q_i(s, a), a ~ π.

        `penalty` takes the place of log π(a | s) in the loss.
        """
        alpha = jnp.exp(state.log_alpha)

        def loss(policy):
            action, log_prob = sample(policy, key, obs)
            q = min_q(state.critics, obs, action)
            cost = penalty(policy) if penalty else log_prob
            value = policy_loss(q, cost, mixing, alpha, entropy_weight)
            return value, (q, log_prob)

        (value, (q, log_prob)), gradient = jax.value_and_grad(loss, has_aux=True)(
            state.policy
        )
        policy, adam = descend(self.adam, gradient, state.policy_adam, state.policy)
        state = state._replace(policy=policy, policy_adam=adam)
        metrics = {"losses/policy": value, "losses/entropy": -log_prob.mean()}
        if self.networks.tune_alpha:
            state = self._tune(state, log_prob)
            metrics["losses/alpha"] = jnp.exp(state.log_alpha)
        return state, metrics, q

    def follow(self, state: SACState) -> SACState:
        """Polyak averaging: θ' becomes ρ θ' + (1 - ρ) θ."""
        rho = self.networks.polyak
        targets = jax.tree.map(
            lambda slow, fast: rho * slow + (1.0 - rho) * fast,
            state.targets,
            state.critics,
        )
        return state._replace(targets=targets)

    def _tune(self, state: SACState, log_prob: Values) -> SACState:
        gradient = jax.grad(temperature_loss)(
            state.log_alpha, log_prob, -float(self.action_size)
        )
        log_alpha, adam = descend(
            self.adam, gradient, state.alpha_adam, state.log_alpha
        )
        return state._replace(log_alpha=log_alpha, alpha_adam=adam)


def sample(
    policy: Policy, key: PRNGKeyArray, obs: Float[Array, "batch obs"]
) -> tuple[Float[Array, "batch dims"], Values]:
    """An action for every state, with its log-probability."""
    return jax.vmap(policy.sample)(jax.random.split(key, len(obs)), obs)


def q_values(
    critics: Critics, obs: Float[Array, "batch obs"], action: Float[Array, "batch dims"]
) -> Float[Array, "critics batch"]:
    """Q_i(s, a) of both critics."""
    seen = jnp.concatenate([obs, action], axis=1)
    return jnp.stack([jax.vmap(critic)(seen)[:, 0] for critic in critics])


def min_q(
    critics: Critics, obs: Float[Array, "batch obs"], action: Float[Array, "batch dims"]
) -> Values:
    """min_i Q_i(s, a)."""
    return q_values(critics, obs, action).min(axis=0)


def descend(
    optimiser: optax.GradientTransformation, gradient: Any, state: Any, parameters: Any
) -> tuple[Any, Any]:
    """One step of an optimiser."""
    update, state = optimiser.update(gradient, state, parameters)
    return optax.apply_updates(parameters, update), state
