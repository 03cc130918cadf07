"""SAC with a prior mixed in (Algorithm 1): a ~ (1 - Λ(s)) π(a | s) + Λ(s) π̄(a | H)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.base import Decision, Keys, Memory, Metrics, Turn, make_replay
from sfp.agents.controller import Controller, Greedy
from sfp.agents.losses import (
    Values,
    Weights,
    best_value,
    choose,
    expected_value,
    td_target,
)
from sfp.agents.mixing import Mixing
from sfp.agents.sac import SAC, Ahead, Features, SACState, min_q, sample
from sfp.agents.tosses import Tosses, among, whose
from sfp.config import Mixture, Networks, Schedule, settle
from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay
from sfp.envs.adapter import Environment
from sfp.nets.mlp import MLP
from sfp.nets.policy import Policy, shaken_action
from sfp.observation import Obs, Spec
from sfp.priors.base import Prior
from sfp.priors.sampler import Sampler

Proposals = Float[Array, "batch priors dims"]


def prior_column(k: int, what: str = "") -> str:
    """Where the tables keep what is known of prior k; people count from 1."""
    return f"mixing/{k + 1}/{what}" if what else f"mixing/{k + 1}"


class SFPState(NamedTuple):
    """SAC's state, Λ and its optimiser."""

    sac: SACState
    mixing: MLP
    mixing_adam: optax.OptState


class Actor(NamedTuple):
    """What acting needs."""

    encoder: Any
    policy: Policy
    mixing: MLP


