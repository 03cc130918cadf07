"""What recordings hold, and what of it will hurt a density model."""

from dataclasses import dataclass

import numpy as np

from sfp.data.trajectories import Trajectories
from sfp.exploration.metrics import cut, spectrum

SAMPLE = 200_000
"""Actions looked at for counting distinct values."""

FEW_VALUES = 16
"""At most this many distinct values make a dimension discrete."""

LOW_FREQUENCY = 0.05
"""Slower than a period of 20 steps."""

UNCORRELATED = 0.1
"""Correlations from step to step that are smaller are none."""

TOLD = 20
"""Steps from which on an episode tells whether it is noise."""


@dataclass(frozen=True)
class Description:
    """Figures of a dataset, figures per action dimension, and warnings."""

    summary: dict[str, str | int | float | None]
    rows: list[dict[str, str | int | float]]
    warnings: list[str]


def describe(data: Trajectories) -> Description:
    """Count, measure and judge recordings."""
    lengths = data.lengths
    summary = {
        "source": data.source,
        "episodes": len(data),
        "steps": int(lengths.sum()),
        "shortest": int(lengths.min()),
        "median": float(np.median(lengths)),
        "longest": int(lengths.max()),
        "dimensions": data.dims,
        "rate": data.rate,
        "columns": ", ".join(data.columns),
        "bounds": "declared" if data.bounds_known else "assumed from the data",
        "fingerprint": data.fingerprint[:16],
    }
    slow = _low_frequency_power(data)
    rows = [_dimension(data, i, slow[i]) for i in range(data.dims)]
    return Description(summary, rows, _warnings(data, rows))


def _dimension(data: Trajectories, i: int, slow: float) -> dict:
    values, low, high = data.actions[:, i], float(data.low[i]), float(data.high[i])
    tolerance = 1e-6 * (high - low)
    distinct = np.unique(values[:: max(1, len(values) // SAMPLE)])
    kind = "continuous"
    if len(distinct) == 1 and values.min() == values.max():
        kind = "constant"
    elif len(distinct) <= min(FEW_VALUES, len(values) // 4):
        kind = f"discrete ({len(distinct)})"
    at_bound = (values <= low + tolerance) | (values >= high - tolerance)
    outside = (values < low - tolerance) | (values > high + tolerance)
    wide = values.astype(np.float64)
    return {
        "dimension": i,
        **({"name": data.names[i]} if data.names else {}),
        "low": low,
        "high": high,
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(wide.mean()),
        "std": float(wide.std()),
        "saturated": float(at_bound.mean()),
        "outside": float(outside.mean()),
        "repeated": _repeats(data, i),
        "correlation": _lag_one(data, i),
        "low_frequency": slow,
        "kind": kind,
    }


def _inner(data: Trajectories) -> np.ndarray:
    """Steps that have a predecessor in their own episode."""
    inner = np.ones(len(data.actions), bool)
    inner[data.starts] = False
    return np.flatnonzero(inner)


def _repeats(data: Trajectories, i: int) -> float:
    inner = _inner(data)
    return float((data.actions[inner, i] == data.actions[inner - 1, i]).mean())


def _lag_one(data: Trajectories, i: int) -> float:
    """Correlation of an action with the one before; 0 for a constant."""
    inner = _inner(data)
    before = data.actions[inner - 1, i].astype(np.float64)
    after = data.actions[inner, i].astype(np.float64)
    spread = before.std() * after.std()
    if spread == 0:
        return 0.0
    return float(((before - before.mean()) * (after - after.mean())).mean() / spread)


def noisy_episodes(data: Trajectories, dims: list[int]) -> np.ndarray:
    """Episodes whose actions do not depend on those before, as uniform ones do not.

    Judged by the correlation of all these dimensions together, where an episode is long
    enough to tell.
    """
    span = data.high[dims].astype(np.float64) - data.low[dims]
    actions = data.actions[:, dims] / span
    starts, lengths = data.starts, data.lengths
    means = np.add.reduceat(actions, starts) / lengths[:, None]
    around = actions - np.repeat(means, lengths, axis=0)
    together = np.zeros(len(actions))
    inner = _inner(data)
    together[inner] = (around[inner] * around[inner - 1]).sum(axis=1)
    spread = np.add.reduceat((around * around).sum(axis=1), starts)
    correlation = np.add.reduceat(together, starts) / np.where(spread > 0, spread, 1)
    chance = np.maximum(UNCORRELATED, 2 / np.sqrt(lengths * len(dims)))
    told = (lengths >= TOLD) & (spread > 0)
    return np.flatnonzero(told & (np.abs(correlation) < chance))


def _low_frequency_power(data: Trajectories) -> list[float]:
    """Share of the variance slower than a period of 20 steps, per dimension."""
    pieces = cut(data.actions, data.ends)
    shares = []
    for i in range(data.dims):
        frequency, density = spectrum(pieces[:, :, i : i + 1])
        total = density.sum()
        low = density[frequency <= LOW_FREQUENCY].sum()
        shares.append(float(low / total) if total > 0 else 0.0)
    return shares


def _warnings(data: Trajectories, rows: list[dict]) -> list[str]:
    found = []
    for row in rows:
        name = f"dimension {row['dimension']}"
        name += f" ({row['name']})" if "name" in row else ""
        moves = row["kind"] == "continuous"
        if row["kind"] == "constant":
            found.append(
                f"{name} is constant ({row['min']:g}): there is nothing to learn, and "
                "an undithered likelihood is infinite."
            )
        elif not moves:
            found.append(
                f"{name} takes few distinct values, {row['kind']}: a density needs "
                "dequantisation there."
            )
        elif row["saturated"] > 0.01:
            found.append(
                f"{name}: {row['saturated']:.1%} of the actions sit on a bound, a "
                "point mass that drives likelihoods to infinity unless dequantised."
            )
        if row["outside"] > 0:
            found.append(
                f"{name}: {row['outside']:.2%} of the actions lie outside "
                f"[{row['low']:g}, {row['high']:g}]; they will be clipped."
            )
        if moves and row["repeated"] > 0.05:
            found.append(
                f"{name}: {row['repeated']:.1%} of the actions repeat the one before "
                "exactly (was the recording upsampled?): the next action is a point "
                "mass given the last."
            )
        if moves and row["std"] < 0.02 * (row["high"] - row["low"]):
            found.append(
                f"{name} uses little of its range (std {row['std']:.3g} of "
                f"{row['high'] - row['low']:g}): check units and bounds."
            )
    moving = [row for row in rows if row["kind"] == "continuous"]
    if moving and all(abs(row["correlation"]) < UNCORRELATED for row in moving):
        found.append(
            "successive actions are hardly correlated: a state-free prior has nothing "
            "to learn from them and will explore like noise."
        )
    elif moving:
        noisy = noisy_episodes(data, [row["dimension"] for row in moving])
        if len(noisy) > 0.01 * len(data):
            first = ", ".join(map(str, noisy[:5]))
            found.append(
                f"{len(noisy)} of {len(data)} episodes ({first}, counted from 0"
                f"{', and so on' if len(noisy) > 5 else ''}) hold actions without any "
                "correlation from step to step: noise among good recordings spoils a "
                "prior. Leave them out."
            )
    if len(data.actions) < 10_000:
        found.append(
            f"only {len(data.actions)} steps: a prior wants tens of thousands."
        )
    if not data.bounds_known:
        found.append(
            "the recording does not say the action bounds; taken from the data. If "
            "they are not your environment's, add --env ENV, or state them in a "
            "bounds.json beside it."
        )
    return found
