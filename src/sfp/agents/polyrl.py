"""SAC that explores with locally self-avoiding walks at first (PolyRL)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfp.agents.base import Decision, Memory, Turn
from sfp.agents.sac import SAC
from sfp.nets.policy import Policy
from sfp.noise.polyrl import PolyRL


@dataclass(frozen=True, eq=False)
class Walker(SAC):
    """SAC whose initial exploration walks: the only difference.

    Attributes:
        walk: PolyRL's parameters.
        seen: numbers of s_t that the walk measures its spread by: the observation
            without the goal.
    """

    walk: PolyRL = field(kw_only=True, default_factory=PolyRL)
    seen: int = field(kw_only=True)

    def begin(self, rng: np.random.Generator) -> Memory:
        """A walk that has not begun."""
        walk = self.walk.begin(1, self.action_size, np.zeros((1, self.seen)))
        return Memory(super().begin(rng).history, walk)

    def act(self, actor: Policy, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """A step of the walk at first, then an action of the policy."""
        if turn.phase != "warmup":
            return super().act(actor, memory, turn)
        here = np.asarray(turn.obs[None, : self.seen], float)
        action, walk = self.walk.draw(memory.walk, here, turn.rng)
        return Decision(action[0], action[0], {}), memory._replace(walk=walk)
