"""Claims: what a paper says of two methods, and what runs say to that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfp.experiments.claims import Measure
from sfp.report.binomial import Count, limits, p_of_shares
from sfp.report.groups import Group
from sfp.report.permutation import Outcome, gehan_scores, judge, permutation_test
from sfp.report.stats import (
    PAPER,
    Estimate,
    Protocol,
    Strata,
    contrast,
    gap,
    lead,
    wins,
)

MEASURES: dict[Measure, str] = {
    "final": "final return",
    "time": "sooner less later",
    "at once": "share of runs that solve it at once",
    "solved": "share of runs that solve it",
    "mixture at once": "share of runs that solve it at once as they act",
}
"""What is compared: in words, for the tables."""

SCORES: dict[Measure, Callable[[Group], np.ndarray]] = {
    "final": Group.finals,
    "time": Group.times,
    "at once": Group.at_once,
    "solved": lambda group: group.times()[:, 1],
    "mixture at once": Group.mixture_at_once,
}
"""The same of every run of a group."""


@dataclass(frozen=True)
class Claim:
    """One method does better than another; without `better`, `worse` solves nothing.

    The first should exceed `share` of the other's return, or of `time` be sooner than
    `later` steps after it. With `against` the other is measured on these tasks, one for
    each of the first's.
    """

    text: str
    better: str
    worse: str
    tasks: tuple[str, ...]
    measure: Measure = "final"
    share: float = 1.0
    against: tuple[str, ...] = ()
    later: int = 0

    @property
    def tested(self) -> str:
        if not self.better:
            return f"{self.worse} solves none"
        if self.later:
            return f"{self.better} sooner than {self.worse} + {self.later:,} steps"
        share = "" if self.share == 1.0 else f"{self.share:g} x "
        return f"{self.better} > {share}{self.worse}"


@dataclass(frozen=True)
class Pair:
    """One label against another, on the tasks that both have.

    Attributes:
        gap: by how much the first is better, or the share of runs that should be none.
        even: whether all runs have ended, those of a task after as many steps.
        better: probability that a run of the first beats one of the second.
    """

    tasks: tuple[str, ...]
    gap: Estimate
    test: Outcome
    even: bool
    better: Estimate | None = None


@dataclass(frozen=True)
class Checked:
    """A claim, and what came of it.

    Attributes:
        pair: what was measured; None if there are no runs for it.
        verdict: `holds`, `does not`, `undecided`, `not run`, or how many runs it needs.
        more: p of the claim after Holm's correction; None if it was not tested.
        less: p of its opposite, corrected too.
    """

    claim: Claim
    pair: Pair | None
    verdict: str
    more: float | None = None
    less: float | None = None

    @property
    def p(self) -> str:
        """The p that decides, before and after the correction."""
        if self.pair is None or self.more is None:
            return "-"
        opposite = self.verdict == "does not"
        raw = self.pair.test.less if opposite else self.pair.test.more
        adjusted = self.less if opposite else self.more
        return f"{'opposite ' if opposite else ''}{raw:.2g} ({adjusted:.2g})"


def check(
    claims: Sequence[Claim],
    groups: Sequence[Group],
    rng: np.random.Generator,
    protocol: Protocol = PAPER,
) -> list[Checked]:
    """Test every claim, on those of its tasks that both sides have run, all together.

    A claim without runs, or of which one side had more time, is not tested.
    """
    pairs = [_weigh(claim, groups, rng, protocol) for claim in claims]
    found = [
        Checked(claim, pair, "not run" if pair is None else "undecided")
        for claim, pair in zip(claims, pairs, strict=True)
    ]
    tests = {i: p.test for i, p in enumerate(pairs) if p is not None and p.even}
    ruled = zip(tests, judge(list(tests.values())), strict=True)
    for i, (verdict, more, less) in ruled:
        found[i] = replace(found[i], verdict=verdict, more=more, less=less)
    return found


def _weigh(
    claim: Claim, groups: Sequence[Group], rng: np.random.Generator, protocol: Protocol
) -> Pair | None:
    """What the runs of a claim show; None if no task has both methods."""
    sides = [
        {g.task: g for g in groups if g.label == label and g.scored}
        for label in (claim.better or claim.worse, claim.worse)
    ]
    partner = dict(zip(claim.tasks, claim.against or claim.tasks, strict=True))
    tasks = tuple(t for t in sides[0] if partner.get(t) in sides[1])
    if not tasks:
        return None
    ours = [sides[0][task] for task in tasks]
    theirs = [sides[1][partner[task]] for task in tasks]
    ended = all(group.finished for group in (*ours, *theirs))
    if not claim.better:
        return Pair(tasks, *_failing(theirs), even=ended)
    score = SCORES[claim.measure]
    first, second = ([score(g) for g in side] for side in (ours, theirs))
    if claim.measure == "time":
        first = [times - [claim.later, 0] for times in first]
        test = permutation_test(*gehan_scores(first, second))
        ahead = contrast(first, second, lead, rng, protocol=protocol)
        return Pair(tasks, ahead, test, ended)
    second = [claim.share * scores for scores in second]
    test = permutation_test(first, second)
    if claim.share != 1.0:
        counts = _solved(ours), _solved(theirs)
        test = _guarded(test, *counts, share=claim.share, tasks=len(tasks))
    even = ended and all(map(_same_length, ours, theirs))
    more = contrast(first, second, gap, rng, protocol=protocol)
    if claim.measure != "final":
        more = _shares_apart(more, first, second)
    better = contrast(first, second, wins, rng, protocol=protocol)
    return Pair(tasks, more, test, even, better)


def _failing(groups: Sequence[Group]) -> tuple[Estimate, Outcome]:
    """That a method solves nothing: one solved run refutes it.

    It holds if none is solved of so many that half of them can be excluded.
    """
    solved, n = _solved(groups)
    low, high = map(np.asarray, limits((solved, n)))
    chance = 0.5**n
    test = Outcome(
        1.0 if solved else chance,
        0.0 if solved else 1.0,
        0.0 if solved else chance,
        lambda runs: 0.5 ** (runs * len(groups)),
    )
    fewest = min(len(group.scored) for group in groups)
    return Estimate(np.asarray(solved / n), low, high, fewest), test


def _shares_apart(found: Estimate, first: Strata, second: Strata) -> Estimate:
    """The difference of two shares of runs, with Clopper and Pearson's limits."""
    (low, high), (least, most) = (
        limits((int(sum(s.sum() for s in side)), sum(map(len, side))), 0.0125)
        for side in (first, second)
    )
    return replace(found, low=np.asarray(low - most), high=np.asarray(high - least))


def _guarded(
    test: Outcome, ours: Count, theirs: Count, *, share: float, tasks: int = 1
) -> Outcome:
    """A test against a share of the other's return, made safe for runs that fail.

    Relabelling assumes that both sides have one distribution up to that factor. Of runs
    that return all or nothing that is false, and where one side fails rarely it errs
    too often: the shares of solved runs must say the same. They can say no more than
    if all of ours are solved and none of theirs.
    """
    more, less = p_of_shares(ours, theirs, share)
    clearest, _ = p_of_shares((ours[1], ours[1]), (0, theirs[1]), share)
    least = max(test.least, clearest)

    def reach(n: int) -> float:
        return max(test.reach(n), 2 * share ** (n * tasks))  # if all runs are solved

    return Outcome(max(test.more, more), max(test.less, less), least, reach)


def _solved(groups: Sequence[Group]) -> Count:
    counts = [group.solved() for group in groups]
    return sum(k for k, _ in counts), sum(n for _, n in counts)


def _same_length(ours: Group, theirs: Group) -> bool:
    return len({run.steps for run in (*ours.runs, *theirs.runs)}) == 1
