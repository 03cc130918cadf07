"""Acting by skills: a latent is chosen, and a decoder acts on it for some steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sfp.nets.policy import Policy, shaken_action
from sfp.observation import Obs
from sfp.priors.base import Prior
from sfp.priors.skills import Skills

REACH = 4.0
"""A policy's latent is z = 4 tanh(u / 4), which is u up to 2 % where |u| < 1: a policy
that begins as the prior chooses the prior's skills."""


class Deciding(NamedTuple):
    """The skill that is going on.

    Attributes:
        chosen: its latent as the policy's action, z / 4 within [-1, 1].
        plan: the actions of an open loop; a closed loop needs none.
        left: steps of it that are left.
    """

    chosen: np.ndarray
    plan: np.ndarray
    left: np.ndarray

    @classmethod
    def begin(cls, skills: Skills) -> Deciding:
        """None is going on."""
        steps = 0 if skills.closed else skills.horizon
        plan = np.zeros((steps, skills.dims), np.float32)
        return cls(np.zeros(skills.latent, np.float32), plan, np.array(0, np.int64))


def skills_of(prior: Prior) -> Skills:
    """The model of a prior that is known to hold skills."""
    assert isinstance(prior.model, Skills)
    return prior.model


def decide(
    prior: Prior, held: Deciding, obs: Obs, chosen: np.ndarray | None
) -> tuple[np.ndarray, Deciding]:
    """The next action of the skill, or the first of a new one that was `chosen`.

    The prior's weights are NumPy arrays. A decoded action is cut off at the bounds, so
    that what was recorded at a bound stays there.
    """
    skills = skills_of(prior)
    if chosen is not None:
        plan = held.plan if skills.closed else skills.plan(REACH * chosen)
        left = np.array(skills.horizon, np.int64)
        held = Deciding(chosen, np.asarray(plan, np.float32), left)
    if skills.closed:
        seen = np.concatenate([obs.state, obs.goal])[: len(prior.frame.state_mean)]
        scaled = (seen - prior.frame.state_mean) / prior.frame.state_deviation
        action = skills.step(REACH * held.chosen, scaled.astype(np.float32))
    else:
        action = held.plan[skills.horizon - int(held.left)]
    action = np.clip(action, -1.0, 1.0).astype(np.float32)
    return action, held._replace(left=held.left - 1)


def latent_policy(prior: Prior, inputs: int) -> Policy:
    """p(z | s) as a policy over z / 4 that sees unscaled observations.

    The standardisation of states goes into the first layer, and numbers that the prior
    does not see get no weight; the mean is divided by 4, and so is the deviation.
    """
    net, frame = skills_of(prior).prior, prior.frame
    seen = len(frame.state_mean)
    first = net.weights[0] / frame.state_deviation[:, None]
    bias = net.biases[0] - frame.state_mean @ first
    first = jnp.concatenate([first, jnp.zeros((inputs - seen, first.shape[1]))])
    last, latent = net.weights[-1], skills_of(prior).latent
    scale = jnp.where(jnp.arange(2 * latent) < latent, 1.0 / REACH, 1.0)
    shift = jnp.where(jnp.arange(2 * latent) < latent, 0.0, -jnp.log(REACH))
    weights = (first, *net.weights[1:-1], last * scale[None])
    biases = (bias, *net.biases[1:-1], net.biases[-1] * scale + shift)
    made = eqx.tree_at(lambda net: (net.weights, net.biases), net, (weights, biases))
    blank = Policy(1, 1, width=1, depth=1, key=jax.random.key(0))
    return eqx.tree_at(lambda policy: policy.net, blank, made)


class Skilled:
    """The mean of a policy over skills, and their decoder.

    Args:
        encoder: from an observation to features, NumPy weights.
        policy: π over latents, NumPy weights.
        prior: with the skills, in scaled actions.
    """

    def __init__(self, encoder: Any, policy: Policy, prior: Prior):
        self.encoder, self.policy, self.prior = encoder, policy, prior

    def begin(self, rng: np.random.Generator) -> Deciding:
        """No skill yet."""
        return Deciding.begin(skills_of(self.prior))

    def act(
        self,
        memory: Deciding,
        obs: Obs,
        rng: np.random.Generator,
        *,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Deciding]:
        """The mean of the policy when a skill is over; a sample if asked for."""
        chosen = None
        if memory.left == 0:
            noise = np.zeros(skills_of(self.prior).latent, np.float32)
            if not deterministic:
                noise = rng.standard_normal(len(noise), np.float32)
            features = self.encoder(obs)
            chosen = shaken_action(self.policy, features, noise).astype(np.float32)
        return decide(self.prior, memory, obs, chosen)
