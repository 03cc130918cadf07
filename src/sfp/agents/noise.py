"""SAC that explores with noise correlated in time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfp.agents.acting import shaken_action
from sfp.agents.base import Decision, Memory, Turn
from sfp.agents.sac import SAC
from sfp.nets.policy import Policy
from sfp.noise.processes import Noise, squash


@dataclass(frozen=True, eq=False)
class Noisy(SAC):
    """a = tanh(μ(s) + σ(s) ε_t), where ε_t is standard normal but not independent.

    Only acting changes: updates draw independent noise, as SAC's do. The noise belongs
    to an episode and begins anew with it.

    Attributes:
        noise: where ε_t comes from.
    """

    noise: Noise = field(kw_only=True)

    def begin(self, rng: np.random.Generator) -> Memory:
        """Noise for one episode."""
        history = super().begin(rng).history
        return Memory(history, self.noise.begin(rng, 1, self.action_size))

    def act(self, actor: Policy, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """Uniform actions at first, correlated like the noise; then the policy."""
        noise, walk = self.noise.draw(memory.walk, turn.rng)
        if turn.phase == "warmup":
            action = squash(noise)[0]
        else:
            action = shaken_action(actor, turn.obs, noise[0])
        return Decision(action, action, {}), memory._replace(walk=walk)
