"""Claims: what a paper says of two methods, and what runs say to that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfp.experiments.claims import Measure
from sfp.report.groups import Group
from sfp.report.stats import (
    PAPER,
    Estimate,
    Protocol,
    Verdict,
    difference,
    improvement,
    verdict,
)

MEASURES: dict[Measure, str] = {
    "final": "final return",
    "whole": "mean return over training",
}
"""How runs are scored: by their last evaluations, or by all (who learns sooner)."""


@dataclass(frozen=True)
class Claim:
    """That one method does better than another.

    Attributes:
        text: what is claimed.
        better: label of the method that should have more return.
        worse: label of the other.
        tasks: where.
        measure: of which return.
        share: of the other's return that the first should exceed.
    """

    text: str
    better: str
    worse: str
    tasks: tuple[str, ...]
    measure: Measure = "final"
    share: float = 1.0

    @property
    def than(self) -> str:
        """What the first should have more than."""
        return self.worse if self.share == 1.0 else f"{self.share:g} x {self.worse}"


@dataclass(frozen=True)
class Pair:
    """One label against another, on the tasks that both have.

    Attributes:
        tasks: that both have.
        gap: how much more return the first has.
        better: probability that a run of the first beats one of the second.
        even: whether all runs have ended, those of a task after as many steps.
    """

    tasks: tuple[str, ...]
    gap: Estimate
    better: Estimate
    even: bool = True

    @property
    def verdict(self) -> Verdict:
        """On "the first has more return"; none if one side had more time."""
        return verdict(self.gap) if self.even else "undecided"


@dataclass(frozen=True)
class Checked:
    """A claim, and what came of it; `pair` is None if there are no runs for it."""

    claim: Claim
    pair: Pair | None

    @property
    def verdict(self) -> str:
        """`holds`, `does not`, `undecided` or `not run`."""
        return "not run" if self.pair is None else self.pair.verdict


def weigh(
    groups: Sequence[Group],
    labels: tuple[str, str],
    rng: np.random.Generator,
    *,
    measure: Measure = "final",
    share: float = 1.0,
    protocol: Protocol = PAPER,
) -> Pair | None:
    """Compare two labels on the tasks that both have; None if there are none.

    With a share, a label is compared with that share of what the other has.
    """
    last = protocol.window if measure == "final" else None
    ours, theirs = (
        {g.task: g for g in groups if g.label == label and len(g.lines("return"))}
        for label in labels
    )
    tasks = tuple(task for task in ours if task in theirs)
    if not tasks:
        return None
    pairs = [(ours[task], theirs[task]) for task in tasks]
    first, second = (
        [held[task].ends("return", last) for task in tasks] for held in (ours, theirs)
    )
    second = [share * ends for ends in second]
    gap = difference(first, second, rng, protocol=protocol)
    better = improvement(first, second, rng, protocol=protocol)
    return Pair(tasks, gap, better, all(_is_even(*pair) for pair in pairs))


def check(
    claims: Sequence[Claim],
    groups: Sequence[Group],
    rng: np.random.Generator,
    protocol: Protocol = PAPER,
) -> list[Checked]:
    """Weigh every claim, on those of its tasks that both sides have run."""
    found = []
    for claim in claims:
        kin = [group for group in groups if group.task in claim.tasks]
        how = {"measure": claim.measure, "share": claim.share, "protocol": protocol}
        pair = weigh(kin, (claim.better, claim.worse), rng, **how)
        found.append(Checked(claim, pair))
    return found


def _is_even(ours: Group, theirs: Group) -> bool:
    lengths = {run.steps for run in (*ours.runs, *theirs.runs)}
    return ours.finished and theirs.finished and len(lengths) == 1
