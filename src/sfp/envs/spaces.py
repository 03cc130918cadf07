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
    if not len(low):
        raise SfpError(f"{name} has no actions: its space has shape {space.shape}.")
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
        elif len(space) and all(isinstance(p, spaces.Box) for p in space.values()):
            parts = [spaces.flatten_space(space)]
    if not all(isinstance(part, spaces.Box) for part in parts):
        raise SfpError(
            f"{name} has {type(space).__name__} observations: expected a Box, a Dict "
            f"of Boxes, or of {', '.join(GOAL_KEYS)}. Wrap it "
            "(gymnasium.wrappers.FlattenObservation)."
        )
    inner = space.values() if isinstance(space, spaces.Dict) else parts
    empty = [part for part in (*inner, *parts) if 0 in (part.shape or ())]
    if empty:
        raise SfpError(
            f"{name} has an observation of shape {empty[0].shape}: expected at least "
            "one number in every part. Leave that part out of the space."
        )
    if any(len(part.shape or ()) >= 3 for part in parts):
        raise SfpError(
            f"{name} shows pictures: expected vectors of numbers. Learning from pixels "
            "is not there yet; give the state, or features of the picture."
        )
    if len(parts) == 3 and parts[1].shape != parts[2].shape:
        raise SfpError(
            f"{name} has achieved goals of shape {parts[1].shape} and desired ones of "
            f"{parts[2].shape}: expected the same."
        )
    return parts  # pyright: ignore[reportReturnType]


def check_wrappers(env: gym.Env, name: str) -> None:
    """Refuse wrappers whose running statistics neither tests nor a resumed run have."""
    while isinstance(env, gym.Wrapper):
        if hasattr(env, "obs_rms") or hasattr(env, "return_rms"):
            raise SfpError(
                f"{name} is wrapped in {type(env).__name__}, whose statistics change "
                "while it runs and are not saved: scale by fixed numbers instead "
                "(gymnasium.wrappers.TransformObservation, TransformReward)."
            )
        env = env.env


def size_of(space: spaces.Box) -> int:
    """Numbers in a part."""
    return int(np.prod(space.shape))


def limits_of(space: spaces.Box) -> tuple[np.ndarray, np.ndarray]:
    """What flat float32 observations may be, rounding allowed."""
    low, high = (np.asarray(x, np.float64).ravel() for x in (space.low, space.high))
    finite = np.isfinite(low) & np.isfinite(high)
    slack = TOLERANCE * np.where(finite, high - low, 0.0)
    most, unit = float(np.finfo(np.float32).max), float(np.finfo(np.float32).eps)
    low = low - slack - unit * np.where(np.isfinite(low), np.abs(low), 0.0)
    high = high + slack + unit * np.where(np.isfinite(high), np.abs(high), 0.0)
    return np.maximum(low, -most), np.minimum(high, most)
