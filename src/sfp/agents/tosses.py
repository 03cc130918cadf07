"""Whose turn it is: one toss decides for a step, for a while, or for an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tosses:
    """Coins in [0, 1), each kept for some steps.

    The coin is kept, not who acts: it is compared with Λ of the state at hand, not of
    that where it was tossed.

    Attributes:
        commit: steps per toss in the mean; 0 is a whole episode.
    """

    commit: float = 1.0

    @property
    def are_kept(self) -> bool:
        """Whether a coin counts for more than a step."""
        return self.commit != 1.0

    def begin(self) -> Any:
        """What is kept at the beginning of an episode: no coin yet."""
        return np.full(1, np.nan) if self.are_kept else ()

    def toss(self, kept: Any, rng: np.random.Generator) -> tuple[float, Any]:
        """The coin of this step, and what to keep of it."""
        if not self.are_kept:
            return rng.random(), kept
        ends = bool(self.commit) and rng.random() < 1.0 / self.commit
        coin = rng.random() if ends or np.isnan(kept[0]) else float(kept[0])
        return coin, np.full(1, coin)


def whose(weights: np.ndarray, coin: float) -> int:
    """Into whose share of [0, 1] the coin falls; behind all of them it is K."""
    return int(np.searchsorted(np.cumsum(weights), coin, side="right"))


def among(weights: np.ndarray, coin: float) -> int:
    """The same if nobody else has a share: always one of the K."""
    total, count = weights.sum(), len(weights)
    shares = weights / total if weights.any() else np.full_like(weights, 1.0 / count)
    # a coin below 1 falls to one of them, whatever rounding does
    return min(whose(shares, coin), count - 1)
