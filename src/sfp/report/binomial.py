"""Shares of few runs: Clopper and Pearson's limits, and a test between two shares."""

from __future__ import annotations

import math
from collections.abc import Callable

Count = tuple[int, int]
"""How many runs did it, of how many."""


def tail(count: Count, share: float) -> float:
    """Probability that at least so many of n runs do what each does with this share."""
    k, n = count
    return math.fsum(
        math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k, n + 1)
    )


def low_limit(count: Count, level: float) -> float:
    """The smallest share that is not excluded: P(at least so many) = level."""
    return 0.0 if count[0] == 0 else _root(lambda share: tail(count, share) > level)


def high_limit(count: Count, level: float) -> float:
    """The largest share that is not excluded: P(at most so many) = level."""
    k, n = count
    return 1.0 - low_limit((n - k, n), level)


def limits(count: Count, level: float = 0.025) -> tuple[float, float]:
    """Clopper and Pearson's interval: it covers the share at least as often as it says.

    Runs of several tasks may be counted together: their mean share is covered too, as
    a sum of unequal chances has thinner tails than a binomial (Hoeffding, 1956).
    """
    return low_limit(count, level), high_limit(count, level)


def p_of_shares(ours: Count, theirs: Count, share: float) -> tuple[float, float]:
    """One-sided p of "our share is more than `share` times theirs", and of "less".

    The least level at which the limits of the two exclude each other, half of the level
    each: an upper bound of the exact p, whatever the two shares are.
    """

    def more(level: float) -> bool:
        half = level / 2
        return low_limit(ours, half) > share * high_limit(theirs, half)

    def less(level: float) -> bool:
        half = level / 2
        return high_limit(ours, half) < share * low_limit(theirs, half)

    return _root(more), _root(less)


def _root(holds: Callable[[float], bool]) -> float:
    """Where in [0, 1] a statement begins to hold; 1 if nowhere."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
