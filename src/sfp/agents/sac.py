"""Soft Actor-Critic: twin critics, target networks, a tanh-Gaussian policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.base import Decision, Keys, Memory, Metrics, Turn, make_replay
from sfp.agents.controller import Controller, Greedy
from sfp.agents.losses import (
    Scalar,
    Values,
    critic_loss,
    policy_loss,
    td_target,
    temperature_loss,
)
from sfp.config import EntropyWeight, Networks, Schedule
from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.exploration.family import Explorer, Follower, Seen, Uniform
from sfp.nets.encoder import make_encoder, random_shift
from sfp.nets.layernorm import NormedMLP
from sfp.nets.mlp import MLP
from sfp.nets.policy import Policy, shaken_action
from sfp.observation import Obs, Spec

Critics = tuple[MLP, MLP]
Features = Float[Array, "batch features"]


class SACState(NamedTuple):
    """All that SAC learns, with its optimisers."""

    policy: Policy
    critics: Critics
    targets: Critics
    log_alpha: Scalar
    policy_adam: optax.OptState
    critic_adam: optax.OptState
    alpha_adam: optax.OptState
    encoder: Any
    target_encoder: Any
    encoder_adam: optax.OptState


class Actor(NamedTuple):
    """What acting needs."""

    encoder: Any
    policy: Policy


@dataclass(frozen=True, eq=False)
class SAC:
    """SAC with fixed α (the paper) or a tuned one.

    Attributes:
        spec: sizes of observations and actions.
        alpha: the inverse of the reward scale; the beginning of it if it is tuned.
        networks: sizes and optimisation; its `alpha` has been settled by now.
        explorer: acts in the warm-up, and shakes the policy afterwards; None lets the
            policy act from the first step.
        critic: makes a critic's network from its layer sizes.
    """

    spec: Spec
    alpha: float = 0.2
    networks: Networks = field(default_factory=Networks)
    explorer: Explorer | None = field(default_factory=Uniform)
    critic: Callable[..., MLP] = MLP
    spread: tuple[str, ...] = ()

    def __post_init__(self):
        if self.networks.critic_norm and self.critic not in (MLP, NormedMLP):
            raise SfpError(
                f"expected critic_norm or a critic of your own, received both "
                f"({getattr(self.critic, '__name__', self.critic)}): set critic_norm "
                "to False."
            )

    @property
    def adam(self) -> optax.GradientTransformation:
        """The optimiser of every network."""
        return optax.adam(self.networks.learning_rate, b1=0.9, b2=0.999)

    def init(self, key: PRNGKeyArray) -> SACState:
        """Fresh networks; the targets are the critics."""
        policy_key, first_key, second_key = jax.random.split(key, 3)
        width, depth = self.networks.width, self.networks.depth
        encoder, features = make_encoder(
            self.spec, self.networks.encoder, key=jax.random.fold_in(key, 4)
        )
        dims = self.spec.action
        policy = Policy(features, dims, width=width, depth=depth, key=policy_key)
        sizes = [features + dims, *[width] * depth, 1]
        critic = NormedMLP if self.networks.critic_norm else self.critic
        critics = critic(sizes, key=first_key), critic(sizes, key=second_key)
        log_alpha = jnp.log(self.alpha)
        init = self.adam.init
        optimisers = init(policy), init(critics), init(log_alpha)  # pyright: ignore[reportArgumentType]
        targets, behind = jax.tree.map(jnp.copy, (critics, encoder))
        adam = init(encoder) if jax.tree.leaves(encoder) else ()
        return SACState(
            policy, critics, targets, log_alpha, *optimisers, encoder, behind, adam
        )

    def replay(self, schedule: Schedule, environment: Environment) -> EpisodeReplay:
        """A plain one."""
        return make_replay(self, schedule, environment)

    def prepare(self, state: SACState, key: PRNGKeyArray) -> SACState:
        """Nothing to learn from yet."""
        return state

    def actor(self, state: SACState) -> Actor:
        """The policy, and what it sees by."""
        return Actor(state.encoder, state.policy)

    def begin(self, rng: np.random.Generator) -> Memory:
        """What the explorer remembers."""
        none = np.zeros((0, self.spec.action), np.float32)
        if self.explorer is None:
            return Memory(none)
        seen = self._seen(self.spec.obs())
        return Memory(none, self.explorer.begin(rng, seen, self.spec.action))

    def act(self, actor: Actor, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """The explorer at first, then the policy, shaken by the explorer's noise."""
        explorer, rng, dims = self.explorer, turn.rng, self.spec.action
        if turn.given is not None:
            held = memory.explorer
            if isinstance(explorer, Follower):
                held = explorer.follow(held, turn.given)
            return Decision(turn.given, turn.given, {}), memory._replace(explorer=held)
        if turn.phase == "uniform":
            action = turn.uniform(dims)
            return Decision(action, action, {}), memory
        if explorer is None:
            held, noise = memory.explorer, rng.standard_normal(dims, np.float32)
        elif turn.phase == "warmup":
            actions, held = explorer.act(memory.explorer, self._seen(turn.obs), rng)
            action = actions[0].astype(np.float32)
            return Decision(action, action, {}), memory._replace(explorer=held)
        else:
            noise, held = explorer.perturb(memory.explorer, rng, dims)
        action = shaken_action(actor.policy, actor.encoder(turn.obs), noise)
        return Decision(action, action, {}), memory._replace(explorer=held)

    def controller(self, actor: Actor) -> Controller:
        """The policy's mean."""
        return Greedy(actor.encoder, actor.policy)

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "steps history"]
    ) -> Float[Array, "steps bank proposals"]:
        """Nothing: there is no prior."""
        return jnp.zeros((len(histories), 0, self.spec.action))

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SACState, Metrics]:
        """Critics, policy, targets; and α if it is tuned."""
        keys, alpha = Keys.split(key), jnp.exp(state.log_alpha)
        batch = self.shifted(batch, key)
        ahead = self.look_ahead(state, batch.next_obs)
        action, log_prob = sample(state.policy, keys.target, ahead.features)
        value = min_q(state.targets, ahead.target, action)
        target = td_target(batch.reward, batch.discount, value, log_prob, alpha)
        state, critic_metrics, features = self.learn_critics(state, batch, target)
        no_mixing = jnp.zeros_like(batch.reward)
        state, policy_metrics, _ = self.learn_policy(
            state, features, keys.policy, no_mixing
        )
        return self.follow(state), critic_metrics | policy_metrics

    def shifted(self, batch: Batch, key: PRNGKeyArray) -> Batch:
        """The batch with its images moved at random, if they shall be."""
        most, parts = self.networks.shift, []
        if not (most and self.spec.image):
            return batch
        for number, obs in enumerate((batch.obs, batch.next_obs), 4):
            own = jax.random.fold_in(key, number)
            parts.append(obs._replace(image=random_shift(own, obs.image, most)))
        return batch._replace(obs=parts[0], next_obs=parts[1])

    def look_ahead(self, state: SACState, next_obs: Obs) -> Ahead:
        """The features of s_{t+n}."""
        features = state.encoder(next_obs)
        slow = self.networks.target_encoder
        return Ahead(features, state.target_encoder(next_obs) if slow else features)

    def learn_critics(
        self, state: SACState, batch: Batch, target: Values
    ) -> tuple[SACState, Metrics, Features]:
        """Towards the target, the encoder with them; also returns features of s_t."""

        def loss(learned):
            critics, encoder = learned
            features = encoder(batch.obs)
            q = q_values(critics, features, batch.action)
            return critic_loss(q, jax.lax.stop_gradient(target)), (q, features)

        (value, (q, features)), (gradient, inner) = jax.value_and_grad(
            loss, has_aux=True
        )((state.critics, state.encoder))
        critics, adam = descend(self.adam, gradient, state.critic_adam, state.critics)
        state = state._replace(critics=critics, critic_adam=adam)
        if jax.tree.leaves(state.encoder):  # the plain one has nothing to learn
            encoder, own = descend(self.adam, inner, state.encoder_adam, state.encoder)
            state = state._replace(encoder=encoder, encoder_adam=own)
        metrics = {"losses/critic": value, "losses/q": q.mean()}
        return state, metrics, jax.lax.stop_gradient(features)

    def learn_policy(
        self,
        state: SACState,
        features: Features,
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
            action, log_prob = sample(policy, key, features)
            q = min_q(state.critics, features, action)
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
            (state.targets, state.target_encoder),
            (state.critics, state.encoder),
        )
        return state._replace(targets=targets[0], target_encoder=targets[1])

    def _seen(self, obs: Obs) -> Seen:
        """What the explorer may look at: one rollout."""
        return Seen(obs.state[None], np.concatenate([obs.state, obs.goal])[None])

    def _tune(self, state: SACState, log_prob: Values) -> SACState:
        gradient = jax.grad(temperature_loss)(
            state.log_alpha, log_prob, -float(self.spec.action)
        )
        log_alpha, adam = descend(
            self.adam, gradient, state.alpha_adam, state.log_alpha
        )
        return state._replace(log_alpha=log_alpha, alpha_adam=adam)


class Ahead(NamedTuple):
    """Features of s_{t+n}: for the policy, and for the target critics."""

    features: Features
    target: Features


def sample(
    policy: Policy, key: PRNGKeyArray, features: Features
) -> tuple[Float[Array, "batch dims"], Values]:
    """An action for every state, with its log-probability."""
    return jax.vmap(policy.sample)(jax.random.split(key, len(features)), features)


def q_values(
    critics: Critics, features: Features, action: Float[Array, "batch dims"]
) -> Float[Array, "critics batch"]:
    """Q_i(s, a) of both critics."""
    seen = jnp.concatenate([features, action], axis=1)
    return jnp.stack([jax.vmap(critic)(seen)[:, 0] for critic in critics])


def min_q(
    critics: Critics, features: Features, action: Float[Array, "batch dims"]
) -> Values:
    """min_i Q_i(s, a)."""
    return q_values(critics, features, action).min(axis=0)


def descend(
    optimiser: optax.GradientTransformation, gradient: Any, state: Any, parameters: Any
) -> tuple[Any, Any]:
    """One step of an optimiser."""
    update, state = optimiser.update(gradient, state, parameters)
    return optax.apply_updates(parameters, update), state
