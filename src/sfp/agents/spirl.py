"""SPiRL: SAC over skills, held near the prior p(z | s) by their divergence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.base import Decision, Keys, Memory, Metrics, Turn, make_replay
from sfp.agents.controller import Controller
from sfp.agents.losses import Values, gaussian_kl, td_target, temperature_loss
from sfp.agents.sac import SAC, Actor, Features, SACState, descend, min_q, sample
from sfp.agents.skilled import Deciding, Skilled, decide, latent_policy, skills_of
from sfp.config import Networks, Schedule
from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.nets.policy import Policy, shaken_action
from sfp.observation import Spec
from sfp.priors.base import Prior

CRITIC_DEPTH = 5
LEARNING_RATE = 3e-4
"""Of the reference, with its configuration for FrankaKitchen."""


@dataclass(frozen=True, eq=False)
class SPIRL:
    """A policy over skills: E[Q(s, z) - α KL(π(· | s) || p(· | s))].

    A skill lasts `horizon` time steps. The replay holds choices: s_t at the choice, z,
    the sum of rewards until the next choice, and the state there; n is 1. α keeps the
    divergence near its target.

    Attributes:
        spec: sizes of observations and actions.
        prior: of the model `skills` or `skills-open`, in scaled actions.
        target_divergence: δ, in nats.
        alpha: where the temperature begins.
        networks: width of the critics, and averaging rate.
    """

    spec: Spec
    prior: Prior
    target_divergence: float = 5.0
    alpha: float = 1.0
    networks: Networks = field(default_factory=Networks)
    spread: tuple[str, ...] = ()

    def __post_init__(self):
        if self.spec.image:
            raise SfpError(
                "method spirl needs states, this environment shows images: its skills "
                "are chosen by p(z | s)."
            )

    @cached_property
    def sac(self) -> SAC:
        """The learner, whose actions are latents within [-1, 1]."""
        sizes = replace(
            self.networks,
            depth=CRITIC_DEPTH,
            learning_rate=LEARNING_RATE,
            tune_alpha=False,
        )
        latent = skills_of(self.prior).latent
        return SAC(replace(self.spec, action=latent), self.alpha, sizes)

    @cached_property
    def start(self) -> Policy:
        """The policy that is the skill prior: learning begins with it."""
        with jax.ensure_compile_time_eval():  # it may be asked for in a program
            return latent_policy(self.prior, self.spec.inputs)

    def replay(self, schedule: Schedule, environment: Environment) -> EpisodeReplay:
        """Of choices, one at a time."""
        latent = skills_of(self.prior).latent
        return make_replay(
            self, replace(schedule, n_step=1), environment, chosen=latent
        )

    def init(self, key: PRNGKeyArray) -> SACState:
        """Critics from the key; the policy is the prior."""
        state = self.sac.init(key)
        policy = jax.tree.map(jnp.asarray, self.start)
        return state._replace(policy=policy, policy_adam=self.sac.adam.init(policy))  # pyright: ignore[reportArgumentType]

    def prepare(self, state: SACState, key: PRNGKeyArray) -> SACState:
        """The skills have been learned already."""
        return state

    def actor(self, state: SACState) -> Actor:
        """The policy over skills."""
        return Actor(state.encoder, state.policy)

    def begin(self, rng: np.random.Generator) -> Memory:
        """No skill yet."""
        none = np.zeros((0, self.spec.action), np.float32)
        return Memory(none, Deciding.begin(skills_of(self.prior)))

    def act(self, actor: Actor, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """A new skill when the last is over, at first by the prior."""
        held, chosen = memory.explorer, None
        if held.left == 0:
            features, size = actor.encoder(turn.obs), skills_of(self.prior).latent
            if turn.phase == "uniform":
                chosen = turn.uniform(size)
            else:
                policy = actor.policy if turn.phase == "train" else self._start
                noise = turn.rng.standard_normal(size, np.float32)
                chosen = shaken_action(policy, features, noise).astype(np.float32)
        action, held = decide(self._skilled, held, turn.obs, chosen)
        return Decision(action, chosen, {}), memory._replace(explorer=held)

    def controller(self, actor: Actor) -> Controller:
        """The mean of the policy over skills, and the decoder."""
        return Skilled(actor.encoder, actor.policy, self._skilled)

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "steps history"]
    ) -> Float[Array, "steps bank proposals"]:
        """Nothing is kept."""
        return jnp.zeros((len(histories), 0, self.spec.action))

    def update(
        self, state: SACState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[SACState, Metrics]:
        """Critics, policy, temperature and targets."""
        keys, alpha = Keys.split(key), jnp.exp(state.log_alpha)
        ahead = self.sac.look_ahead(state, batch.next_obs)
        latent, _ = sample(state.policy, keys.target, ahead.features)
        value = min_q(state.targets, ahead.target, latent)
        cost = self._divergence(state.policy, ahead.features)
        target = td_target(batch.reward, batch.discount, value, cost, alpha)
        state, critic_metrics, features = self.sac.learn_critics(state, batch, target)
        state, policy_metrics, _ = self.sac.learn_policy(
            state,
            features,
            keys.policy,
            jnp.zeros_like(batch.reward),
            penalty=lambda policy: self._divergence(policy, features),
        )
        divergence = self._divergence(state.policy, features)
        state = self._tune(state, divergence)
        metrics = {"losses/kl": divergence.mean(), "losses/alpha": alpha}
        return self.sac.follow(state), critic_metrics | policy_metrics | metrics

    def _tune(self, state: SACState, divergence: Values) -> SACState:
        """Raise α where the divergence exceeds δ, lower it elsewhere."""
        gradient = jax.grad(temperature_loss)(
            state.log_alpha, divergence, -self.target_divergence
        )
        log_alpha, adam = descend(
            self.sac.adam, gradient, state.alpha_adam, state.log_alpha
        )
        return state._replace(log_alpha=log_alpha, alpha_adam=adam)

    def _divergence(self, policy: Policy, features: Features) -> Values:
        """KL(π(· | s) || p(· | s)), in closed form: both are Gaussian before tanh."""

        def of_one(features):
            return gaussian_kl(*policy(features), *self.start(features))

        return jax.vmap(of_one)(features)

    @cached_property
    def _start(self) -> Policy:
        return jax.tree.map(np.asarray, self.start)

    @cached_property
    def _skilled(self) -> Prior:
        return jax.tree.map(np.asarray, self.prior)
