"""A trained policy: what comes out of a run and goes to the robot."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfp.agents.controller import Greedy, Warped
from sfp.agents.skilled import Skilled, latent_policy
from sfp.arrays import load_tree, save_tree
from sfp.config import Networks
from sfp.documents import as_record, read_json
from sfp.envs.adapter import Environment, as_type
from sfp.envs.scale import ActionScale
from sfp.envs.solved import Solved
from sfp.envs.spaces import as_image, image_shape
from sfp.errors import SfpError
from sfp.files import atomic_folder, verify_checksums
from sfp.nets.encoder import Flat, make_encoder
from sfp.nets.policy import Policy, mean_action
from sfp.observation import Obs, Spec
from sfp.priors.base import Prior
from sfp.priors.skills import Skills
from sfp.priors.store import load_prior, make_card, save_prior
from sfp.training.log import Row
from sfp.training.predictor import Predictor
from sfp.training.verdict import solved_at

CONFIG, WEIGHTS, FLOW = "config.json", "policy.safetensors", "flow"
DEEPEST = 1000
"""Hidden layers of a policy: they are made one by one before the weights are read."""


@dataclass(frozen=True)
class PolicySpec:
    """All that is needed to rebuild a policy and to speak to it in its own units.

    Attributes:
        task: what it was trained on.
        method: and how.
        obs_size: dimensions of the state.
        goal_size: and of a goal.
        inputs: the shapes of state and goal, by key; "" if an observation is an array.
        low: bounds of an action, flat.
        high: bounds of an action, flat.
        action_shape: of an action.
        action_type: of its numbers.
        width: hidden units.
        depth: hidden layers.
        env: what the task's name does not say of the environment.
        image: the shape of the image, or of a stack of them, by key; empty without one.
        encoder: what images are seen by.
        step: of the run after which it was taken; None is the run's end.
        action_names: what its actions move, if the environment said so.
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
    image: dict[str, list[int]] = field(default_factory=dict)
    encoder: str = "patches"
    step: int | None = None
    action_names: list[str] = field(default_factory=list)

    def __post_init__(self):
        sizes = [math.prod(shape) for shape in self.inputs.values()]
        bounds = np.array([self.low, self.high], np.float64)
        images = [n for shape in self.image.values() for n in shape]
        if (
            sum(sizes) != self.obs_size + self.goal_size
            or bounds.shape != (2, math.prod(self.action_shape))
            or not (np.isfinite(bounds).all() and (bounds[0] < bounds[1]).all())
            or np.dtype(self.action_type).kind not in "fiu"
            or len(images) not in (0, 3, 4)
            or min(self.width, self.depth, *sizes, *images, *self.action_shape, 1) < 1
            or self.depth > DEEPEST
        ):
            raise ValueError("its sizes or bounds contradict each other")

    @property
    def sizes(self) -> Spec:
        """Sizes of observations and actions."""
        shape = tuple(n for shape in self.image.values() for n in shape)
        image = image_shape(shape) if shape else ()
        frames = shape[0] if len(shape) == 4 else 1
        return Spec(self.obs_size, len(self.low), self.goal_size, image, frames)


def episode_rng(seed: int) -> np.random.Generator:
    """For those who toss a coin at the beginning of a test episode."""
    return np.random.default_rng([seed, 5])


