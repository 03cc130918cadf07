"""The direction to walk in: straight to the goal, or along the shortest way."""

import numpy as np

from sfp.envs.layout import NEIGHBOURS, Layout
from sfp.types import Positions

KEPT = 50_000_000
"""Cells, in all, of the fields that are remembered: two bytes each."""


class Wayfinder:
    """Points every position to its goal without running into walls.

    In an open room that is the straight line. Among walls it is the centre of the next
    cell on a shortest way; two adjacent cells are convex together, so the line is free.
    """

    def __init__(self, layout: Layout):
        self._layout = layout
        self._origin = np.array(layout.origin)
        self._number = np.full(layout.free.shape, -1)
        self._number[layout.free] = np.arange(len(layout.cells))
        self._fields: dict[int, np.ndarray] = {}

    def draw_goal(self, count: int, rng: np.random.Generator) -> Positions:
        cells = self._layout.cells
        cell = cells[rng.integers(len(cells), size=count)]
        return cell + rng.uniform(-0.5, 0.5, size=(count, 2))

    def direction(self, position: Positions, goal: Positions) -> Positions:
        """Unit vectors to walk along (zero for a point on its goal)."""
        waypoint = goal if self._layout.is_open else self._waypoint(position, goal)
        gap = waypoint - position
        length = np.sqrt((gap * gap).sum(axis=1, keepdims=True))
        return np.divide(gap, length, out=np.zeros_like(gap), where=length > 0)

    def _waypoint(self, position: Positions, goal: Positions) -> Positions:
        cell = np.rint(position).astype(int)
        here = cell - self._origin
        there = np.rint(goal).astype(int) - self._origin
        number = self._number[there[:, 0], there[:, 1]]
        waypoint = np.empty_like(position)
        for target in np.unique(number):
            mine = number == target
            turn = self._field(int(target))[here[mine, 0], here[mine, 1]]
            waypoint[mine] = cell[mine] + turn
        arrived = (here == there).all(axis=1)
        waypoint[arrived] = goal[arrived]
        return waypoint

    def _field(self, target: int) -> np.ndarray:
        """From every cell, the step to the next one on a shortest way to `target`."""
        if target not in self._fields:
            cell = self._layout.cells[target]
            distance = np.pad(self._layout.distances(cell), 1)
            distance[distance < 0] = distance.size
            distance[~self._layout.padded] = distance.size
            near = [np.roll(distance, (-dx, -dy), (0, 1)) for dx, dy in NEIGHBOURS]
            best = np.argmin(near, axis=0)[1:-1, 1:-1]
            if len(self._fields) * best.size > KEPT:
                self._fields.clear()
            self._fields[target] = np.array(NEIGHBOURS, np.int8)[best]
        return self._fields[target]
