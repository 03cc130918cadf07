"""A map of places: which were visited, how often, and which actions join them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

REMEMBERED = 8
"""Actions from one place to another that are kept, the newest ones."""

MOST = 5_000
"""Places; a point that is near none of so many is in the nearest one."""


class Way(NamedTuple):
    """How to get to one place from every place.

    Attributes:
        next: the place to go to next, -1 where no way is known; the target itself is
            next to the target.
        length: how many places are still to come.
    """

    next: Int[np.ndarray, " places"]
    length: Int[np.ndarray, " places"]

    def knows(self, place: int) -> bool:
        """Whether it leads from there."""
        return place < len(self.next) and bool(self.next[place] >= 0)


class Places:
    """Places at least `apart` from each other, numbered as they were found.

    Args:
        scale: the unit of every dimension.
        apart: two points nearer than this, in these units, are in one place.
    """

    def __init__(self, scale: Float[np.ndarray, " dims"], apart: float):
        self.scale, self.apart = scale, apart
        self._points = np.empty((64, len(scale)))
        self._visits = np.zeros(64)
        self._count = 0
        self._actions: list[dict[int, deque[np.ndarray]]] = []
        self._before: list[list[int]] = []

    def __len__(self) -> int:
        return self._count

    @property
    def visits(self) -> Float[np.ndarray, " places"]:
        """How many time steps were spent in each place."""
        return self._visits[: self._count]

    def visit(self, point: Float[np.ndarray, " dims"]) -> int:
        """The nearest place, or a new one if none is near."""
        if self._count:
            gaps = self._gaps(point)
            nearest = int(gaps.argmin())
            if gaps[nearest] <= self.apart or self._count == MOST:
                self._visits[nearest] += 1
                return nearest
        if self._count == len(self._points):
            self._points = np.concatenate([self._points, np.empty_like(self._points)])
            self._visits = np.concatenate([self._visits, np.zeros_like(self._visits)])
        self._points[self._count] = np.asarray(point) / self.scale
        self._visits[self._count] = 1
        self._count += 1
        self._actions.append({})
        self._before.append([])
        return self._count - 1

    def on_the_way(self, point: Float[np.ndarray, " dims"], way: Way) -> int:
        """The nearest place from which the way leads on; -1 if none is near.

        Who is led by actions of another day drifts, so it may be twice as far away.
        """
        gaps = np.where(way.next >= 0, self._gaps(point)[: len(way.next)], np.inf)
        nearest = int(gaps.argmin())
        return nearest if gaps[nearest] <= 2.0 * self.apart else -1

    def join(self, here: int, there: int, action: np.ndarray) -> None:
        """Remember that this action led from one place to another."""
        if here == there:
            return
        if there not in self._actions[here]:
            self._before[there].append(here)
            self._actions[here][there] = deque(maxlen=REMEMBERED)
        self._actions[here][there].append(action)

    def action(self, here: int, there: int, rng: np.random.Generator) -> np.ndarray:
        """One of the actions that led from one place to another.

        It may fail from another corner of the place: the next try draws again.
        """
        known = self._actions[here][there]
        return known[rng.integers(len(known))]

    def way_to(self, target: int) -> Way:
        """The shortest known way from every place, by breadth-first search."""
        following = np.full(self._count, -1)
        length = np.zeros(self._count, int)
        following[target] = target
        queue = deque([target])
        while queue:
            there = queue.popleft()
            for here in self._before[there]:
                if following[here] < 0:
                    following[here], length[here] = there, length[there] + 1
                    queue.append(here)
        return Way(following, length)

    def _gaps(self, point: Float[np.ndarray, " dims"]) -> Float[np.ndarray, " places"]:
        """Distances to all places."""
        apart = self._points[: self._count] - np.asarray(point) / self.scale
        return np.sqrt((apart**2).sum(axis=1))
