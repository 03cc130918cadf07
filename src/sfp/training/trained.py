"""A trained policy: what comes out of a run and goes to the robot."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfp.agents.acting import mean_action
from sfp.agents.base import Act, draw_seed, shifted
from sfp.agents.parrot import compile_warp, warping
from sfp.arrays import load_tree, save_tree
from sfp.documents import as_record, read_json
from sfp.envs.adapter import Environment, as_type
from sfp.errors import SfpError
from sfp.files import atomic_folder, verify_checksums
from sfp.nets.policy import Policy
from sfp.priors.base import Prior
from sfp.priors.store import load_prior, make_card, save_prior
from sfp.training.log import Row

CONFIG, WEIGHTS, FLOW = "config.json", "policy.safetensors", "flow"
DEEPEST = 1000
"""Hidden layers of a policy: they are made one by one before the weights are read."""


@dataclass(frozen=True)
class PolicySpec:
    """Sizes and units of a trained policy.

    Attributes:
        task: what it was trained on.
        method: and how.
        obs_size: numbers of an observation.
        goal_size: and of a goal.
        inputs: the shapes of what it sees, by key; "" if an observation is an array.
        low: bounds of an action, flat.
        high: bounds of an action, flat.
        action_shape: of an action.
        action_type: of its numbers.
        width: hidden units.
        depth: hidden layers.
        env: what the task's name does not say of the environment.
    """

    task: str
    method: str
    obs_size: int
    goal_size: int
    inputs: dict[str, list[int]]
    low: list[float]
    high: list[float]
    action_shape: list[int]
    action_type: str
    width: int
    depth: int
    env: str | None = None

    def __post_init__(self):
        sizes = [math.prod(shape) for shape in self.inputs.values()]
        bounds = np.array([self.low, self.high], np.float64)
        if (
            sum(sizes) != self.obs_size + self.goal_size
            or bounds.shape != (2, math.prod(self.action_shape))
            or not (np.isfinite(bounds).all() and (bounds[0] < bounds[1]).all())
            or np.dtype(self.action_type).kind not in "fiu"
            or min(self.width, self.depth, *sizes, *self.action_shape, 1) < 1
            or self.depth > DEEPEST
        ):
            raise ValueError("its sizes or bounds contradict each other")


def episode_rng(seed: int) -> np.random.Generator:
    """For those who toss a coin at the beginning of a test episode."""
    return np.random.default_rng([seed, 5])


@dataclass
class Trained:
    """A policy that acts in the environment's own units.

    Attributes:
        policy: π.
        spec: its sizes and units.
        evaluations: the rows of `eval.csv` of the run it comes from.
        flow: what the policy acts through, if it does (PARROT). One that sees past
            actions makes `predict` remember them: call `reset` when an episode begins.
    """

    policy: Policy
    spec: PolicySpec
    evaluations: list[Row] = field(default_factory=list)
    flow: Prior | None = None

    def __post_init__(self):
        self._weights = jax.tree.map(np.asarray, self.policy)
        self._mean = jax.jit(lambda policy, states: jax.vmap(policy.mean)(states))
        self._draw = jax.jit(
            lambda policy, keys, states: jax.vmap(policy.sample)(keys, states)[0]
        )
        self._rng = np.random.default_rng(0)
        if self.flow is not None:
            self._warped = compile_warp(self.flow)
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Forget the actions of the last episode; a seed draws those before its first.

        Only what acts through a flow of past actions remembers any.
        """
        flow, rng = self.flow, episode_rng(seed)
        self._past = draw_seed(flow, rng) if flow is not None else None

    def predict(self, obs: Any, *, deterministic: bool = True) -> np.ndarray:
        """The action for an observation, or actions for a batch of them.

        Args:
            obs: as the environment shows it, an array or a dict of arrays; a batch has
                one more axis in front.
            deterministic: the mean, as in the paper's tests; else a sample.
        """
        states, single = self._states(obs)
        if deterministic:
            scaled = self._mean(self.policy, states)
        else:
            key = jax.random.key(self._rng.integers(2**32))
            keys = jax.random.split(key, len(states))
            scaled = self._draw(self.policy, keys, states)
        if self.flow is not None:
            scaled = self._through_flow(np.asarray(scaled), states)
        low, high = np.array(self.spec.low), np.array(self.spec.high)
        actions = low + (high - low) * 0.5 * (np.asarray(scaled, np.float64) + 1.0)
        actions = as_type(np.clip(actions, low, high), self.spec.action_type)
        actions = actions.reshape(len(states), *self.spec.action_shape)
        return actions[0] if single else actions

    def tester(self, seed: int) -> Act:
        """Who acts in a test episode: the mean, in [-1, 1], for states with goals."""
        if self.flow is None:
            return partial(mean_action, self._weights)
        past = draw_seed(self.flow, episode_rng(seed))
        return warping(self._warped, past, self._weights)

    def _through_flow(self, units: np.ndarray, states: np.ndarray) -> np.ndarray:
        assert self._past is not None
        if len(self._past) and len(units) > 1:
            raise SfpError(
                f"this policy remembers its last {len(self._past)} actions, expected "
                f"one observation at a time, received {len(units)}."
            )
        made = [
            np.asarray(self._warped(unit, self._past, state))
            for unit, state in zip(units, states, strict=True)
        ]
        if len(self._past):
            self._past = shifted(self._past, made[0])
        return np.stack(made)

    def check(self, environment: Environment) -> None:
        """Refuse an environment with other observations or actions."""
        spec = self.spec
        own = spec.obs_size, spec.goal_size, spec.low, spec.high
        other = (
            environment.obs_size,
            environment.goal_size,
            list(environment.low),
            list(environment.high),
        )
        if own != other:
            raise SfpError(
                f"this policy is for {spec.task} (observations of {spec.obs_size} and "
                f"goals of {spec.goal_size} numbers): {environment.name} has other "
                "observations or actions."
            )

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a folder that `load` reads: safetensors and JSON, nothing that runs."""
        with atomic_folder(Path(folder), force=force) as draft:
            save_tree(draft / WEIGHTS, self.policy)
            config = json.dumps(asdict(self.spec), indent=2)
            (draft / CONFIG).write_text(config, encoding="utf-8")
            if self.flow is not None:
                save_prior(draft / FLOW, self.flow, make_card(self.flow))

    @classmethod
    def load(cls, folder: str | Path) -> Trained:
        """Read what `save` wrote; the folder of a run works too."""
        folder = Path(folder)
        if (folder / "policy" / CONFIG).is_file():
            folder = folder / "policy"
        if not all((folder / name).is_file() for name in (CONFIG, WEIGHTS)):
            raise SfpError(
                f"there is no trained policy in {folder}: expected a run that has "
                "ended (--resume goes on with it), or what Trained.save wrote."
            )
        verify_checksums(folder, CONFIG, WEIGHTS, FLOW)
        try:
            spec = as_record(PolicySpec, read_json(folder / CONFIG))
            like = jax.eval_shape(lambda: _blank(spec))
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise SfpError(f"{folder / CONFIG} is no policy's: {error}.") from None
        flow = load_prior(folder / FLOW) if (folder / FLOW).is_dir() else None
        return cls(load_tree(folder / WEIGHTS, like, finite=True), spec, flow=flow)

    def _states(self, obs: Any) -> tuple[np.ndarray, bool]:
        """One row for every observation, and whether there was just one."""
        inputs = self.spec.inputs
        named = obs if isinstance(obs, Mapping) else {"": obs}
        if not inputs.keys() <= named.keys():
            keys = [key for key in inputs if key]
            expected = f"a dict with {', '.join(keys)}" if keys else "an array"
            raise SfpError(f"expected {expected}, received {_kind(obs)}.")
        parts = {key: np.asarray(named[key], np.float32) for key in inputs}
        shapes = {key: tuple(shape) for key, shape in inputs.items()}
        single = all(part.shape == shapes[key] for key, part in parts.items())
        batch = next(iter(parts.values())).shape[:1]
        for key, part in parts.items():
            if not single and part.shape != (*batch, *shapes[key]):
                what = f"{key} of shape" if key else "observations of shape"
                raise SfpError(
                    f"expected {what} {shapes[key]}, or with one more axis in front, "
                    f"received {part.shape}."
                )
            if not np.isfinite(part).all():
                raise SfpError("an observation holds NaN or infinite numbers.")
        count = 1 if single else batch[0]
        flat = [part.reshape(count, -1) for part in parts.values()]
        return np.concatenate(flat, axis=1), single


def _kind(obs: Any) -> str:
    if isinstance(obs, Mapping):
        return f"a dict with {', '.join(map(str, obs))}"
    return "an array" if isinstance(obs, np.ndarray) else type(obs).__name__


def make_spec(
    environment: Environment, method: str, policy: Policy, env: str | None = None
) -> PolicySpec:
    """What a policy for an environment has to know."""
    shape = environment.env.action_space.shape or ()
    return PolicySpec(
        task=environment.name,
        method=method,
        obs_size=environment.obs_size,
        goal_size=environment.goal_size,
        inputs=environment.inputs,
        low=[float(x) for x in environment.low],
        high=[float(x) for x in environment.high],
        action_shape=[int(n) for n in shape],
        action_type=str(environment.env.action_space.dtype),
        width=int(policy.net.weights[0].shape[1]),
        depth=len(policy.net.weights) - 1,
        env=env,
    )


def _blank(spec: PolicySpec) -> Policy:
    return Policy(
        spec.obs_size + spec.goal_size,
        len(spec.low),
        width=spec.width,
        depth=spec.depth,
        key=jnp.asarray([0, 0], jnp.uint32),
    )
