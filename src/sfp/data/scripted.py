"""The scripted policy of the paper's appendix: walk from random goal to random goal."""

import numpy as np

from sfp.envs.layout import Layout
from sfp.envs.wayfinder import Wayfinder
from sfp.types import Positions

SPEED = 0.9
"""Scales unit vector plus noise into the limits, so that next to nothing is clipped."""

NOISE = 0.05
"""Standard deviation of the Gaussian noise, per dimension."""

REACHED = 0.5
PATIENCE = 60
"""A new goal is drawn within `REACHED` of the old one or after `PATIENCE` steps."""


class Scripted:
    """Reaches uniformly drawn goals with a noisy unit step, many points at once.

    The action is `SPEED * (unit vector to the goal + N(0, NOISE²))`, clipped. Among
    walls the unit vector follows the shortest way.
    """

    def __init__(
        self,
        layout: Layout,
        position: Positions,
        rng: np.random.Generator,
        *,
        noise: float = NOISE,
    ):
        self._way = Wayfinder(layout)
        self._noise = noise
        self.goal = self._way.draw_goal(len(position), rng)
        self._age = np.zeros(len(position), int)

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """One action for every point; `self.goal` is what it walks to."""
        gap = self.goal - position
        done = (gap * gap).sum(axis=1) <= REACHED**2
        done |= self._age >= PATIENCE
        if done.any():
            self.goal = self.goal.copy()
            self.goal[done] = self._way.draw_goal(int(done.sum()), rng)
            self._age[done] = 0
        self._age += 1
        unit = self._way.direction(position, self.goal)
        noisy = unit + self._noise * rng.standard_normal(unit.shape)
        return np.clip(SPEED * noisy, -1.0, 1.0)
