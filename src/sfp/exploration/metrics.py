"""How well actions explore: coverage, radius of gyration, power spectral density."""

from itertools import combinations
from typing import Literal

import numpy as np

from sfp.types import Paths, Sequences

GRID = 3
"""Dimensions that are divided all at once."""


def buckets(points: np.ndarray, low: np.ndarray, high: np.ndarray, per_axis: int):
    """The bucket of every point: an integer per axis in [0, per_axis)."""
    scaled = (points - low) / (high - low) * per_axis
    return np.clip(scaled.astype(int), 0, per_axis - 1)


def coverage(
    paths: Paths,
    low: np.ndarray,
    high: np.ndarray,
    *,
    per_axis: int = 10,
    reachable: np.ndarray | None = None,
) -> float:
    """Share of the reachable buckets that a set of trajectories visits.

    The box [low, high] is divided into `per_axis` buckets per dimension: 10 x 10 = 100
    for `room`, 10 x 10 x 10 = 1000 for `reach`, as in the paper's appendix "Metrics".
    More than three dimensions are taken two by two, and the shares averaged: of so many
    buckets no walk would visit any to speak of. Dimensions without extent do not count.
    """
    wide = high > low
    points = paths.reshape(-1, paths.shape[-1])[:, wide]
    flat, dims = buckets(points, low[wide], high[wide], per_axis), int(wide.sum())
    if dims > GRID:
        pairs = combinations(flat.T, 2)
        seen = [np.count_nonzero(np.bincount(per_axis * a + b)) for a, b in pairs]
        return float(np.mean(seen)) / per_axis**2
    visited = np.zeros((per_axis,) * dims, bool)
    visited[tuple(flat.T)] = True
    if reachable is None:
        return float(visited.mean())
    return float((visited & reachable).sum() / reachable.sum())


def gyration(
    paths: Paths, diagonal: float, *, normaliser: Literal["table", "printed"] = "table"
) -> float:
    """Squared radius of gyration, averaged over trajectories and normalised.

    U²_g(T) = 1/(δ² n) Σ_τ 1/(|τ|-1) Σ_{s∈τ} ‖s - τ̄‖², with τ̄ the mean state of τ.

    The paper prints 1/(δ n), which is not free of units; the values of its Table 1 come
    out with δ², which is the default here.
    """
    gap = paths - paths.mean(axis=1, keepdims=True)
    spread = (gap * gap).sum(axis=(1, 2)) / (paths.shape[1] - 1)
    return float(spread.mean() / diagonal ** (2 if normaliser == "table" else 1))


def spectrum(sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Power spectral density of action sequences, averaged over them and dimensions.

    The one-sided periodogram of each sequence after its mean is removed: its sum times
    the frequency spacing is the variance. Frequencies are cycles per step, up to 0.5.
    """
    steps = sequences.shape[1]
    centred = sequences - sequences.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, axis=1)) ** 2 / steps
    power[:, 1 : (steps + 1) // 2] *= 2  # what the negative frequencies hold
    return np.fft.rfftfreq(steps), power.mean(axis=(0, 2))


def persistence(sequences: Sequences, *, window: int = 50) -> float:
    """How many steps go together: E|a_1 + ... + a_n|² / (n E|a|²) over n steps.

    1 for independent actions around 0, n for a straight line. It is the power at the
    lowest frequencies, divided by that of white noise with the same actions.
    """
    window = min(window, sequences.shape[1])
    whole = sequences.shape[1] // window * window
    cuts = sequences[:, :whole].reshape(len(sequences), -1, window, sequences.shape[2])
    sums = cuts.sum(axis=2)
    power = (cuts * cuts).sum()
    return float((sums * sums).sum() / power) if power > 0 else 1.0


def run_length(sequences: Sequences, *, cosine: float = 0.5) -> float:
    """Mean steps until an action points away from the first of its run, by over 60°.

    Runs that the end of a sequence cuts short count as wholes, which understates long
    ones.
    """
    norms = np.maximum(np.linalg.norm(sequences, axis=2, keepdims=True), 1e-12)
    units = sequences / norms
    first, runs = units[:, 0].copy(), np.ones(len(units), int)
    for action in units[:, 1:].swapaxes(0, 1):
        turned = (action * first).sum(axis=1) < cosine
        first[turned] = action[turned]
        runs += turned
    return float(units.shape[0] * units.shape[1] / runs.sum())


def low_power(sequences: Sequences, *, below: float = 0.02) -> float:
    """The share of the power of actions at periods longer than 50 steps."""
    frequency, density = spectrum(sequences)
    total = density.sum()
    return float(density[frequency <= below].sum() / total) if total > 0 else 0.0


def cut(
    actions: np.ndarray, ends: np.ndarray, *, longest: int = 500, most: int = 1000
) -> Sequences:
    """Equally long pieces of episodes, for `spectrum`: one from the start of each.

    Their length is the median episode's, at most `longest`; shorter episodes are left
    out, and all after the first `most`.
    """
    lengths = np.diff(ends, prepend=0)
    steps = int(min(longest, np.median(lengths)))
    starts = (ends - lengths)[lengths >= steps][:most]
    return actions[starts[:, None] + np.arange(steps)].astype(np.float64)


def farthest(paths: Paths) -> np.ndarray:
    """The largest distance from its start that each path had reached by each step."""
    away = np.linalg.norm(paths - paths[:, :1], axis=2)
    return np.maximum.accumulate(away, axis=1)
