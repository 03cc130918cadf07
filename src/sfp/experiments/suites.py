"""The table of suites: which tasks an experiment visits, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfp.envs.manipulation import MANIPULATIONS
from sfp.errors import unknown

PAPER_STEPS = 125 * 4000
"""125 epochs of 4000 steps."""


@dataclass(frozen=True)
class Suite:
    """Tasks that share an action space.

    Attributes:
        training: the task whose recordings the priors are learned from.
        small: steps of a run at scale `small`, by task; the training task is one.
        coverage: the task whose coverage is measured (Table 1).
        hopeless: tasks that no method of the paper solves; `small` leaves them out.
        easy: tasks for which weak exploration is enough: SAC with hindsight solved
            them with its first seeds.
    """

    training: str
    small: Mapping[str, int]
    coverage: str
    hopeless: frozenset[str] = frozenset()
    easy: frozenset[str] = frozenset()

    @property
    def tasks(self) -> tuple[str, ...]:
        """All that are learned, the training task first."""
        return tuple(self.small)

    @property
    def downstream(self) -> tuple[str, ...]:
        """All others: what is averaged in the paper's figures."""
        return tuple(task for task in self.small if task != self.training)

    def visited(self, scale: str) -> tuple[str, ...]:
        """What an experiment learns unless told otherwise."""
        left_out = frozenset() if scale == "paper" else self.hopeless
        return tuple(task for task in self.small if task not in left_out)

    def steps(self, task: str, scale: str) -> int:
        """Of a run."""
        return PAPER_STEPS if scale == "paper" else self.small[task]


SUITES: dict[str, Suite] = {
    "point-maze": Suite(
        training="room",
        small={"room": 16_000, "maze": 40_000, "corridor": 60_000},
        coverage="room-large",
        easy=frozenset({"corridor"}),
    ),
    "meta-world": Suite(
        training="reach",
        small=dict.fromkeys(
            ("reach", *(t for t in MANIPULATIONS if t != "reach")), 60_000
        ),
        coverage="reach",
        hopeless=frozenset({"push", "pick-place", "peg-insert-side"}),
        easy=frozenset({"drawer-close"}),
    ),
}


def get_suite(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise unknown("suite", name, SUITES, "See `sfp reproduce --help`.")
    return SUITES[name]
