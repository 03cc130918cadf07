"""PARROT: SAC in the noise space of a flow, a = f(z; context)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Array

from sfp.agents.acting import draw_action, mean_action
from sfp.agents.base import Act, Decision, Memory, Turn, draw_seed, shifted
from sfp.agents.sac import SAC
from sfp.nets.policy import Policy
from sfp.priors.base import Prior
from sfp.priors.warp import warp

Warped = Callable[[np.ndarray, np.ndarray, np.ndarray], Array]
"""From u, the last actions and the state to an action."""


@dataclass(frozen=True, eq=False)
class Parrot(SAC):
    """SAC whose actions u in [-1, 1] a flow turns into actions of the data.

    Policy and critics live in u throughout; only the environment, and the flow's own
    context, see f(z(u); context). With a flow that sees the state (PARROT-state) that
    is another environment; with a state-free one (PARROT-action) the last actions
    become part of its hidden state, which policy and critics do not see.

    Attributes:
        prior: the flow, in scaled actions.
    """

    prior: Prior = field(kw_only=True)

    def begin(self, rng: np.random.Generator) -> Memory:
        """H_0: consecutive actions from the data, if the flow sees any."""
        return Memory(draw_seed(self.prior, rng))

    def act(self, actor: Policy, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """The flow's own actions at first (uniform u), then those of the policy."""
        if turn.phase == "warmup":
            unit = turn.rng.uniform(-1.0, 1.0, self.action_size).astype(np.float32)
        else:
            unit = draw_action(actor, turn.obs, turn.rng)
        action = np.asarray(self.warped(unit, memory.history, turn.obs))
        return Decision(action, unit, {}), Memory(shifted(memory.history, action))

    def tester(self, actor: Policy, rng: np.random.Generator) -> Act:
        """The policy's mean through the flow."""
        return warping(self.warped, draw_seed(self.prior, rng), actor)

    @cached_property
    def warped(self) -> Warped:
        """The map, compiled with its weights inside."""
        return compile_warp(self.prior)


def compile_warp(prior: Prior) -> Warped:
    """The map of a flow, for one action at a time."""

    def warped(unit, history, state):
        return warp(prior, unit, prior.context(history.ravel(), state))

    return jax.jit(warped)


def warping(warped: Warped, history: np.ndarray, policy: Policy) -> Act:
    """Acts through one episode: the mean of a policy, through a flow that remembers."""
    past = history

    def act(obs: np.ndarray) -> np.ndarray:
        nonlocal past
        action = np.asarray(warped(mean_action(policy, obs), past, obs))
        past = shifted(past, action)
        return action

    return act