@dataclass(frozen=True, eq=False)
class SFP:
    """SAC, mixed with priors as far as Λ(s) trusts them.

    Attributes:
        spec: sizes of observations and actions.
        priors: π̄_1 to π̄_K, in scaled actions (see `unit_prior`).
        alpha: the inverse of the reward scale.
        networks: SAC's sizes and optimisation.
        mixture: how the priors are mixed in.
    """

    spec: Spec
    priors: tuple[Prior, ...]
    alpha: float = 0.01
    networks: Networks = field(default_factory=Networks)
    mixture: Mixture = field(default_factory=Mixture)
    spread: tuple[str, ...] = ("mixing",)

    def __post_init__(self):
        settle(self.mixture, {})  # refuses what does not go together

    @property
    def sac(self) -> SAC:
        """The learner that the priors are mixed into."""
        return SAC(self.spec, self.alpha, self.networks)

    @cached_property
    def mixing(self) -> Mixing:
        """Λ, and how it learns."""
        return Mixing(self.components, self.mixture, self.sac.adam)

    @property
    def bank(self) -> int:
        """Proposals kept per time step."""
        return 0 if self.sees_states and self.components == 1 else self.mixture.bank

    @property
    def components(self) -> int:
        """K, the number of priors."""
        return len(self.priors)

    @property
    def sees_states(self) -> bool:
        """Whether a prior sees the state."""
        return any(prior.conditioning.state for prior in self.priors)

    @property
    def tests_mixture(self) -> bool:
        """Whether tests show what the mixture does, too."""
        asked = self.mixture.test_mixture
        return self.components > 1 if asked is None else asked

    @cached_property
    def each_step(self) -> SFP:
        """The same with a toss at every step, as the paper defines the mixture.

        Tests take it whatever `commit` training has: with one toss an episode, a test
        would depend on the component that the toss fell to.
        """
        return replace(self, mixture=replace(self.mixture, commit=1.0))

    def replay(self, schedule: Schedule, environment: Environment) -> EpisodeReplay:
        """With a bank of proposals.

        A goal given in hindsight is not the one that a prior saw which sees states: of
        such priors nothing is kept then.
        """
        kept = self._proposing(states=not schedule.hindsight)
        bank, priors = (self.bank, len(kept)) if kept else (0, self.components)
        return make_replay(self, schedule, environment, bank=bank, priors=priors)

    def init(self, key: PRNGKeyArray) -> SFPState:
        """SAC's networks from the same key, and Λ."""
        sac = self.sac.init(key)
        features = sac.policy.net.weights[0].shape[0]
        # SAC splits its three keys from `key`, and they are its folds 0, 1 and 2.
        return SFPState(sac, *self.mixing.init(jax.random.fold_in(key, 3), features))

    def prepare(self, state: SFPState, key: PRNGKeyArray) -> SFPState:
        """The prior has been learned already."""
        return state

    def actor(self, state: SFPState) -> Actor:
        """The policy and Λ, and what they see by."""
        return Actor(state.sac.encoder, state.sac.policy, state.mixing)

    def begin(self, rng: np.random.Generator) -> Memory:
        """H_0: consecutive actions from the data of each prior; no toss is kept yet."""
        seeds = [p.conditioning.begin(p.seeds, rng) for p in self.priors]
        return Memory(np.concatenate(seeds), self._tosses.begin())

    def act(self, actor: Actor, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """Algorithm 1, lines 7, 8 and 10; the warm-up takes priors only."""
        features, rng = actor.encoder(turn.obs), turn.rng
        logits = actor.mixing(features)
        weights = np.atleast_1d(np.asarray(self.mixing.weights(logits)))
        toss, who = memory.explorer, 0
        if turn.phase == "train" or len(weights) > 1:
            coin, toss = self._tosses.toss(toss, rng)
            who = (whose if turn.phase == "train" else among)(weights, coin)
        proposals: dict[int, np.ndarray] = {}
        if turn.given is not None:
            who, action = len(self.priors), turn.given
        elif turn.phase == "uniform":
            who, action = len(self.priors), turn.uniform(self.spec.action)
        elif who < len(self.priors):
            action = proposals[who] = self._draw(who, memory, turn.obs, rng)
        else:
            noise = rng.standard_normal(self.spec.action, np.float32)
            action = shaken_action(actor.policy, features, noise)
        history = []
        for k, part in enumerate(self._parts):
            own = action
            if self.mixture.context == "stream":
                if k not in proposals:
                    proposals[k] = self._draw(k, memory, turn.obs, rng)
                own = proposals[k]
            push = self.priors[k].conditioning.push
            history.append(push(memory.history[part], own))
        by_prior = float(who < len(self.priors))
        info = {"mixing": float(weights.sum()), "mixing/prior_share": by_prior}
        if len(weights) > 1:
            for k, weight in enumerate(weights):
                info[prior_column(k)] = float(weight)
                info[prior_column(k, "acted")] = float(who == k)
        return Decision(action, action, info), Memory(np.concatenate(history), toss)

    def controller(self, actor: Actor) -> Controller:
        """The policy's mean: the priors have no part in a test."""
        return Greedy(actor.encoder, actor.policy)

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "steps history"]
    ) -> Float[Array, "steps bank proposals"]:
        """What priors would do at some time steps, a few times each.

        Priors that see states and goals propose only if these stand behind the
        histories.
        """
        dims, made = self.spec.action, []
        histories, states = jnp.split(histories, [self._parts[-1].stop * dims], axis=1)
        for k in self._proposing(states=states.shape[1] > 0):
            prior = self.priors[k]
            own = key if k == 0 else jax.random.fold_in(key, k)
            keys = jax.random.split(own, (len(histories), self.bank))
            often = jax.vmap(prior.sample, in_axes=(0, None))
            contexts = jax.vmap(prior.context)(self._flat(histories, k), states)
            made.append(jax.vmap(often)(keys, contexts))
        return jnp.concatenate(made, axis=-1)

    def update(
        self, state: SFPState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SFPState, Metrics]:
        """θ, φ and ω: critics, policy, Λ, targets."""
        keys, batch = Keys.split(key), self.sac.shifted(batch, key)
        now_key, next_key = jax.random.split(keys.prior)
        proposal = self._propose(now_key, batch.proposal, batch.history, batch.obs)
        next_proposal = self._propose(
            next_key, batch.next_proposal, batch.next_history, batch.next_obs
        )
        ahead = self.sac.look_ahead(state.sac, batch.next_obs)
        target, asked = self._target(state, batch, ahead, next_proposal, keys)
        sac, critic_metrics, features = self.sac.learn_critics(state.sac, batch, target)
        mixing = self.mixing.of(state.mixing, features).sum(axis=1)
        sac, policy_metrics, q_policy = self.sac.learn_policy(
            sac,
            features,
            keys.policy,
            mixing,
            entropy_weight=self.mixture.entropy_weight,
        )
        at = features
        if self.mixture.mixing_loss_at == "target":
            assert asked is not None  # __post_init__
            at, (q_prior, q_policy) = ahead.features, asked
        else:
            if self.mixture.mixing_loss_at == "next":
                at, proposal = ahead.features, next_proposal
                action, _ = sample(sac.policy, keys.policy, at)
                q_policy = min_q(sac.critics, at, action)
            q_prior = self._values(sac.critics, at, proposal)
        if self.mixture.mixing_loss_at in ("next", "target"):
            # Where an episode ended there is nothing to decide, and no value is known.
            goes_on = batch.discount > 0.0
            q_prior, q_policy = q_prior * goes_on[:, None], q_policy * goes_on
        true = self.mixture.mixing_goals == "true"
        counted = 1.0 - batch.relabelled if true else None
        state, mixing_metrics = self._learn_mixing(
            state, at, q_prior, q_policy, counted
        )
        state = state._replace(sac=self.sac.follow(sac))
        return state, critic_metrics | policy_metrics | mixing_metrics

    def _target(
        self,
        state: SFPState,
        batch: Batch,
        ahead: Ahead,
        next_proposal: Proposals,
        keys: Keys,
    ) -> tuple[Values, tuple[Weights, Values] | None]:
        """y, with ã' from the mixture at s_{t+n}.

        Also the values of priors and policy there, if it was made of all of them.
        """
        sac, asked = state.sac, None
        weights = self.mixing.of(state.mixing, ahead.features)
        action, log_prob = sample(sac.policy, keys.target, ahead.features)
        kind = self.mixture.td_value
        if kind == "policy":
            value = min_q(sac.targets, ahead.target, action)
        elif kind in ("expected", "best"):
            asked = self._both(state, ahead, next_proposal, action)
            best = kind == "best"
            value = best_value(*asked) if best else expected_value(weights, *asked)
        else:
            coin = jax.random.uniform(keys.choice, batch.reward.shape)
            chosen = choose(coin, weights, next_proposal, action)
            value = min_q(sac.targets, ahead.target, chosen)
        alpha = jnp.exp(sac.log_alpha)
        made = td_target(batch.reward, batch.discount, value, log_prob, alpha)
        return made, asked

    def _both(
        self, state: SFPState, ahead: Ahead, proposals: Proposals, action: Array
    ) -> tuple[Weights, Values]:
        """The target critics' values at s_{t+n}: of every proposal, of the policy."""
        targets = state.sac.targets
        q_prior = self._values(targets, ahead.target, proposals)
        return q_prior, min_q(targets, ahead.target, action)

    def _learn_mixing(
        self,
        state: SFPState,
        features: Features,
        q_prior: Weights,
        q_policy: Values,
        counted: Values | None,
    ) -> tuple[SFPState, Metrics]:
        """Λ, and what is logged of it."""
        learned = self.mixing.learn(
            state.mixing, state.mixing_adam, features, (q_prior, q_policy), counted
        )
        metrics = {
            "losses/mixing": learned.loss,
            "losses/q_prior_minus_policy": (q_prior - q_policy[:, None]).mean(),
            "mixing/replay": learned.weights.sum(axis=1).mean(),
        }
        if self.components > 1:
            for k in range(self.components):
                better = (q_prior[:, k] - q_policy).mean()
                metrics[prior_column(k, "q_minus_policy")] = better
        return state._replace(mixing=learned.net, mixing_adam=learned.adam), metrics

    def _values(
        self, critics: Any, features: Features, proposals: Proposals
    ) -> Weights:
        """min_i Q_i(s, ā_k) of every prior's proposal."""
        made = [
            min_q(critics, features, proposals[:, k]) for k in range(self.components)
        ]
        return jnp.stack(made, axis=1)

    def _proposing(self, *, states: bool) -> list[int]:
        """The priors that can propose where states are shown, or where they are not."""
        seeing = [prior.conditioning.state for prior in self.priors]
        return [k for k, sees in enumerate(seeing) if states or not sees]

    @cached_property
    def _tosses(self) -> Tosses:
        commit = self.mixture.commit
        return Tosses() if commit is None else Tosses(commit)

    @cached_property
    def _parts(self) -> list[slice]:
        """The actions of a history that each prior sees."""
        counts = (prior.conditioning.past_actions for prior in self.priors)
        return [slice(*ends) for ends in pairwise(accumulate(counts, initial=0))]

    def _flat(self, histories: Array, k: int) -> Array:
        """What prior k sees of flattened histories."""
        part, dims = self._parts[k], self.spec.action
        return histories[..., part.start * dims : part.stop * dims]

    def _draw(
        self, k: int, memory: Memory, obs: Obs, rng: np.random.Generator
    ) -> np.ndarray:
        """One action of prior k."""
        state = np.concatenate([obs.state, obs.goal])
        return self._samplers[k](rng, memory.history[self._parts[k]], state)

    @cached_property
    def _samplers(self) -> list[Sampler]:
        return [Sampler(prior) for prior in self.priors]

    def _propose(
        self, key: PRNGKeyArray, kept: Array, histories: Array, obs: Obs
    ) -> Proposals:
        """Proposals for a batch: those kept in the replay, or new ones."""
        given = kept, histories, jnp.concatenate([obs.state, obs.goal], axis=1)
        made = [self._proposal(k, key, *given) for k in range(self.components)]
        return jnp.stack(made, axis=1)

    def _proposal(
        self, k: int, key: PRNGKeyArray, kept: Array, histories: Array, states: Array
    ) -> Float[Array, "batch dims"]:
        """What prior k proposes: what is kept of it, or a new draw."""
        kept = kept.reshape(len(kept), -1, self.spec.action)
        known = self._proposing(states=kept.shape[1] == len(self.priors))
        if kept.shape[1] and k in known:
            return kept[:, known.index(k)]
        prior = self.priors[k]
        contexts = jax.vmap(prior.context)(self._flat(histories, k), states)
        own = key if k == 0 else jax.random.fold_in(key, k)
        return jax.vmap(prior.sample)(jax.random.split(own, len(states)), contexts)
