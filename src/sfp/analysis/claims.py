"""Claims: what a paper says of two methods, and what runs say to that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfp.analysis.groups import Group
from sfp.analysis.stats import (
    PAPER,
    Estimate,
    Protocol,
    Verdict,
    difference,
    improvement,
    verdict,
)
from sfp.experiments.claims import Measure

MEASURES: dict[Measure, str] = {
    "final": "final return",
    "whole": "mean return over training",
}
"""How runs are scored: by their last evaluations, or by all (who learns sooner)."""

Scores = Mapping[str, np.ndarray]
"""Of one label: a score per run, by task."""


@dataclass(frozen=True)
class Claim:
    """That one method does better than another.

    Attributes:
        text: what is claimed.
        better: label of the method that should have more return.
        worse: label of the other.
        tasks: where.
        measure: of which return.
    """

    text: str
    better: str
    worse: str
    tasks: tuple[str, ...]
    measure: Measure = "final"


@dataclass(frozen=True)
class Pair:
    """One label against another, on the tasks that both have.

    Attributes:
        tasks: that both have.
        gap: how much more return the first has.
        better: probability that a run of the first beats one of the second.
        verdict: on "the first has more return".
    """

    tasks: tuple[str, ...]
    gap: Estimate
    better: Estimate
    verdict: Verdict


@dataclass(frozen=True)
class Checked:
    """A claim, and what came of it; `pair` is None if there are no runs for it."""

    claim: Claim
    pair: Pair | None

    @property
    def verdict(self) -> str:
        """`holds`, `does not`, `undecided` or `not run`."""
        return "not run" if self.pair is None else self.pair.verdict


def score(
    groups: Sequence[Group], label: str, measure: Measure, window: int
) -> dict[str, np.ndarray]:
    """Scores of a label's runs by task; tasks without evaluations are left out."""
    last = window if measure == "final" else None
    kin = {group.task: group for group in groups if group.label == label}
    scores = {task: group.ends("return", last) for task, group in kin.items()}
    return {task: found for task, found in scores.items() if len(found)}


def weigh(
    ours: Scores,
    theirs: Scores,
    rng: np.random.Generator,
    protocol: Protocol = PAPER,
) -> Pair | None:
    """Compare two labels on the tasks that both have; None if there are none."""
    tasks = tuple(task for task in ours if task in theirs)
    if not tasks:
        return None
    strata = [ours[task] for task in tasks], [theirs[task] for task in tasks]
    gap = difference(*strata, rng, protocol=protocol)
    better = improvement(*strata, rng, protocol=protocol)
    return Pair(tasks, gap, better, verdict(gap))


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
        ours, theirs = (
            score(kin, label, claim.measure, protocol.window)
            for label in (claim.better, claim.worse)
        )
        found.append(Checked(claim, weigh(ours, theirs, rng, protocol)))
    return found
