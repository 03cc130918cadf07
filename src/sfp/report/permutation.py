"""Exact tests between two methods: runs of a task are interchangeable under the null.

The statistic is the mean over tasks of the difference of means. Its distribution under
"no difference" is that of all ways to relabel the runs within each task, so no shape of
the returns is assumed, be they all 0 or 430.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfp.report.stats import Strata, earlier

LEVEL = 0.025
"""Of every one-sided test, after Holm's correction over the claims of an experiment."""

MOST = 1_000_000
"""Relabellings that are enumerated; of more, `DRAWS` are drawn with a fixed seed."""

DRAWS = 99_999
SEED = 0


@dataclass(frozen=True)
class Outcome:
    """One-sided p of a claim, and of its opposite.

    `least` is the smallest p that so many runs could have had; `reach` tells the same
    for any number of runs per task and method.
    """

    more: float
    less: float
    least: float
    reach: Callable[[int], float]


def permutation_test(ours: Strata, theirs: Strata) -> Outcome:
    """Whether ours are more than theirs; what is not finite decides nothing."""
    tasks = list(zip(ours, theirs, strict=True))
    ways = [math.comb(len(x) + len(y), len(x)) for x, y in tasks]
    exact = math.prod(ways) <= MOST
    least = 1 / (math.prod(ways) if exact else DRAWS + 1)

    def reach(n: int) -> float:
        return max(math.comb(2 * n, n) ** -float(len(tasks)), 1 / (DRAWS + 1))

    if not all(np.isfinite(side).all() for pair in tasks for side in pair):
        return Outcome(1.0, 1.0, least, reach)
    rng = np.random.default_rng(SEED)
    drawn = np.zeros(1)
    for x, y in tasks:
        gaps = _relabelled(x, y) if exact else _drawn(x, y, rng)
        drawn = np.add.outer(drawn, gaps).ravel() if exact else drawn + gaps
    seen = sum(x.mean() - y.mean() for x, y in tasks)
    tie = 1e-9 * np.abs(drawn).max()
    counts = np.sum(drawn >= seen - tie), np.sum(drawn <= seen + tie)
    own = 0 if exact else 1  # the labels as they are count as one of those drawn
    more, less = (float((n + own) / (len(drawn) + own)) for n in counts)
    return Outcome(more, less, least, reach)


def gehan_scores(ours: Strata, theirs: Strata) -> tuple[Strata, Strata]:
    """Censored times as scores: over all runs of a task, how many solve it later.

    Times are rows of (step, whether it was solved then or given up). Less those who
    solve it sooner, by the number of runs: the difference of the means of two methods
    is the share of pairs in which one is sooner less that in which the other is.
    """
    first, second = [], []
    for x, y in zip(ours, theirs, strict=True):
        both = np.concatenate([x, y])
        sooner = earlier(both, both)
        scores = (sooner.sum(axis=1) - sooner.sum(axis=0)) / len(both)
        first.append(scores[: len(x)])
        second.append(scores[len(x) :])
    return first, second


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p: below a level together, as often as each alone would be."""
    order = np.argsort(values, kind="stable")
    found, highest = [1.0] * len(values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, (len(values) - rank) * values[i])
        found[i] = min(1.0, highest)
    return found


def judge(tests: Sequence[Outcome]) -> list[tuple[str, float, float]]:
    """The verdict on each claim of an experiment, and its p in both directions.

    There is none where no result of so many runs could have reached the level, even if
    every claim of the experiment had come out as clearly as it could.
    """
    more, less, least = (
        holm([getattr(test, name) for test in tests])
        for name in ("more", "less", "least")
    )
    found = []
    for i, test in enumerate(tests):
        verdict = "undecided"
        if least[i] > LEVEL:
            verdict = f"too few runs: needs {_needed(test, len(tests))}"
        elif more[i] <= LEVEL:
            verdict = "holds"
        elif less[i] <= LEVEL:
            verdict = "does not"
        found.append((verdict, more[i], less[i]))
    return found


def _needed(test: Outcome, claims: int) -> int:
    """Runs per task and method with which it could be the first to be decided."""
    enough = (n for n in itertools.count(1) if claims * test.reach(n) <= LEVEL)
    return next(enough)


def _relabelled(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The difference of means for every way to choose ours among all runs."""
    both, n = np.concatenate([x, y]), len(x)
    return _gaps(both[_choices(len(both), n)].sum(axis=1), both.sum(), n, len(y))


@lru_cache(maxsize=8)
def _choices(count: int, n: int) -> np.ndarray:
    """All ways to choose n of so many, one per row: the same for every claim."""
    return np.array(list(itertools.combinations(range(count), n)))


def _drawn(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    both, n = np.concatenate([x, y]), len(x)
    shuffled = rng.permuted(np.tile(both, (DRAWS, 1)), axis=1)
    return _gaps(shuffled[:, :n].sum(axis=1), both.sum(), n, len(y))


def _gaps(sums: np.ndarray, total: float, n: int, others: int) -> np.ndarray:
    return sums / n - (total - sums) / others
