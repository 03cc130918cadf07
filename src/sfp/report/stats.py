"""Statistics of the paper's protocol: means over tasks and seeds, with intervals.

Scores come as *strata*: one array per task, whose first axis are the seeds; further
axes (evaluations) are kept. Chance is always an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sfp.errors import SfpError, at_least, unknown

Strata = Sequence[np.ndarray]
Statistic = Callable[[Strata], np.ndarray]
"""From all tasks and seeds to one number, for every further axis."""

Kind = Literal["percentile", "basic"]

FEWEST = 3
"""Evaluations that a final value is the mean of, if there are as many."""

CHUNK = 4_000_000
"""Numbers that are resampled at a time: a bound on memory."""


@dataclass(frozen=True)
class Protocol:
    """How numbers are made, by default as in the paper, whose `kind` is `basic`.

    Curves are smoothed over `window` evaluations; `repetitions` are of the bootstrap.
    """

    window: int = 5
    kind: Kind = "percentile"
    level: float = 0.95
    repetitions: int = 2000

    def __post_init__(self):
        at_least(1, window=self.window, repetitions=self.repetitions)
        if self.kind not in get_args(Kind):
            raise unknown("interval", self.kind, get_args(Kind), "See docs/report.md.")


PAPER = Protocol()


@dataclass(frozen=True)
class Estimate:
    """A number, or a curve of them, with its interval.

    There is no interval if a task has a single seed; `n` counts the seeds per task, the
    fewest.
    """

    value: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    n: int

    def __str__(self) -> str:
        """`412 [380, 441]`, or `412 (n = 1)`."""
        value = shown(float(self.value))
        if self.low is None or self.high is None:
            return f"{value} (n = {self.n})"
        return f"{value} [{shown(float(self.low))}, {shown(float(self.high))}]"


def shown(value: float) -> str:
    """Four digits, without an exponent where it can be."""
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def mean(strata: Strata) -> np.ndarray:
    """The mean over seeds, then over tasks."""
    return np.asarray(np.mean([scores.mean(axis=0) for scores in strata], axis=0))


def iqm(strata: Strata) -> np.ndarray:
    """Interquartile mean of all scores: without the lowest and the highest quarter.

    The same as `scipy.stats.trim_mean(scores, 0.25)`. Where one task has more seeds
    than another, every task weighs the same, and quarters may cut through a score.
    """
    scores = np.concatenate(strata)
    odd = np.isnan(scores).any(axis=0)  # sorted, they would be the best
    return np.where(odd, np.nan, _middle(scores, [len(one) for one in strata]))


def _middle(scores: np.ndarray, counts: list[int]) -> np.ndarray:
    if len(set(counts)) == 1:
        scores, cut = np.sort(scores, axis=0), len(scores) // 4
        return np.asarray(scores[cut : len(scores) - cut].mean(axis=0))
    weights = np.concatenate([np.full(n, 1 / (n * len(counts))) for n in counts])
    order = np.argsort(scores, axis=0)
    below = np.cumsum(weights[order], axis=0)
    within = np.minimum(below, 0.75) - np.maximum(below - weights[order], 0.25)
    sums = np.take_along_axis(scores, order, axis=0) * np.maximum(within, 0.0)
    return np.asarray(2 * sums.sum(axis=0))


def smooth(values: np.ndarray, window: int = PAPER.window) -> np.ndarray:
    """Mean of the last `window` values along the last axis, fewer at the start."""
    at_least(1, window=window)
    ends = range(1, values.shape[-1] + 1)
    parts = [values[..., max(0, end - window) : end].mean(axis=-1) for end in ends]
    return np.stack(parts, axis=-1)


def final(values: np.ndarray) -> float:
    """Final performance: the mean of a run's last tenth, of three values at least."""
    return float(values[-max(FEWEST, -(-len(values) // 10)) :].mean())


def estimate(
    strata: Strata,
    rng: np.random.Generator,
    *,
    statistic: Statistic = mean,
    protocol: Protocol = PAPER,
) -> Estimate:
    """A statistic over tasks and seeds, with a stratified bootstrap interval.

    Every repetition draws, within each task, as many seeds as there are, with
    replacement; with q the quantiles of the statistic θ* over repetitions the interval
    is [q_low, q_high] (`percentile`) or [2θ - q_high, 2θ - q_low] (`basic`).
    """
    _check(strata)
    value, n = statistic(strata), min(len(scores) for scores in strata)
    if n < 2:
        return Estimate(value, None, None, n)
    size = sum(scores.size for scores in strata)

    def draw(count: int) -> np.ndarray:
        return statistic(
            [_resample(scores, count, rng).swapaxes(0, 1) for scores in strata]
        )

    drawn = _repeat(draw, size, protocol.repetitions)
    return Estimate(value, *_interval(value, drawn, protocol), n)


def contrast(
    ours: Strata,
    theirs: Strata,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rng: np.random.Generator,
    *,
    protocol: Protocol = PAPER,
) -> Estimate:
    """A score of two sides per task (`gap`, `wins`, `lead`), averaged over tasks.

    Its interval comes from resampling both sides.
    """
    _check(ours)
    _check(theirs)
    if len(ours) != len(theirs):
        raise SfpError(
            f"expected the same tasks on both sides, received {len(ours)} and "
            f"{len(theirs)}."
        )
    tasks = list(zip(ours, theirs, strict=True))
    value = np.asarray(np.mean([score(x, y) for x, y in tasks]))
    n = min(len(scores) for scores in (*ours, *theirs))
    if n < 2:
        return Estimate(value, None, None, n)

    def draw(count: int) -> np.ndarray:
        drawn = [
            score(_resample(x, count, rng), _resample(y, count, rng)) for x, y in tasks
        ]
        return np.mean(drawn, axis=0)

    size = sum(len(x) * len(y) for x, y in tasks)
    drawn = _repeat(draw, size, protocol.repetitions)
    return Estimate(value, *_interval(value, drawn, protocol), n)


def wins(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Probability of improvement on a task: P(X > Y) + P(X = Y)/2 over all pairs."""
    with np.errstate(invalid="ignore"):
        signs = np.sign(x[..., :, None] - y[..., None, :])
    return np.asarray((signs.mean(axis=(-2, -1)) + 1) / 2)


def gap(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean of ours less mean of theirs."""
    with np.errstate(invalid="ignore"):  # of infinities: not a number, and told
        return np.asarray(x.mean(axis=-1) - y.mean(axis=-1))


def lead(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of pairs of runs in which ours is sooner, less that in which theirs is.

    Times are rows of (step, whether it happened then): of two runs that never solved
    the task, or of which one gave up before the other solved it, none is the sooner.
    """
    ahead = earlier(x, y) - earlier(y, x).swapaxes(-2, -1)
    return np.asarray(ahead.mean(axis=(-2, -1)))


def earlier(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For every pair, 1 if x is known to have happened before y, else 0."""
    at, other = x[..., :, None, 0], y[..., None, :, 0]
    happened, censored = x[..., :, None, 1] > 0, y[..., None, :, 1] == 0
    return np.where(happened & ((at < other) | ((at == other) & censored)), 1.0, 0.0)


def _resample(scores: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` times as many seeds as there are, with replacement."""
    return scores[rng.integers(len(scores), size=(count, len(scores)))]


def _repeat(
    draw: Callable[[int], np.ndarray], size: int, repetitions: int
) -> np.ndarray:
    step = max(1, CHUNK // max(1, size))
    counts = [min(step, repetitions - i) for i in range(0, repetitions, step)]
    return np.concatenate([draw(count) for count in counts])


def _interval(
    value: np.ndarray, drawn: np.ndarray, protocol: Protocol
) -> tuple[np.ndarray, np.ndarray]:
    tail = (1.0 - protocol.level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    if protocol.kind == "basic":
        low, high = 2 * value - high, 2 * value - low
    return np.asarray(low), np.asarray(high)


def _check(strata: Strata) -> None:
    if not strata or any(len(scores) == 0 for scores in strata):
        raise SfpError("expected at least one task with at least one seed each.")
