"""What the spaces of an environment must be, and what they say."""

import math
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sfp.errors import SfpError

GOAL_KEYS = ("observation", "achieved_goal", "desired_goal")
CHANNELS = (1, 3, 4)
TOLERANCE = 1e-5
"""Observations may leave their space by this share of its size: rounding."""


def check_box(env: gym.Env, name: str) -> spaces.Box:
    """The action space, which must be a Box."""
    space = env.action_space
    if not isinstance(space, spaces.Box):
        raise SfpError(
            f"{name} has {type(space).__name__} actions: expected a Box of numbers."
        )
    return space


def action_bounds(env: gym.Env, name: str) -> tuple[np.ndarray, np.ndarray]:
    space = check_box(env, name)
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


def action_names(env: gym.Env) -> list[str]:
    """What each action moves: as declared in `metadata`, or the joints of MuJoCo.

    Robots with as many observations and actions differ in these. Empty if unknown.
    """
    if declared := env.metadata.get("action_names"):
        return [str(name) for name in declared]
    model = getattr(env.unwrapped, "model", None)
    joints = getattr(model, "actuator_trnid", ())
    kinds = getattr(model, "actuator_trntype", ())
    if model is None or (len(joints),) != env.action_space.shape or any(kinds):
        return []
    return [str(model.joint(int(joint)).name) for joint, _ in joints]


@dataclass(frozen=True)
class Parts:
    """Where an environment shows what, by key; "" is an observation without keys.

    States stand one behind the other; goals are the achieved and the desired one.
    """

    state: dict[str, spaces.Box]
    goals: dict[str, spaces.Box]
    image: dict[str, spaces.Box]


def observation_parts(env: gym.Env, name: str) -> Parts:
    space = env.observation_space
    shown: dict[str, spaces.Space] = {"": space}
    goals: dict[str, spaces.Space] = {}
    if isinstance(space, spaces.Dict):
        shown = dict(space.spaces)
        if set(GOAL_KEYS) <= set(shown):
            goals = {key: shown[key] for key in GOAL_KEYS[1:]}
            shown = {GOAL_KEYS[0]: shown[GOAL_KEYS[0]]}
    parts = [*shown.values(), *goals.values()]
    if not parts or not all(isinstance(part, spaces.Box) for part in parts):
        raise SfpError(
            f"{name} has {type(space).__name__} observations: expected a Box, a Dict "
            f"of Boxes, or of {', '.join(GOAL_KEYS)}. Wrap it "
            "(gymnasium.wrappers.FlattenObservation)."
        )
    empty = [part for part in parts if 0 in (part.shape or ())]
    if empty:
        raise SfpError(
            f"{name} has an observation of shape {empty[0].shape}: expected at least "
            "one number in every part. Leave that part out of the space."
        )
    boxes: dict[str, spaces.Box] = shown  # pyright: ignore[reportAssignmentType]
    images = {key: part for key, part in boxes.items() if len(part.shape) in (3, 4)}
    if len(images) > 1 or any(len(part.shape) > 4 for part in boxes.values()):
        raise SfpError(
            f"{name} shows {', '.join(images) or 'arrays of five axes'}: expected one "
            "image of height x width x channels at most, or a stack of such images "
            "(gymnasium.wrappers.FrameStackObservation)."
        )
    for key, part in images.items():
        check_image(part, f"the image {key} of {name}".replace("  ", " "))
    if goals and len({part.shape for part in goals.values()}) > 1:
        first, second = goals.values()
        raise SfpError(
            f"{name} has achieved goals of shape {first.shape} and desired ones of "
            f"{second.shape}: expected the same."
        )
    state = {key: part for key, part in boxes.items() if key not in images}
    return Parts(state, goals, images)  # pyright: ignore[reportArgumentType]


def check_image(space: spaces.Box, called: str) -> None:
    """Refuse images that are neither bytes nor numbers within [0, 1]."""
    whole = space.dtype == np.uint8
    unit = np.issubdtype(space.dtype, np.floating) and (space.low == 0).all()
    if not whole and not (unit and (space.high == 1).all()):
        raise SfpError(
            f"{called} is {space.dtype} within [{space.low.min():g}, "
            f"{space.high.max():g}]: expected uint8, or numbers within [0, 1]."
        )


def channels_first(shape: tuple[int, ...]) -> bool:
    """Whether an image has its channels in front, as PyTorch's have."""
    return shape[0] in CHANNELS and shape[-1] not in CHANNELS


def image_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Height, width and channels of what `as_image` makes of a part."""
    *frames, height, width, channels = shape
    if channels_first(shape[-3:]):
        channels, height, width = shape[-3:]
    return height, width, channels * math.prod(frames)


def as_image(part: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Images of some shape, with free leading axes: uint8, channels last.

    A stack becomes the channels of one image, its oldest frame first.
    """
    if channels_first(shape[-3:]):
        part = np.moveaxis(part, -3, -1)
    if len(shape) == 4:
        part = np.moveaxis(part, -4, -2)
        part = part.reshape(*part.shape[:-2], -1)
    if part.dtype != np.uint8:
        part = np.rint(255.0 * part).astype(np.uint8)
    return np.array(part)  # a copy


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
