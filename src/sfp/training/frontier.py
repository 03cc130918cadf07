"""The frontier: whoever explores sets out from where few have been.

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
        ended: whether it terminated the episode.
        point: where it came to.
        action: that led there.
    """

    rollout: int
    ended: bool
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
    """Leads rollouts that explore to rare places; one map for all of them.

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
        self._deadly: set[int] = set()

    def begin(self, rollout: int, point: np.ndarray, dims: int) -> None:
        """A new episode begins here."""
        blank = np.zeros(dims, np.float32)
        self._tell(Told(~rollout, ended=False, point=point, action=blank))

    def see(
        self, rollout: int, action: np.ndarray, point: np.ndarray, *, ended: bool
    ) -> None:
        """An action led here, and perhaps terminated the episode."""
        self._tell(Told(rollout, ended, point, action))

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
            rarity[list(self._deadly)] = 0.0
            trip.target = int(rng.choice(len(places), p=rarity / rarity.sum()))
            trip.way = places.way_to(trip.target)
            begin = max(0, self._place_of(trip, places))
            trip.left = PATIENCE * (int(trip.way.length[begin]) + 1)
        action = self._onwards(trip, places, rng)
        trip.left -= 1
        if action is None:
            trip.target, trip.way, trip.stays = -1, None, self.stays - 1
        return action

    def _onwards(
        self, trip: Trip, places: Places, rng: np.random.Generator
    ) -> np.ndarray | None:
        """The next action of a trip; None at its end."""
        here = self._place_of(trip, places)
        if here in (trip.target, -1) or trip.left == 0:
            return None
        assert trip.way is not None
        return places.action(here, int(trip.way.next[here]), rng)

    @staticmethod
    def _place_of(trip: Trip, places: Places) -> int:
        """Where it is on its way, or near by; -1 if it is far from it."""
        assert trip.way is not None
        assert trip.point is not None
        if trip.way.knows(trip.here):
            return trip.here
        return places.on_the_way(trip.point, trip.way)

    def saved(self) -> dict[str, Any]:
        """What a checkpoint says of it besides its arrays."""
        trips = [[getattr(trip, name) for name in KEPT] for trip in self.trips]
        return {"told": len(self._told), "trips": trips}

    def arrays(self, saved: dict[str, Any], point: int, dims: int) -> dict[str, Any]:
        """All that it was told; blank if a checkpoint says of another number."""
        told = saved["told"]
        made = {
            "rollout": np.zeros(told, np.int64),
            "ended": np.zeros(told, bool),
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
        for rollout, ended, *rest in zip(*columns, strict=True):
            self._tell(Told(int(rollout), bool(ended), *rest))
        for trip, told in zip(self.trips, saved["trips"], strict=True):
            for name, value in zip(KEPT, told, strict=True):
                setattr(trip, name, value)
            if self._map is None or trip.target >= len(self._map):
                trip.target = -1

    def check(self, saved: dict[str, Any]) -> None:
        """Raise unless `restore` can work with this."""
        sizes = [len(trip) for trip in saved["trips"]]
        if sizes != [len(KEPT)] * len(self.trips) or saved["told"] == -1:
            raise ValueError(f"trips of {sizes} numbers")
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
        if there == len(self._map) - 1 and self._map.visits[there] == 1 and told.ended:
            self._deadly.add(there)
        elif not told.ended:
            self._deadly.discard(there)
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
