"""Whose turn it is: one toss decides for a step, for a while, or for an episode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tosses:
    """Who acts, each for some steps.

    Attributes:
        commit: steps per toss in the mean; 0 is a whole episode.
    """

    commit: float = 1.0

    @property
    def are_kept(self) -> bool:
        """Whether a toss counts for more than a step."""
        return self.commit != 1.0

    def begin(self) -> Any:
        """What is kept at the beginning of an episode: nobody's turn yet."""
        return np.full(1, -1, np.int32) if self.are_kept else ()

    def turn(
        self, kept: Any, rng: np.random.Generator, choose: Callable[[float], int]
    ) -> tuple[int, Any]:
        """Whose turn this step is, and what to keep of it.

        Args:
            kept: what the step before kept.
            rng: the randomness of the step.
            choose: whose turn it is by a coin in [0, 1), in the state of this step.
        """
        if not self.are_kept:
            return choose(rng.random()), kept
        ends = bool(self.commit) and rng.random() < 1.0 / self.commit
        who = choose(rng.random()) if ends or kept[0] < 0 else int(kept[0])
        return who, np.full(1, who, np.int32)


def whose(weights: np.ndarray, coin: float) -> int:
    """Into whose share of [0, 1] the coin falls; behind all of them it is K."""
    return int(np.searchsorted(np.cumsum(weights), coin, side="right"))


def among(weights: np.ndarray, coin: float) -> int:
    """The same if nobody else has a share: always one of the K."""
    total, count = weights.sum(), len(weights)
    shares = weights / total if weights.any() else np.full_like(weights, 1.0 / count)
    # a coin below 1 falls to one of them, whatever rounding does
    return min(whose(shares, coin), count - 1)
