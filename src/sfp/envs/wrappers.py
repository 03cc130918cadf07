"""Wrappers that change a task: sparse by displacement, biased, or inverted.

Each works on any Gymnasium environment that has what it needs, and is rebuilt from the
environment's `spec` as Gymnasium's own wrappers are.
"""

import importlib
import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from sfp.envs.spaces import GOAL_KEYS, check_box
from sfp.errors import SfpError


class SparseDisplacement(gym.Wrapper, RecordConstructorArgs):
    """Reward 1 while the distance from the episode's start is at least a threshold.

    r_t = 1[x >= threshold], where x is the L2 distance between the positions now and at
    the reset. `info` has the `displacement` and `is_success`.

    Args:
        env: with a position, see `find_position`.
        threshold: in the position's own units, metres in MuJoCo.
        signed: count the displacement along the first axis only, with its sign.
    """

    no_hindsight = "its reward is for the displacement, not for the goal"

    def __init__(self, env: gym.Env, threshold: float, *, signed: bool = False):
        check_number("threshold", threshold, env, least=0.0)
        RecordConstructorArgs.__init__(self, threshold=threshold, signed=signed)
        gym.Wrapper.__init__(self, env)
        self.threshold, self.signed = float(threshold), signed
        self._start = np.zeros(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._start = find_position(self.env, observation, info)
        return observation, self._told(self._start, info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, terminated, truncated, info = self.env.step(action)
        info = self._told(find_position(self.env, observation, info), info)
        return observation, float(info["is_success"]), terminated, truncated, info

    def _told(self, position: np.ndarray, info: Mapping[str, Any]) -> dict[str, Any]:
        moved = displacement(self._start, position, signed=self.signed)
        return {**info, "displacement": moved, "is_success": moved >= self.threshold}


class BiasedObservation(gym.ObservationWrapper, RecordConstructorArgs):
    """Every entry of an observation is shown too high by the same number: s + b.

    Goals are shown as they are.

    Args:
        env: whose observations are numbers: a Box, or a Dict of Boxes.
        bias: b.

    Attributes:
        bias_norm: the L2 norm of the whole bias.
    """

    def __init__(self, env: gym.Env, bias: float):
        check_number("bias", bias, env)
        RecordConstructorArgs.__init__(self, bias=bias)
        gym.ObservationWrapper.__init__(self, env)
        self.bias, space = float(bias), env.observation_space
        parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}
        goals = GOAL_KEYS[1:] if set(GOAL_KEYS) <= set(parts) else ()
        self._shifted = [key for key in parts if key not in goals]
        for key in self._shifted:
            parts[key] = self._shift_space(parts[key])
        self.observation_space = parts[""] if "" in parts else spaces.Dict(parts)
        sizes = (math.prod(parts[key].shape or ()) for key in self._shifted)
        self.bias_norm = abs(self.bias) * math.sqrt(sum(sizes))

    def observation(self, observation: Any) -> Any:
        if isinstance(observation, Mapping):
            moved = {key: self._shift(observation[key]) for key in self._shifted}
            return {**observation, **moved}
        return self._shift(observation)

    def _shift(self, part: Any) -> np.ndarray:
        values = np.asarray(part)
        return (values + self.bias).astype(values.dtype)

    def _shift_space(self, space: spaces.Space) -> spaces.Box:
        if (
            not isinstance(space, spaces.Box)
            or not np.issubdtype(space.dtype, np.floating)
            or len(space.shape) > 2
        ):
            raise SfpError(
                f"{called(self.env)} shows {space}: expected vectors of real numbers "
                "to add a bias to. Leave out the bias."
            )
        low, high = (self._shift(bound) for bound in (space.low, space.high))
        return spaces.Box(low, high, dtype=space.dtype.type)


class InvertedAction(gym.ActionWrapper, RecordConstructorArgs):
    """The entries of an action arrive in reverse order: a[::-1].

    Args:
        env: whose actions are vectors of two entries at least.
    """

    def __init__(self, env: gym.Env):
        RecordConstructorArgs.__init__(self)
        gym.ActionWrapper.__init__(self, env)
        space = check_box(env, called(env))
        if len(space.shape) != 1 or space.shape[0] < 2:
            raise SfpError(
                f"{called(env)} has actions of shape {space.shape}: expected a vector "
                "of two entries at least to invert. Leave out inverted."
            )
        self.action_space = spaces.Box(
            space.low[::-1], space.high[::-1], dtype=space.dtype.type
        )

    def action(self, action: Any) -> np.ndarray:
        return np.ascontiguousarray(np.asarray(action)[::-1])


def displacement(start: np.ndarray, now: np.ndarray, *, signed: bool) -> float:
    """The L2 distance between two positions, or the signed one along the first axis."""
    gap = now - start
    return float(gap[0] if signed else np.linalg.norm(gap))


def find_position(
    env: gym.Env, observation: Any, info: Mapping[str, Any]
) -> np.ndarray:
    """Where one is: what the environment calls its `position`, or what stands for it.

    That is an achieved goal, the centre of mass of all bodies in MuJoCo (its horizontal
    coordinates: a fall is no way to get ahead), or `x_position` and `y_position` in the
    info.
    """
    bare: Any = env.unwrapped
    if isinstance(getattr(bare, "position", None), np.ndarray):
        return np.array(bare.position, np.float64).ravel()
    if isinstance(observation, Mapping) and GOAL_KEYS[1] in observation:
        return np.array(observation[GOAL_KEYS[1]], np.float64).ravel()
    if hasattr(getattr(bare, "data", None), "subtree_com"):
        mujoco: Any = importlib.import_module("mujoco")
        # A step leaves the bodies where they were before its last substep.
        mujoco.mj_kinematics(bare.model, bare.data)
        mujoco.mj_comPos(bare.model, bare.data)
        return np.array(bare.data.subtree_com[0, :2])
    if "x_position" in info:
        told = (info[key] for key in ("x_position", "y_position") if key in info)
        return np.array([float(value) for value in told])
    raise SfpError(
        f"{called(env)} has no position to measure a displacement by: expected "
        "`position`, an achieved goal, MuJoCo, or x_position in its info."
    )


def called(env: gym.Env) -> str:
    return env.spec.id if env.spec else type(env.unwrapped).__name__


def check_number(name: str, value: Any, env: gym.Env, least: float = -math.inf) -> None:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not least <= value < math.inf or value == -math.inf:
        floor = "" if least == -math.inf else f" of {least:g} or more"
        raise SfpError(
            f"expected {name} of {called(env)} as a number{floor}, received {value!r}."
        )