@dataclass
class Trained:
    """A controller that acts in the environment's own units.

    Attributes:
        controller: acts in [-1, 1]. One that sees past actions makes `predict` remember
            them: call `reset` when an episode begins.
        spec: its sizes and units.
        evaluations: the rows of `eval.csv` of the run it comes from.
        solved: the rule by which that run solves its task.
    """

    controller: Any
    spec: PolicySpec
    evaluations: list[Row] = field(default_factory=list)
    solved: Solved = Solved()  # noqa: RUF009  (frozen)

    def __post_init__(self):
        self._draw = jax.jit(
            lambda policy, keys, features: jax.vmap(policy.sample)(keys, features)[0]
        )
        self._rng = np.random.default_rng(0)
        self.reset()

    @property
    def solved_at(self) -> int | None:
        """The step at which its run solved the task; None if it did not."""
        return solved_at(self.evaluations, self.solved)

    @property
    def policy(self) -> Policy:
        """π, its weights NumPy arrays."""
        return self.controller.policy

    @property
    def flow(self) -> Prior | None:
        """What the policy acts through, if it does: PARROT's flow, SPiRL's skills."""
        through = isinstance(self.controller, Warped | Skilled)
        return self.controller.prior if through else None

    def reset(self, seed: int = 0) -> None:
        """Forget the actions of the last episode; a seed draws those before its first.

        Only what acts through a flow of past actions remembers any.
        """
        self._memory: Any = self.controller.begin(episode_rng(seed))

    def predict(self, obs: Any, *, deterministic: bool = True) -> np.ndarray:
        """The action for an observation, or actions for a batch of them.

        Args:
            obs: as the environment shows it, an array or a dict of arrays; a batch has
                one more axis in front.
            deterministic: the mean, as in the paper's tests; else a sample.
        """
        seen, single = self._seen(obs)
        if isinstance(self.controller, Skilled):
            scaled = self._by_skill(self.controller, seen, deterministic=deterministic)
            return self._in_units(scaled, single=single)
        features = self.controller.encoder(seen)
        if deterministic:
            scaled = mean_action(self.policy, features)
        else:
            key = jax.random.key(self._rng.integers(2**32))
            keys = jax.random.split(key, len(features))
            scaled = self._draw(self.policy, keys, features)
        if isinstance(self.controller, Warped):
            scaled = self._through_flow(self.controller, np.asarray(scaled), seen)
        return self._in_units(np.asarray(scaled), single=single)

    def as_sb3(self) -> Predictor:
        """The same policy with the `predict` that Stable-Baselines3 calls.

        It returns `(action, state)`: `evaluate_policy(policy.as_sb3(), env)`.
        """
        return Predictor(self)

    def _in_units(self, scaled: np.ndarray, *, single: bool) -> np.ndarray:
        scale = ActionScale(np.array(self.spec.low), np.array(self.spec.high))
        actions = scale.execute(np.asarray(scaled, np.float64))
        actions = as_type(actions, self.spec.action_type)
        actions = actions.reshape(len(scaled), *self.spec.action_shape)
        return actions[0] if single else actions

    def _by_skill(
        self, skilled: Skilled, seen: Obs, *, deterministic: bool
    ) -> np.ndarray:
        count = len(seen.state)
        if count > 1:
            raise SfpError(
                "this policy remembers its skill, expected one observation at a time, "
                f"received {count}."
            )
        one = Obs(*(part[0] for part in seen))
        action, self._memory = skilled.act(
            self._memory, one, self._rng, deterministic=deterministic
        )
        return action[None]

    def _through_flow(self, warped: Warped, units: np.ndarray, seen: Obs) -> np.ndarray:
        past = self._memory
        if len(past) and len(units) > 1:
            raise SfpError(
                f"this policy remembers its last {len(past)} actions, expected one "
                f"observation at a time, received {len(units)}."
            )
        made = [
            warped.through(unit, past, Obs(*(part[i] for part in seen)))
            for i, unit in enumerate(units)
        ]
        if len(past):
            self._memory = warped.prior.conditioning.push(past, made[0])
        return np.stack(made)

    def check(self, environment: Environment) -> None:
        """Refuse an environment with other observations or actions."""
        spec = self.spec
        bounds = list(environment.low), list(environment.high)
        if (spec.sizes, spec.low, spec.high) != (environment.spec, *bounds):
            images = f", images of {spec.sizes.image}" if spec.image else ""
            raise SfpError(
                f"this policy is for {spec.task} (observations of {spec.obs_size} and "
                f"goals of {spec.goal_size} numbers{images}): {environment.name} has "
                "other observations or actions."
            )
        names = environment.action_names
        if spec.action_names and names and spec.action_names != names:
            raise SfpError(
                f"this policy is for {spec.task}, whose actions move "
                f"{', '.join(spec.action_names)}: in {environment.name} they move "
                f"{', '.join(names)}."
            )

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write a folder that `load` reads: safetensors and JSON, nothing that runs."""
        with atomic_folder(Path(folder), force=force) as draft:
            save_tree(draft / WEIGHTS, self._weights())
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
            flow = load_prior(folder / FLOW) if (folder / FLOW).is_dir() else None
            by_skill = flow is not None and isinstance(flow.model, Skills)
            like = jax.eval_shape(lambda: _blank(spec, flow if by_skill else None))
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise SfpError(f"{folder / CONFIG} is no policy's: {error}.") from None
        read = load_tree(folder / WEIGHTS, like, finite=True)
        read = jax.tree.map(np.asarray, read)
        encoder, policy = read if spec.image else (Flat(), read)
        if flow is not None and by_skill:
            return cls(Skilled(encoder, policy, jax.tree.map(np.asarray, flow)), spec)
        if flow is not None:
            return cls(Warped(encoder, policy, flow), spec)
        return cls(Greedy(encoder, policy), spec)

    def _weights(self) -> Any:
        """What is saved: the policy, and the encoder where one is learned."""
        held = self.controller
        return (held.encoder, held.policy) if self.spec.image else held.policy

    def _seen(self, obs: Any) -> tuple[Obs, bool]:
        """One row for every observation, and whether there was just one."""
        shapes = {k: tuple(s) for k, s in (self.spec.inputs | self.spec.image).items()}
        named = obs if isinstance(obs, Mapping) else {"": obs}
        if not shapes.keys() <= named.keys():
            keys = [key for key in shapes if key]
            expected = f"a dict with {', '.join(keys)}" if keys else "an array"
            raise SfpError(f"expected {expected}, received {_kind(obs)}.")
        parts = {key: np.asarray(named[key]) for key in shapes}
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
            if key in self.spec.image and part.dtype != np.uint8:
                low, high = part.min(initial=0), part.max(initial=0)
                if part.dtype.kind != "f" or low < 0 or high > 1:
                    raise SfpError(
                        f"expected images of uint8, or of floats within [0, 1], "
                        f"received {part.dtype} within [{low:g}, {high:g}]."
                    )
        count = 1 if single else batch[0]
        vectors = [
            parts[k].astype(np.float32).reshape(count, -1) for k in self.spec.inputs
        ]
        flat = np.concatenate([np.zeros((count, 0), np.float32), *vectors], axis=1)
        state, goal = np.split(flat, [self.spec.obs_size], axis=1)
        image = np.zeros((count, 0, 0, 0), np.uint8)
        for key in self.spec.image:
            image = as_image(parts[key].reshape(count, *shapes[key]), shapes[key])
        return Obs(state, goal, image), single


def _kind(obs: Any) -> str:
    if isinstance(obs, Mapping):
        return f"a dict with {', '.join(map(str, obs))}"
    return "an array" if isinstance(obs, np.ndarray) else type(obs).__name__


def make_spec(
    environment: Environment, method: str, networks: Networks, env: str | None = None
) -> PolicySpec:
    """What a policy for an environment has to know."""
    parts, spec = environment.parts, environment.spec
    shown = parts.state | dict(list(parts.goals.items())[1:])
    shape = environment.env.action_space.shape or ()
    return PolicySpec(
        task=environment.name,
        method=method,
        obs_size=spec.state,
        goal_size=spec.goal,
        inputs={key: list(space.shape) for key, space in shown.items()},
        low=[float(x) for x in environment.low],
        high=[float(x) for x in environment.high],
        action_shape=[int(n) for n in shape],
        action_type=str(environment.env.action_space.dtype),
        width=networks.width,
        depth=networks.depth,
        env=env,
        image={key: list(space.shape) for key, space in parts.image.items()},
        encoder=networks.encoder,
        action_names=environment.action_names,
    )


def taken_at(folder: Path) -> int | None:
    """The step of its run after which a saved policy was taken; None is the end."""
    held = read_json(folder / CONFIG)
    return held.get("step") if isinstance(held, dict) else None


def _blank(spec: PolicySpec, skills: Prior | None = None) -> Any:
    if skills is not None:
        return latent_policy(skills, spec.sizes.inputs)
    key = jnp.asarray([0, 0], jnp.uint32)
    encoder, features = make_encoder(spec.sizes, spec.encoder, key=key)
    sizes = {"width": spec.width, "depth": spec.depth}
    policy = Policy(features, len(spec.low), **sizes, key=key)
    return (encoder, policy) if spec.image else policy
