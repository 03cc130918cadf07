"""How a point moves among walls: the one transition function of every maze."""

import numpy as np

from sfp.envs.layout import Layout
from sfp.types import Positions

REPULSION = 0.01
"""A wall that is hit pushes the point back by up to this much, at random."""

HAIR = 1e-9
"""A point never stands on the line between two cells, so its cell is never in doubt."""


class Motion:
    def __init__(self, layout: Layout):
        self._free = layout.padded.ravel()
        self._stride = layout.padded.shape[1]
        self._corner = np.array(layout.origin, float) - 1.0

    def __call__(
        self, position: Positions, move: Positions, rng: np.random.Generator
    ) -> Positions:
        """Move every point by up to one cell per axis and let it slide along walls.

        A wall stops the motion perpendicular to it for the rest of the step and lets
        the other component go on. As no move is longer than a cell, a point meets at
        most one vertical and one horizontal grid line; they are crossed in the order in
        which the straight way meets them, each only if the cell behind it is free.
        """
        cell = np.rint(position)
        target = position + move
        step = np.minimum(np.maximum(np.rint(target) - cell, -1.0), 1.0)
        # Time to the line on each axis, both times |move_x| |move_y|: no division.
        gap = np.abs(cell + 0.5 * step - position)
        reach = np.abs(move)
        x_first = gap[:, 0] * reach[:, 1] <= gap[:, 1] * reach[:, 0]

        index = (cell - self._corner).astype(np.intp)
        here = index[:, 0] * self._stride + index[:, 1]
        jump = step.astype(np.intp)
        jump_x, jump_y = jump[:, 0] * self._stride, jump[:, 1]
        first = np.where(x_first, jump_x, jump_y)
        first_open = self._free[here + first]
        here = here + first * first_open
        second_open = self._free[here + np.where(x_first, jump_y, jump_x)]

        is_open = np.empty(step.shape, bool)
        is_open[:, 0] = np.where(x_first, first_open, second_open)
        is_open[:, 1] = np.where(x_first, second_open, first_open)
        cell += step * is_open
        half = np.full(step.shape, 0.5 - HAIR)
        if not is_open.all():
            hit = ~is_open
            push = rng.random(np.count_nonzero(hit))
            half[hit] = 0.5 - HAIR - (REPULSION - HAIR) * push
        return np.minimum(np.maximum(target, cell - half), cell + half)
