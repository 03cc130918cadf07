"""How new a place is: its distance from all that was seen before."""

import numpy as np
from jaxtyping import Bool, Float

SEEN = 1_000
"""Visited places that a new one is compared with, drawn from all of them."""


def novelty(
    places: Float[np.ndarray, "count dims"],
    seen: Float[np.ndarray, "seen dims"],
    itself: Bool[np.ndarray, "count seen"],
) -> Float[np.ndarray, " count"]:
    """log(1 + d / d̄), where d is the distance to the nearest other place seen.

    Distances are in standard deviations of what was seen, and d̄ is their mean. Where
    no place differs from another, all are equally new.

    Args:
        places: to judge.
        seen: what they are compared with.
        itself: where a place is the very one that was seen: it is left out.
    """
    spread = seen.std(axis=0, dtype=np.float64)
    scale = np.where(spread > 0, spread, 1.0)
    here, there = places / scale, seen / scale
    squares = (here**2).sum(axis=1)[:, None] + (there**2).sum(axis=1)[None]
    squares = np.maximum(squares - 2.0 * here @ there.T, 0.0)
    squares[itself] = np.inf
    distance = np.sqrt(squares.min(axis=1))
    known = np.isfinite(distance)
    mean = distance[known].mean() if known.any() else 0.0
    if mean == 0.0:
        return np.ones(len(places), np.float32)
    relative = np.where(known, distance / mean, 0.0)
    return np.log1p(relative).astype(np.float32)
