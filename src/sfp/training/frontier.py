"""The frontier: in the warm-up, set out from where few have been.

An explorer begins every episode at the start, so that most of its steps are spent where
it has been before. A map of the visited places leads it back to a rare one first, by
actions that led there before; from there it goes on as it always does. The map knows
which action led from one place to another: nothing is learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sfp.data.places import Places, Way

MEASURED = 500
"""Time steps of mere exploration, after which it is known what is near."""

NEAR = 0.1
"""A place is as wide as a usual step, and at least this many standard deviations of
each dimension."""

RARITY = 2.0
"""A place is chosen in proportion to its visits to minus this power."""

PATIENCE = 3
"""A trip is given up after this many times the steps that it should take."""

KEPT = ("target", "stays", "left")
"""What a checkpoint keeps of a trip; the rest follows from what was told."""


class Told(NamedTuple):
    """A time step.

    Attributes:
        rollout: whose it is; ~rollout if an episode begins with it.
        point: where it came to.
        action: that led there.
    """

    rollout: int
    point: Float[np.ndarray, " dims"]
    action: Float[np.ndarray, " action"]


@dataclass
class Trip:
    """What one environment's rollout is about.

    Attributes:
        here: the place where it is; -1 before there is a map.
        point: where exactly.
        target: the place to go to; -1 while it explores.
        stays: how many steps it still explores.
        left: how many steps it may still take to get there.
        way: to the target.
    """

    here: int = -1
    point: np.ndarray | None = None
    target: int = -1
    stays: int = 0
    left: int = 0
    way: Way | None = None


class Frontier:
    """Leads the rollouts of a warm-up to rare places; one map for all of them.

    Its map is a function of all that it was told, which `arrays` holds.

    Args:
        stays: steps of exploration between two trips.
        rollouts: how many there are.
        alike: whether all dimensions have the same unit, as those of a goal have.
    """

    def __init__(self, stays: int, rollouts: int, *, alike: bool = True):
        self.stays, self.alike = stays, alike
        self.trips = [Trip() for _ in range(rollouts)]
        self._told: list[Told] = []
        self._map: Places | None = None

    def begin(self, rollout: int, point: np.ndarray, dims: int) -> None:
        """A new episode begins here."""
        blank = np.zeros(dims, np.float32)
        self._tell(Told(~rollout, point, blank))

    def see(self, rollout: int, action: np.ndarray, point: np.ndarray) -> None:
        """An action led here."""
        self._tell(Told(rollout, point, action))

    def look_again(self) -> None:
        """Find the ways anew: a resumed run does so, and so must every run."""
        for trip in self.trips:
            if trip.target >= 0 and self._map:
                trip.way = self._map.way_to(trip.target)

    def lead(self, rollout: int, rng: np.random.Generator) -> np.ndarray | None:
        """The action to take; None lets the explorer act."""
        trip, places = self.trips[rollout], self._map
        if places is None:
            return None
        if trip.stays > 0:
            trip.stays -= 1
            return None
        if trip.target < 0:
            rarity = places.visits**-RARITY
            trip.target = int(rng.choice(len(places), p=rarity / rarity.sum()))
            trip.way = places.way_to(trip.target)
            trip.left = PATIENCE * int(trip.way.length[trip.here]) + PATIENCE
        action = self._onwards(trip, places, rng)
        trip.left -= 1
        if action is None:
            trip.target, trip.way, trip.stays = -1, None, self.stays - 1
        return action

    def _onwards(
        self, trip: Trip, places: Places, rng: np.random.Generator
    ) -> np.ndarray | None:
        """The next action of a trip; None at its end."""
        here, way = trip.here, trip.way
        assert way is not None
        assert trip.point is not None
        if not way.knows(here):
            here = places.on_the_way(trip.point, way)
        if here in (trip.target, -1) or trip.left == 0:
            return None
        return places.action(here, int(way.next[here]), rng)

    def saved(self) -> dict[str, Any]:
        """What a checkpoint says of it besides its arrays."""
        trips = [[getattr(trip, name) for name in KEPT] for trip in self.trips]
        return {"told": len(self._told), "trips": trips}

    def arrays(self, saved: dict[str, Any], point: int, dims: int) -> dict[str, Any]:
        """All that it was told; blank if a checkpoint says of another number."""
        told = saved["told"]
        made = {
            "rollout": np.zeros(told, np.int64),
            "point": np.zeros((told, point), np.float32),
            "action": np.zeros((told, dims), np.float32),
        }
        if len(self._told) == told:
            for i, row in enumerate(self._told):
                for column, value in zip(made.values(), row, strict=True):
                    column[i] = value
        return made

    def restore(self, saved: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Come back to what was stored."""
        columns = (np.asarray(arrays[name]) for name in Told._fields)
        for rollout, point, action in zip(*columns, strict=True):
            self._tell(Told(int(rollout), point, action))
        for trip, told in zip(self.trips, saved["trips"], strict=True):
            for name, value in zip(KEPT, told, strict=True):
                setattr(trip, name, value)
            if self._map is None or trip.target >= len(self._map):
                trip.target = -1

    def check(self, saved: dict[str, Any]) -> None:
        """Raise unless `restore` can work with this."""
        if len(saved["trips"]) != len(self.trips):
            raise ValueError(f"{len(saved['trips'])} trips")
        for number in [saved["told"], *(n for trip in saved["trips"] for n in trip)]:
            if type(number) is not int or not -1 <= number < 2**31:
                raise TypeError(f"a trip has {str(number)[:40]!r}")

    def _tell(self, told: Told) -> None:
        self._told.append(told)
        if self._map is not None:
            self._draw(told)
        elif len(self._told) == MEASURED:
            self._map = _measured(self._told, alike=self.alike)
            for each in self._told:
                self._draw(each)

    def _draw(self, told: Told) -> None:
        """Enter a time step into the map."""
        assert self._map is not None
        there = self._map.visit(told.point)
        if told.rollout < 0:
            self.trips[~told.rollout] = Trip(there, told.point)
            return
        trip = self.trips[told.rollout]
        self._map.join(trip.here, there, told.action)
        trip.here, trip.point = there, told.point


def _measured(told: list[Told], *, alike: bool) -> Places:
    """An empty map whose places are as wide as a usual step, or somewhat wider."""
    points = np.array([each.point for each in told], np.float64)
    spread = points.std(axis=0)
    if alike:
        spread = np.full_like(spread, np.sqrt((spread**2).mean()))
    scale = np.where(spread > 0, spread, 1.0)
    last: dict[int, np.ndarray] = {}
    steps = []
    for each, point in zip(told, points / scale, strict=True):
        if each.rollout >= 0:
            steps.append(np.linalg.norm(point - last[each.rollout]))
        last[max(each.rollout, ~each.rollout)] = point
    usual = float(np.median(steps)) if steps else 0.0
    varies = int((spread > 0).sum())
    return Places(scale, max(usual, NEAR * np.sqrt(max(varies, 1))))
