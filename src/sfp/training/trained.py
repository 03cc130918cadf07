"""A trained policy: what comes out of a run and goes to the robot."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfp.arrays import load_tree, save_tree
from sfp.errors import SfpError
from sfp.files import atomic_folder, verify_checksums
from sfp.nets.policy import Policy
from sfp.training.log import Row
from sfp.training.world import GOAL_KEYS, World

CONFIG, WEIGHTS = "config.json", "policy.safetensors"


@dataclass(frozen=True)
class PolicySpec:
    """Sizes and units of a trained policy."""

    task: str
    method: str
    obs_size: int
    goal_size: int
    low: list[float]
    high: list[float]
    action_shape: list[int]
    width: int
    depth: int


@dataclass
class Trained:
    """A policy that acts in the environment's own units.

    Attributes:
        policy: π.
        spec: its sizes and units.
        evaluations: the rows of `eval.csv` of the run it comes from.
    """

    policy: Policy
    spec: PolicySpec
    evaluations: list[Row] = field(default_factory=list)

    def __post_init__(self):
        self._mean = jax.jit(jax.vmap(self.policy.mean))
        self._draw = jax.jit(jax.vmap(lambda k, s: self.policy.sample(k, s)[0]))
        self._rng = np.random.default_rng(0)

    def predict(self, obs: Any, *, deterministic: bool = True) -> np.ndarray:
        """The action for an observation, or actions for a batch of them.

        Args:
            obs: an array, or a dict of observation, achieved_goal and desired_goal.
            deterministic: the mean, as in the paper's tests; else a sample.
        """
        states, single = self._states(obs)
        if deterministic:
            scaled = self._mean(states)
        else:
            key = jax.random.key(self._rng.integers(2**32))
            scaled = self._draw(jax.random.split(key, len(states)), states)
        low, high = np.array(self.spec.low), np.array(self.spec.high)
        actions = low + (high - low) * 0.5 * (np.asarray(scaled, np.float64) + 1.0)
        actions = np.clip(actions, low, high).astype(np.float32)
        actions = actions.reshape(len(states), *self.spec.action_shape)
        return actions[0] if single else actions

    def act(self, state: np.ndarray) -> np.ndarray:
        """The mean action in [-1, 1], for a state with its goal."""
        return np.asarray(self._mean(state[None]))[0]

    def check(self, world: World) -> None:
        """Refuse a world with other observations or actions."""
        spec = self.spec
        own = spec.obs_size, spec.goal_size, spec.low, spec.high
        other = world.obs_size, world.goal_size, list(world.low), list(world.high)
        if own != other:
            raise SfpError(
                f"this policy is for {spec.task} (observations of {spec.obs_size} and "
                f"goals of {spec.goal_size} numbers): {world.name} has other "
                "observations or actions."
            )

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a folder that `load` reads: safetensors and JSON, nothing that runs."""
        with atomic_folder(Path(folder), force=force) as draft:
            save_tree(draft / WEIGHTS, self.policy)
            (draft / CONFIG).write_text(json.dumps(asdict(self.spec), indent=2))

    @classmethod
    def load(cls, folder: str | Path) -> Trained:
        """Read what `save` wrote; the folder of a run works too."""
        folder = Path(folder)
        if (folder / "policy" / CONFIG).is_file():
            folder = folder / "policy"
        if not (folder / CONFIG).is_file():
            raise SfpError(f"there is no trained policy in {folder}.")
        verify_checksums(folder)
        try:
            spec = PolicySpec(**json.loads((folder / CONFIG).read_text()))
            like = jax.eval_shape(lambda: _blank(spec))
        except (TypeError, ValueError) as error:
            raise SfpError(f"{folder / CONFIG} is no policy's: {error}.") from None
        return cls(load_tree(folder / WEIGHTS, like, finite=True), spec)

    def _states(self, obs: Any) -> tuple[np.ndarray, bool]:
        spec = self.spec
        parts = [obs]
        if spec.goal_size:
            if not isinstance(obs, dict):
                raise SfpError(f"expected a dict of {', '.join(GOAL_KEYS)}.")
            parts = [obs["observation"], obs["desired_goal"]]
        sizes = [spec.obs_size, spec.goal_size][: len(parts)]
        flat = []
        for part, size in zip(parts, sizes, strict=True):
            part = np.asarray(part, np.float32)
            if part.size % size:
                raise SfpError(
                    f"expected observations of {size} numbers, received {part.shape}."
                )
            flat.append(part.reshape(-1, size))
        single = len(flat[0]) == 1 and np.ndim(parts[0]) == 1
        return np.concatenate(flat, axis=1), single


def make_spec(world: World, method: str, policy: Policy) -> PolicySpec:
    """What a policy for a world has to know."""
    shape = world.env.action_space.shape or ()
    return PolicySpec(
        task=world.name,
        method=method,
        obs_size=world.obs_size,
        goal_size=world.goal_size,
        low=[float(x) for x in world.low],
        high=[float(x) for x in world.high],
        action_shape=[int(n) for n in shape],
        width=int(policy.net.weights[0].shape[1]),
        depth=len(policy.net.weights) - 1,
    )


def _blank(spec: PolicySpec) -> Policy:
    return Policy(
        spec.obs_size + spec.goal_size,
        len(spec.low),
        width=spec.width,
        depth=spec.depth,
        key=jnp.asarray([0, 0], jnp.uint32),
    )
