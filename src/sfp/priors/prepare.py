"""From recordings to what a fit needs: units, noise, a split, seeds."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from sfp.data.trajectories import Trajectories
from sfp.envs.scale import ActionScale
from sfp.errors import SfpError
from sfp.priors.base import Frame
from sfp.priors.conditioning import Conditioning, states

HELD_OUT = 0.1
SEEDS = 4096
STILL = 0.01
"""Share of the widest deviation below which a number of the state stands still."""


def check_seed(seed: int) -> None:
    """Refuse a seed that NumPy or JAX would refuse or cut off."""
    if not 0 <= seed < 2**32:
        raise SfpError(f"expected a seed from 0 to {2**32 - 1}, received {seed}.")


def split(episodes: np.ndarray, seed: int) -> np.ndarray:
    """Which are held out, given everyone's episode: 10 % of them, as wholes."""
    order = np.random.default_rng([seed, 7]).permutation(np.unique(episodes))
    held = np.isin(episodes, order[: max(1, round(HELD_OUT * len(order)))])
    if held.all():  # a single episode: every tenth of its steps instead
        held = np.arange(len(held)) % round(1 / HELD_OUT) == 0
    return held


def make_frame(data: Trajectories, conditioning: Conditioning) -> Frame:
    """Units from the action bounds and the mean and deviation of the states."""
    mean = deviation = np.zeros(0, np.float32)
    if conditioning.image and data.images is not None:
        if data.images.dtype != np.uint8 or data.images.ndim != 4:
            raise SfpError(
                f"{data.source} has images of {data.images.dtype} and shape "
                f"{data.images.shape[1:]}: expected uint8, height x width x channels."
            )
        mean = np.zeros(math.prod(data.images.shape[1:]))
        deviation = np.full(len(mean), 255.0)
    elif conditioning.state and data.observations is not None:
        seen = states(data)
        bad = np.flatnonzero(~np.isfinite(seen).all(axis=1))
        if len(bad):
            raise SfpError(
                f"{data.source}: the state of step {bad[0]} (counted over all "
                "episodes) is NaN or infinite: expected numbers. Repair the recording."
            )
        mean, deviation = seen.mean(axis=0, dtype=float), seen.std(axis=0, dtype=float)
        deviation = np.where(is_still(mean, deviation), deviation.max(), deviation)
        deviation = np.where(deviation > 0, deviation, 1.0)
    low, high, mean, deviation = (
        jnp.asarray(x, jnp.float32) for x in (data.low, data.high, mean, deviation)
    )
    return Frame(low, high, mean, deviation)


def is_still(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Which numbers of a state do not move, or only tremble.

    In units of its own trembling, an object that stands elsewhere in another task would
    be thousands of deviations away. So these are measured by the widest of all.
    """
    rounding = 1e-6 * np.maximum(1e-6, np.abs(mean))
    return (deviation <= rounding) | (deviation <= STILL * deviation.max())


def make_jitter(data: Trajectories) -> np.ndarray:
    """Half the width of the uniform noise per dimension that dequantises actions.

    A density grows without bound on a point mass: an action that sits on its bound, a
    constant or a discrete one. Noise makes it a box of known height instead. It is a
    quarter of the gap between discrete values, 0.01 of the half range for constants and
    for dimensions that saturate, and 0.002 (invisible) for all others.
    """
    scaled = ActionScale(data.low, data.high).to_unit(data.actions)
    if (scaled.max(axis=0) == scaled.min(axis=0)).all():
        raise SfpError(
            f"{data.source}: all actions are the same: there is nothing to learn."
        )
    jitter = np.full(data.dims, 0.002, np.float32)
    for i in range(data.dims):
        values = np.unique(scaled[:: max(1, len(scaled) // 200_000), i])
        if len(values) == 1:
            jitter[i] = 0.01
        elif len(values) <= 16 and len(values) < len(scaled) // 4:
            jitter[i] = np.clip(np.diff(values).min() / 4, 0.01, 0.25)
        elif (np.abs(scaled[:, i]) >= 1 - 1e-6).mean() > 0.01:
            jitter[i] = 0.01
    return jitter


def draw_seeds(
    data: Trajectories, rows: np.ndarray, conditioning: Conditioning, seed: int
) -> jax.Array:
    """Runs of past actions in front of some rows, to begin an episode with."""
    picked = rows[np.random.default_rng([seed, 11]).integers(len(rows), size=SEEDS)]
    return jnp.asarray(conditioning.histories(picked, data.actions))


def shuffled(rows: np.ndarray, seed: int, count: int | None = None) -> np.ndarray:
    """All or `count` of the rows in random order: the first of them stand for all."""
    return rows[np.random.default_rng([seed, 13]).permutation(len(rows))[:count]]
