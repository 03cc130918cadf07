"""The frontier: before a reward is known, set out from where few have been.

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

STEPS, NEAR = 1.5, 0.1
"""A place is as wide as this many usual steps, and at least as this many standard
deviations of each dimension."""

RARITY = 2.0
"""A place is chosen in proportion to its visits to minus this power."""

PATIENCE = 3
"""A trip is given up after this many times the steps that it should take."""

TRIES = 3
"""Actions that lead nowhere, after which they are forgotten."""

KEPT = ("target", "stays", "left", "tries")
"""What a checkpoint keeps of a trip; the rest follows from what was told."""


class Told(NamedTuple):
    """A time step.

    Attributes:
        rollout: whose it is; ~rollout if an episode begins with it.
        next: the place that it was led to from where it was, or -1.
        point: where it came to.
        action: that led there.
    """

    rollout: int
    next: int
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
        next: the place that it shall be in after this step; -1 if it is not led, or
            not from where it is.
        tries: how many led steps in a row have not left the place.
        way: to the target.
    """

    here: int = -1
    point: np.ndarray | None = None
    target: int = -1
    stays: int = 0
    left: int = 0
    next: int = -1
    tries: int = 0
    way: Way | None = None


class Frontier:
    """Leads the rollouts of a warm-up to rare places; one map for all of them.

    Its map is a function of all that it was told, which `arrays` holds.

    Args:
        stays: steps of exploration between two trips.
        rollouts: how many there are.
    """

    def __init__(self, stays: int, rollouts: int):
        self.stays = stays
        self.trips = [Trip() for _ in range(rollouts)]
        self._told: list[Told] = []
        self._map: Places | None = None

    def begin(self, rollout: int, point: np.ndarray, dims: int) -> None:
        """A new episode begins here."""
        self._tell(Told(~rollout, -1, point, np.zeros(dims, np.float32)))

    def see(self, rollout: int, action: np.ndarray, point: np.ndarray) -> None:
        """An action led here."""
        self._tell(Told(rollout, self.trips[rollout].next, point, action))

    def look_again(self) -> None:
        """Find the ways anew: a resumed run does so, and so must every run."""
        for trip in self.trips:
            if trip.target >= 0 and self._map:
                trip.way = self._map.way_to(trip.target)

    def lead(self, rollout: int, rng: np.random.Generator) -> np.ndarray | None:
        """The action to take; None lets the explorer act."""
        trip, places = self.trips[rollout], self._map
        trip.next = -1
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
        action = self._onwards(trip, places)
        trip.left -= 1
        if action is None:
            trip.target, trip.way, trip.stays = -1, None, self.stays - 1
        return action

    def _onwards(self, trip: Trip, places: Places) -> np.ndarray | None:
        """The next action of a trip; None at its end."""
        here, way = trip.here, trip.way
        assert way is not None
        assert trip.point is not None
        if not way.knows(here):
            here = places.on_the_way(trip.point, way)
        if here in (trip.target, -1) or trip.left == 0:
            return None
        following = int(way.next[here])
        action = places.action(here, following)  # None if forgotten by now
        if action is not None and here == trip.here:
            trip.next = following
        return action

    def saved(self) -> dict[str, Any]:
        """What a checkpoint says of it besides its arrays."""
        trips = [[getattr(trip, name) for name in KEPT] for trip in self.trips]
        return {"told": len(self._told), "trips": trips}

    def arrays(self, saved: dict[str, Any], point: int, dims: int) -> dict[str, Any]:
        """All that it was told; blank if a checkpoint says of another number."""
        told = saved["told"]
        made = {
            "rollout": np.zeros(told, np.int64),
            "next": np.zeros(told, np.int64),
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
        for rollout, following, point, action in zip(*columns, strict=True):
            self._tell(Told(int(rollout), int(following), point, action))
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
            self._map = _measured(self._told)
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
        stuck = told.next >= 0 and there == trip.here
        trip.tries = trip.tries + 1 if stuck else 0
        if trip.tries == TRIES:
            self._map.part(trip.here, told.next)
            trip.tries = 0
        trip.here, trip.point = there, told.point


def _measured(told: list[Told]) -> Places:
    """An empty map whose places are somewhat wider than a usual step."""
    points = np.array([each.point for each in told], np.float64)
    spread = points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    last: dict[int, np.ndarray] = {}
    steps = []
    for each, point in zip(told, points / scale, strict=True):
        if each.rollout >= 0:
            steps.append(np.linalg.norm(point - last[each.rollout]))
        last[max(each.rollout, ~each.rollout)] = point
    usual = float(np.median(steps)) if steps else 0.0
    varies = int((spread > 0).sum())
    return Places(scale, max(STEPS * usual, NEAR * np.sqrt(max(varies, 1))))
