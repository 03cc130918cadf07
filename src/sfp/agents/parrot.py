"""PARROT: SAC in the noise space of a flow, a = f(z; context)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfp.agents.base import Decision, Memory, Turn
from sfp.agents.controller import Controller, Through, Warped, compile_warp
from sfp.agents.sac import SAC, Actor
from sfp.nets.policy import shaken_action
from sfp.priors.base import Prior


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
        return Memory(self.prior.conditioning.begin(self.prior.seeds, rng))

    def act(self, actor: Actor, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """The flow's own actions at first (uniform u), then those of the policy."""
        rng, dims = turn.rng, self.spec.action
        if turn.phase != "train":
            unit = turn.uniform(dims)
        else:
            noise = rng.standard_normal(dims, np.float32)
            unit = shaken_action(actor.policy, actor.encoder(turn.obs), noise)
        action = self._through(unit, memory.history, turn.obs)
        history = self.prior.conditioning.push(memory.history, action)
        return Decision(action, unit, {}), Memory(history)

    def controller(self, actor: Actor) -> Controller:
        """The policy's mean through the flow."""
        return Warped(actor.encoder, actor.policy, self.prior, through=self._through)

    @cached_property
    def _through(self) -> Through:
        return compile_warp(self.prior)
