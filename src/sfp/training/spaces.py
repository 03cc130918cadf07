"""What the spaces of an environment must be, and what they say."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sfp.errors import SfpError

GOAL_KEYS = ("observation", "achieved_goal", "desired_goal")
TOLERANCE = 1e-5
"""Observations may leave their space by this share of its size: rounding."""


def action_bounds(env: gym.Env, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of flat actions, all of them finite."""
    space = env.action_space
    if not isinstance(space, spaces.Box):
        raise SfpError(
            f"{name} has {type(space).__name__} actions: expected a Box of numbers."
        )
    low, high = (np.asarray(x, np.float64).ravel() for x in (space.low, space.high))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise SfpError(
            f"{name} has unbounded actions: wrap it so that they are bounded "
            "(gymnasium.wrappers.RescaleAction, ClipAction)."
        )
    if (low >= high).any():
        raise SfpError(f"{name} has actions without range: {low} to {high}.")
    return low, high


def observation_parts(env: gym.Env, name: str) -> list[spaces.Box]:
    """The parts of an observation: one, or the three of a goal environment."""
    space = env.observation_space
    parts = [space]
    if isinstance(space, spaces.Dict):
        if set(GOAL_KEYS) <= set(space.spaces):
            parts = [space[key] for key in GOAL_KEYS]
        elif all(isinstance(part, spaces.Box) for part in space.values()):
            parts = [spaces.flatten_space(space)]
    if not all(isinstance(part, spaces.Box) for part in parts):
        raise SfpError(
            f"{name} has {type(space).__name__} observations: expected a Box or a Dict "
            f"of {', '.join(GOAL_KEYS)}."
        )
    return parts  # pyright: ignore[reportReturnType]


def size_of(space: spaces.Box) -> int:
    """Numbers in a part."""
    return int(np.prod(space.shape))


def limits_of(space: spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """What flat float32 observations may be, rounding allowed."""
    low, high = (np.asarray(x, np.float64).ravel() for x in (space.low, space.high))
    finite = np.isfinite(low) & np.isfinite(high)
    slack = TOLERANCE * np.where(finite, high - low, 0.0)
    most = float(np.finfo(np.float32).max)
    return np.maximum(low - slack, -most), np.minimum(high + slack, most)
