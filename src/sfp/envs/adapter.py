"""A Gymnasium environment as an agent sees it: observations checked, actions scaled."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sfp.envs.maze import PointMaze
from sfp.envs.parameters import base
from sfp.envs.registry import get_task
from sfp.envs.scale import ActionScale
from sfp.envs.solved import threshold_of
from sfp.envs.spaces import (
    GOAL_KEYS,
    Parts,
    action_bounds,
    action_names,
    as_image,
    check_wrappers,
    image_shape,
    limits_of,
    observation_parts,
    size_of,
)
from sfp.errors import SfpError
from sfp.observation import Obs, Spec

PROBES = 5
"""Steps that must follow from the seed and the actions."""

ROUNDING = 1e-5
"""Goals that differ from others by this share of their distance may be the same."""


@dataclass
class Observed:
    """An observation, and the goal that its state achieves (empty without goals)."""

    obs: Obs
    achieved: np.ndarray


@dataclass
class Outcome:
    """What a step led to; `success` is None where the environment does not say."""

    observed: Observed
    reward: float
    terminated: bool
    truncated: bool
    success: bool | None


def make_env(env: str | gym.Env, *, imports: bool = True, **kwargs: Any) -> gym.Env:
    """An environment from a task's name, a Gymnasium id, or itself.

    Unless `imports`, a name may not import a package (Gymnasium's `package:Id`):
    nothing that is loaded from a file may run code.
    """
    if isinstance(env, gym.Env):
        return env
    if not isinstance(env, str):
        raise SfpError(
            f"expected a task's name, a Gymnasium id or an environment, received "
            f"{env!r}: make a single one of it first."
        )
    if ":" in base(env) and not imports:
        raise SfpError(
            f"the run names the task {env!r}, which would import the package "
            f"{env.partition(':')[0]!r}: pass --task {env} if you trust it."
        )
    return get_task(env).make(**kwargs)


def bounds_of(env: str | gym.Env) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest action of an environment, flat."""
    made = make_env(env)
    try:
        return action_bounds(made, env if isinstance(env, str) else name_of(made))
    finally:
        if isinstance(env, str):
            made.close()


class Environment:
    """A Gymnasium environment with Box or goal observations, bounded Box actions."""

    def __init__(self, env: gym.Env, name: str | None = None):
        self.env = env
        self.name = name or name_of(env)
        self.low, self.high = action_bounds(env, self.name)
        self.action_names = action_names(env)
        self._shape = env.action_space.shape
        self._dtype = env.action_space.dtype
        check_wrappers(env, self.name)
        self.parts = observation_parts(env, self.name)
        vectors = self.parts.state | self.parts.goals
        self._limits = {key: limits_of(space) for key, space in vectors.items()}
        self.has_goals = bool(self.parts.goals)
        self.spec = make_spec(self.parts, len(self.low))
        self.reward_threshold = threshold_of(env)
        self.success_at_reset: bool | None = None
        self._where = "before the first reset"
        kinds = ("observation_space", "action_space")
        self._given = {kind: deepcopy(getattr(env, kind)) for kind in kinds}

    @property
    def no_hindsight(self) -> str:
        """Why goals cannot be relabelled, if the environment says so."""
        said = self.env.has_wrapper_attr("no_hindsight")
        return self.env.get_wrapper_attr("no_hindsight") if said else ""

    @property
    def note(self) -> str:
        """What is wrong with its observations, in a sentence; empty if nothing is."""
        if not self.env.has_wrapper_attr("bias_norm"):
            return ""
        bias = self.env.get_wrapper_attr("bias")
        norm = self.env.get_wrapper_attr("bias_norm")
        return f"Observations of {self.name} are biased by {bias:g}, norm {norm:.3g}."

    def reset(self, seed: int, *, test: bool = False) -> Observed:
        """Begin an episode; those of tests take the goals of a maze in turn."""
        self._where = f"at reset(seed={seed})"
        maze, options = self.env.unwrapped, {}
        if test and isinstance(maze, PointMaze) and maze.goal_count > 1:
            options = {"options": {"goal": seed % maze.goal_count}}
        found = self._call(self.env.reset, seed=seed, **options)
        observation, info = self._unpacked(2, found)
        self._check_spaces()
        told = isinstance(info, Mapping)
        self.success_at_reset = self._success(info) if told else None
        self._seed, self._steps = seed, 0
        return self._see(observation)

    def step(self, action: np.ndarray) -> Outcome:
        """Execute an action of [-1, 1]."""
        self._steps += 1
        self._where = f"at step {self._steps} of the episode with seed {self._seed}"
        observation, reward, terminated, truncated, info = self._unpacked(
            5, self._call(self.env.step, self.executed(action))
        )
        success = self._success(info)
        ended = self._flag("terminated", terminated)
        return Outcome(
            self._see(observation),
            self._number(reward),
            ended,
            self._flag("truncated", truncated) and not ended,
            success,
        )

    def executed(self, action: np.ndarray) -> np.ndarray:
        """An action of [-1, 1] as the environment takes it."""
        scale = ActionScale(self.low, self.high)
        scaled = as_type(scale.execute(action), self._dtype)
        return scaled.reshape(self._shape)

    @property
    def can_relabel(self) -> bool:
        """Whether rewards can be computed for other goals."""
        computes = self.has_goals and self.env.has_wrapper_attr("compute_reward")
        return computes and not self.no_hindsight

    def rewards(self, achieved: np.ndarray, goal: np.ndarray) -> np.ndarray:
        self.check_hindsight()
        compute = self.env.get_wrapper_attr("compute_reward")
        shape = (len(achieved), *self.parts.goals[GOAL_KEYS[2]].shape)
        try:
            rewards = compute(achieved.reshape(shape), goal.reshape(shape), {})
        except Exception as error:
            raise SfpError(
                f"compute_reward of {self.name} raised {type(error).__name__} "
                f"for {len(achieved)} goals at once ({error}). Vectorise it, or set "
                "hindsight to 0."
            ) from error
        if np.shape(rewards) != (len(achieved),):
            raise SfpError(
                f"compute_reward of {self.name} gave shape {np.shape(rewards)} for "
                f"{len(achieved)} goals: expected one reward each. Vectorise it, or "
                "set hindsight to 0."
            )
        try:
            rewards = np.asarray(rewards, np.float64)
        except (TypeError, ValueError):
            raise SfpError(
                f"compute_reward of {self.name} gave {_short(rewards)}: expected "
                "numbers. Mend it, or set hindsight to 0."
            ) from None
        if not np.isfinite(rewards).all():
            raise SfpError(
                f"compute_reward of {self.name} gave a reward that is not finite. Mend "
                "it, or set hindsight to 0."
            )
        return rewards

    def check_hindsight(self) -> None:
        if not self.has_goals:
            raise SfpError(
                f"hindsight needs goals: {self.name} has none (expected a Dict of "
                f"{', '.join(GOAL_KEYS)}). Set hindsight to 0."
            )
        if not self.env.has_wrapper_attr("compute_reward"):
            raise SfpError(
                f"hindsight needs compute_reward(achieved, desired, info): {self.name} "
                "has none. Add it, or set hindsight to 0."
            )
        if self.no_hindsight:
            raise SfpError(
                f"{self.name} allows no hindsight: {self.no_hindsight}. Set hindsight "
                "to 0."
            )

    def check_same(self, other: Environment) -> None:
        """Refuse another environment for tests that shows or takes something else."""
        if other.env.unwrapped is self.env.unwrapped:
            raise SfpError(
                f"eval_env is the same {self.name} that is trained in: tests would "
                "disturb its episodes. Make a second one."
            )
        for kind in ("observation_space", "action_space"):
            own, others = getattr(self.env, kind), getattr(other.env, kind)
            if own != others:
                raise SfpError(
                    f"the environment for tests has another {kind} than {self.name}: "
                    f"expected {own}, received {others}. Pass one like it as eval_env."
                )

    def check_rewards(
        self, achieved: np.ndarray, goal: np.ndarray, rewards: np.ndarray
    ) -> None:
        """Refuse hindsight where `compute_reward` is not what `step` gave."""
        if not len(rewards):
            return
        computed = self.rewards(achieved, goal)
        wrong = np.flatnonzero(~_alike(computed, rewards))
        # Goals are stored as float32: on the edge of a success, that may decide it.
        for side in (-1.0, 1.0) if len(wrong) else ():
            edge = achieved[wrong] + side * ROUNDING * (achieved[wrong] - goal[wrong])
            wrong = wrong[~_alike(self.rewards(edge, goal[wrong]), rewards[wrong])]
        if len(wrong):
            raise SfpError(
                f"compute_reward of {self.name} gives {computed[wrong[0]]:g}, step "
                f"gave {rewards[wrong[0]]:g}: relabelled rewards would be wrong. Mend "
                "it, or, for any method but rlpd, set hindsight to 0."
            )

    def check_seed(self) -> bool:
        """Whether the same seed begins the same episode; warn if not."""
        first, second = self._begun(0), self._begun(0)
        same = np.array_equal(first, second)
        if not same:
            warnings.warn(
                f"{self.name} does not follow the seed of reset: its runs are not "
                "reproducible and cannot be resumed exactly.",
                stacklevel=2,
            )
        return same

    def _check_spaces(self) -> None:
        """Refuse spaces that change: replay, networks and policy are made for them."""
        for kind, first in self._given.items():
            now = getattr(self.env, kind)
            if now is not first and now != first:
                raise SfpError(
                    f"{self.name} has another {kind} {self._where} than before: "
                    f"expected {first}, received {now}. Make one environment for each."
                )

    def _begun(self, seed: int) -> np.ndarray:
        """What the first steps of an episode show, with actions that are the same."""
        rng, seen = np.random.default_rng(0), [*self.reset(seed).obs]
        for _ in range(PROBES):
            outcome = self.step(rng.uniform(-1.0, 1.0, self.spec.action))
            seen += [*outcome.observed.obs, np.array([outcome.reward])]
            if outcome.terminated or outcome.truncated:
                break
        return np.concatenate([part.ravel() for part in seen])

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SfpError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise SfpError(f"{self.name} raised {reason} {self._where}.") from error

    def _unpacked(self, count: int, returned: Any) -> Any:
        if not isinstance(returned, tuple) or len(returned) != count:
            raise SfpError(
                f"{self.name} returned something else than {count} values "
                f"{self._where}: expected the interface of Gymnasium 1."
            )
        return returned

    def _success(self, info: Any) -> bool | None:
        if not isinstance(info, Mapping):
            raise SfpError(
                f"{self.name} gave the info {_short(info)} {self._where}: expected a "
                "dict, {} if there is nothing to tell."
            )
        told = info.get("is_success", info.get("success"))
        return None if told is None else self._flag("is_success", told)

    def _number(self, reward: Any) -> float:
        value = self._call(np.asarray, reward, np.float64)
        if value.size != 1 or not np.isfinite(value).all():
            raise SfpError(f"{self.name} gave the reward {reward} {self._where}.")
        return value.item()

    def _flag(self, name: str, value: Any) -> bool:
        """True or False; 1 and 0 mean the same, anything else is refused."""
        if np.size(value) != 1 or np.ravel(value)[0] not in (False, True):
            raise SfpError(
                f"{self.name} gave {name} as {_short(value)} {self._where}: expected "
                "True or False."
            )
        return bool(np.ravel(value)[0])

    def _see(self, observation: Any) -> Observed:
        parts = self.parts
        flat = [
            self._vector(observation, key, part) for key, part in parts.state.items()
        ]
        goals = [
            self._vector(observation, key, part) for key, part in parts.goals.items()
        ]
        images = [
            self._image(observation, key, part) for key, part in parts.image.items()
        ]
        none = np.zeros(0, np.float32)
        state = flat[0] if len(flat) == 1 else np.concatenate([none, *flat])
        achieved, goal = goals or (none, none)
        image = images[0] if images else np.zeros((0, 0, 0), np.uint8)
        return Observed(Obs(state, goal, image), achieved)

    def _part(self, observation: Any, key: str, space: spaces.Box) -> np.ndarray:
        part = self._call(lambda: np.asarray(observation[key] if key else observation))
        if part.shape != space.shape:
            raise SfpError(
                f"{self.name} showed an observation of shape {part.shape} "
                f"{self._where}, its space says {space.shape}."
            )
        return part

    def _image(self, observation: Any, key: str, space: spaces.Box) -> np.ndarray:
        part = self._part(observation, key, space)
        if part.dtype != space.dtype:
            raise SfpError(
                f"{self.name} showed an image of {part.dtype} {self._where}, its space "
                f"says {space.dtype}."
            )
        if part.dtype != np.uint8 and not ((part >= 0) & (part <= 1)).all():
            raise SfpError(
                f"{self.name} showed an image outside [0, 1] {self._where}: mend the "
                "environment, or let it show uint8."
            )
        image, spec = as_image(part, space.shape), self.spec
        if spec.frames > 1:
            self._check_stack(image, spec.image[2] // spec.frames)
        return image

    def _check_stack(self, image: np.ndarray, channels: int) -> None:
        """The replay keeps the newest frame: the others must be the ones before it.

        An episode begins with copies of its first frame.
        """
        before = image if self._steps == 0 else self._stack
        if not np.array_equal(image[..., :-channels], before[..., channels:]):
            raise SfpError(
                f"{self.name} showed a stack {self._where} whose older images are not "
                "those of the steps before: expected gymnasium.wrappers."
                "FrameStackObservation(env, n), padding_type 'reset'."
            )
        self._stack = image

    def _vector(self, observation: Any, key: str, space: spaces.Box) -> np.ndarray:
        part, limits = self._part(observation, key, space), self._limits[key]
        with np.errstate(over="ignore"):  # infinite then, and refused below
            flat = self._call(np.array, part, np.float32).ravel()  # a copy
        # A NaN fails every comparison, so this finds it too.
        if not ((flat >= limits[0]) & (flat <= limits[1])).all():
            value = flat[~((flat >= limits[0]) & (flat <= limits[1]))][0]
            raise SfpError(
                f"{self.name} showed {value:g} {self._where}, outside its observation "
                "space: mend the environment, or widen the space."
            )
        return flat


def make_spec(parts: Parts, action: int) -> Spec:
    shapes = [space.shape for space in parts.image.values()]
    return Spec(
        state=sum(size_of(space) for space in parts.state.values()),
        action=action,
        goal=size_of(parts.goals[GOAL_KEYS[2]]) if parts.goals else 0,
        image=image_shape(shapes[0]) if shapes else (),
        frames=shapes[0][0] if shapes and len(shapes[0]) == 4 else 1,
    )


def name_of(env: gym.Env) -> str:
    return env.spec.id if env.spec else type(env.unwrapped).__name__


def as_type(actions: np.ndarray, dtype: Any) -> np.ndarray:
    """Actions as the environment takes them: to whole numbers they are rounded."""
    whole = np.issubdtype(dtype, np.integer)
    return (np.rint(actions) if whole else actions).astype(dtype)


def _short(value: Any) -> str:
    return repr(value)[:80]


def _alike(computed: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    return np.isclose(computed, rewards, rtol=1e-4, atol=1e-5)
