"""SAC with a prior mixed in (Algorithm 1): a ~ (1 - Λ(s)) π(a | s) + Λ(s) π̄(a | H)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.acting import draw_action, forward, mean_action
from sfp.agents.base import (
    Act,
    Decision,
    Keys,
    Memory,
    Metrics,
    Turn,
    draw_seed,
    shifted,
)
from sfp.agents.losses import (
    Values,
    choose,
    expected_value,
    mixing_loss,
    td_target,
)
from sfp.agents.sac import SAC, SACState, descend, min_q, sample
from sfp.config import Mixture, Networks
from sfp.data.batch import Batch
from sfp.nets.mlp import MLP
from sfp.nets.policy import Policy
from sfp.priors.base import Prior


class SFPState(NamedTuple):
    """SAC's state, Λ and its optimiser."""

    sac: SACState
    mixing: MLP
    mixing_adam: optax.OptState


class Actor(NamedTuple):
    """What acting needs."""

    policy: Policy
    mixing: MLP


@dataclass(frozen=True, eq=False)
class SFP:
    """SAC, mixed with a prior as far as Λ(s) trusts it.

    Attributes:
        obs_size: numbers in s_t, the goal included.
        action_size: numbers in a_t.
        prior: π̄, in scaled actions (see `unit_prior`).
        alpha: the inverse of the reward scale.
        networks: SAC's sizes and optimisation.
        mixture: how the prior is mixed in.
    """

    obs_size: int
    action_size: int
    prior: Prior
    alpha: float = 0.01
    networks: Networks = field(default_factory=Networks)
    mixture: Mixture = field(default_factory=Mixture)

    @property
    def sac(self) -> SAC:
        """The learner that the prior is mixed into."""
        return SAC(self.obs_size, self.action_size, self.alpha, self.networks)

    @property
    def bank(self) -> int:
        """Proposals kept per moment."""
        return 0 if self.prior.conditioning.state else self.mixture.bank

    @property
    def adam(self) -> optax.GradientTransformation:
        """Λ's optimiser."""
        return optax.chain(
            optax.scale(self.mixture.mixing_gradient_scale), self.sac.adam
        )

    def init(self, key: PRNGKeyArray) -> SFPState:
        """SAC's networks from the same key, and Λ with bias σ⁻¹(mixing_start)."""
        mixture = self.mixture
        sizes = [self.obs_size, *[mixture.mixing_width] * mixture.mixing_depth, 1]
        # SAC splits its three keys from `key`, and they are its folds 0, 1 and 2.
        net = MLP(sizes, key=jax.random.fold_in(key, 3))
        bias = jnp.full(1, jnp.log(mixture.mixing_start / (1.0 - mixture.mixing_start)))
        net = eqx.tree_at(lambda net: net.biases[-1], net, bias)
        return SFPState(self.sac.init(key), net, self.adam.init(net))  # pyright: ignore[reportArgumentType]

    def prepare(self, state: SFPState, key: PRNGKeyArray) -> SFPState:
        """The prior has been learned already."""
        return state

    def actor(self, state: SFPState) -> Actor:
        """The policy and Λ."""
        return Actor(state.sac.policy, state.mixing)

    def begin(self, rng: np.random.Generator) -> Memory:
        """H_0: consecutive actions from the data."""
        return Memory(draw_seed(self.prior, rng))

    def act(self, actor: Actor, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """Algorithm 1, lines 7, 8 and 10; the warm-up takes λ = 1."""
        mixing = self._trust(actor.mixing, turn.obs)
        by_prior = turn.phase == "warmup" or turn.rng.random() < mixing
        if by_prior:
            action = continued = self._draw(memory, turn.obs, turn.rng)
        else:
            action = continued = draw_action(actor.policy, turn.obs, turn.rng)
            if self.mixture.context == "stream":
                continued = self._draw(memory, turn.obs, turn.rng)
        history = shifted(memory.history, continued)
        info = {"mixing": mixing, "prior": float(by_prior)}
        return Decision(action, action, info), Memory(history)

    def tester(self, actor: Actor, rng: np.random.Generator) -> Act:
        """The policy's mean: the prior has no part in a test."""
        return partial(mean_action, actor.policy)

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "moments history"]
    ) -> Float[Array, "moments bank dims"]:
        """What a state-free prior would do at some moments, a few times each."""
        keys = jax.random.split(key, (len(histories), self.bank))
        often = jax.vmap(self.prior.sample, in_axes=(0, None))
        return jax.vmap(often)(keys, histories)

    def mixing(self, net: MLP, obs: Float[Array, " obs"]) -> Float[Array, ""]:
        """λ = Λ(s)."""
        if self.mixture.mixing_fixed is not None:
            return jnp.asarray(self.mixture.mixing_fixed, jnp.float32)
        return jax.nn.sigmoid(net(obs)[0])

    def update(
        self, state: SFPState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SFPState, Metrics]:
        """θ, φ and ω: critics, policy, Λ, targets."""
        keys = Keys.split(key)
        now_key, next_key = jax.random.split(keys.prior)
        proposal = self._propose(now_key, batch.proposal, batch.history, batch.obs)
        next_proposal = self._propose(
            next_key, batch.next_proposal, batch.next_history, batch.next_obs
        )
        mixing = self._mixings(state.mixing, batch.obs)
        target = self._target(state, batch, next_proposal, keys)
        sac, critic_metrics = self.sac.learn_critics(state.sac, batch, target)
        sac, policy_metrics, q_policy = self.sac.learn_policy(
            sac,
            batch.obs,
            keys.policy,
            mixing,
            entropy_weight=self.mixture.entropy_weight,
        )
        at, q_prior = batch.obs, min_q(sac.critics, batch.obs, proposal)
        if self.mixture.mixing_loss_at == "next":
            at = batch.next_obs
            q_prior = min_q(sac.critics, at, next_proposal)
            q_policy = min_q(sac.critics, at, sample(sac.policy, keys.policy, at)[0])
        state, mixing_metrics = self._learn_mixing(state, at, q_prior, q_policy)
        state = state._replace(sac=self.sac.follow(sac))
        return state, critic_metrics | policy_metrics | mixing_metrics

    def _target(
        self, state: SFPState, batch: Batch, next_proposal: Array, keys: Keys
    ) -> Values:
        """y, with ã' from the mixture at s_{t+n}."""
        sac = state.sac
        mixing = self._mixings(state.mixing, batch.next_obs)
        action, log_prob = sample(sac.policy, keys.target, batch.next_obs)
        q = partial(min_q, sac.targets, batch.next_obs)
        if self.mixture.td_value == "expected":
            value = expected_value(mixing, q(next_proposal), q(action))
        else:
            by_prior = jax.random.uniform(keys.choice, mixing.shape) < mixing
            value = q(choose(by_prior, next_proposal, action))
        alpha = jnp.exp(sac.log_alpha)
        return td_target(batch.reward, batch.discount, value, log_prob, alpha)

    def _learn_mixing(
        self, state: SFPState, obs: Array, q_prior: Values, q_policy: Values
    ) -> tuple[SFPState, Metrics]:
        """Λ towards whichever of prior and policy the critics prefer."""

        def loss(net):
            mixing = self._mixings(net, obs)
            return mixing_loss(mixing, q_prior, q_policy), mixing

        (value, mixing), gradient = jax.value_and_grad(loss, has_aux=True)(state.mixing)
        net, adam = descend(self.adam, gradient, state.mixing_adam, state.mixing)
        metrics = {
            "losses/mixing": value,
            "losses/q_prior_minus_policy": (q_prior - q_policy).mean(),
            "mixing/replay": mixing.mean(),
        }
        return state._replace(mixing=net, mixing_adam=adam), metrics

    def _mixings(self, net: MLP, obs: Array) -> Values:
        return jax.vmap(self.mixing, in_axes=(None, 0))(net, obs)

    def _draw(
        self, memory: Memory, obs: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """One action of the prior."""
        context = memory.history.ravel()
        if self.prior.conditioning.state:
            seen = obs[: len(self.prior.frame.state_mean)]
            context = np.concatenate([context, seen])
        return np.asarray(self._ask(rng.integers(2**32, dtype=np.uint32), context))

    @cached_property
    def _ask(self) -> Callable[[np.uint32, np.ndarray], Array]:
        """One sample of the prior, compiled with its weights inside.

        Philox (`rbg`) draws one action's noise in one operation; Threefry's many small
        ones would take a fifth of the call.
        """

        def ask(seed, context):
            return self.prior.sample(jax.random.key(seed, impl="rbg"), context)

        return jax.jit(ask)

    def _trust(self, net: MLP, obs: np.ndarray) -> float:
        """λ for one state, in NumPy."""
        if self.mixture.mixing_fixed is not None:
            return self.mixture.mixing_fixed
        return float(1.0 / (1.0 + np.exp(-forward(net, obs)[0])))

    def _propose(
        self, key: PRNGKeyArray, kept: Array, history: Array, obs: Array
    ) -> Float[Array, "batch dims"]:
        """Proposals for a batch: those kept in the replay, or new ones."""
        if self.bank:
            return kept
        contexts = jax.vmap(self.prior.context)(history, obs)
        keys = jax.random.split(key, len(obs))
        return jax.vmap(self.prior.sample)(keys, contexts)
