"""Recording: anything that acts in an environment writes a Minari dataset."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer
from numpy.random import Generator

from sfp.data.trajectories import SHORTEST, Trajectories
from sfp.data.writer import IMAGE, make_buffer, write
from sfp.envs.adapter import Environment, as_type, make_env, name_of
from sfp.envs.parameters import slug
from sfp.envs.registry import get_task
from sfp.envs.spaces import GOAL_KEYS, check_box
from sfp.errors import SfpError, at_least
from sfp.outside import call


@runtime_checkable
class Recorder(Protocol):
    """Acts in one episode after the other; what it remembers of one is its memory.

    A controller that pursues a goal of its own may have `goal(memory)`: the recording
    holds that goal then, and the rewards for it.
    """

    def begin(self, rng: Generator) -> Any:
        """The memory at the beginning of an episode."""
        ...

    def act(self, memory: Any, obs: Any, rng: Generator) -> tuple[np.ndarray, Any]:
        """An action in the environment's own units, and the new memory.

        Args:
            memory: what `begin` or the last `act` returned.
            obs: the environment's own observation.
            rng: the episode's random stream.
        """
        ...


@runtime_checkable
class Fitting(Protocol):
    """A policy that knows what it was trained in, and refuses other environments."""

    @property
    def spec(self) -> Any:
        """Sizes and units of what it was trained in."""
        ...

    def check(self, environment: Environment) -> None:
        """Raise `SfpError` if observations or actions are others."""
        ...


@dataclass
class Episode:
    """One episode; there is one observation more than there are actions.

    Observations hold the controller's goal, if it pursues one of its own.
    """

    observations: list[Any] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminated: bool = False

    def buffer(self) -> EpisodeBuffer:
        rewards = np.array(self.rewards, np.float64)
        seen, done = stack(self.observations), stack(self.actions)
        return make_buffer(seen, done, rewards, terminated=self.terminated)


def record(
    env: str | gym.Env,
    controller: Any,
    *,
    episodes: int,
    steps: int | None = None,
    seed: int = 0,
    name: str | None = None,
    force: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Trajectories:
    """Record what a controller does in an environment, as a Minari dataset.

    Episode i has a random stream of its own, of (seed, i), which seeds the
    environment's reset and serves the controller: the same arguments give the same
    bits, as far as environment and controller follow their seeds. Images are compressed
    without a loss.

    Args:
        env: a task's name, a Gymnasium id, or an environment with Box actions.
        controller: an object with `begin` and `act`, see `Recorder`; an object with
            `predict(obs)`, such as a trained policy; or a function from observation to
            action.
        episodes: how many to record.
        steps: the most of an episode; None leaves it to the environment's time limit.
        seed: decides everything.
        name: the dataset's id; by default `sfp/<environment>/recorded-v0`.
        force: replace an existing dataset.
        progress: called with the number of episodes done so far.
    """
    at_least(1, episodes=episodes)
    at_least(0, seed=seed)
    who, made = as_recorder(controller), make_env(env)
    called = get_task(env).name if isinstance(env, str) else name_of(made)
    check_box(made, called)
    if isinstance(controller, Fitting):
        controller.check(Environment(made))
    limit = made.spec.max_episode_steps if made.spec else None
    if steps is None and limit is None:
        raise SfpError(f"{called} has no time limit: say how many steps to record.")
    most = steps if steps is not None else limit or 0
    at_least(SHORTEST, steps=most)
    streams = (np.random.default_rng([seed, number]) for number in range(episodes))
    kind = type(getattr(controller, "__self__", controller))
    doing = f"recording {kind.__name__} in {called}"
    data = write(
        name or f"sfp/{slug(called)}/recorded-v0",
        (call(doing, roll, made, who, most, rng).buffer() for rng in streams),
        made,
        description=f"{episodes} episodes of up to {most} steps in {called} "
        f"(seed {seed}).",
        algorithm=f"{kind.__module__}.{kind.__qualname__}",
        force=force,
        progress=progress,
    )
    if isinstance(env, str):
        made.close()
    return data


def roll(
    env: gym.Env,
    controller: Recorder,
    steps: int,
    rng: Generator,
    *,
    until_reward: bool = False,
    look: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Episode:
    """One episode of at most that many steps; the stream decides every bit of it.

    With `until_reward` it ends with the first reward above 0. `look` makes the image of
    a time step for the goal that is pursued.
    """
    space, episode = check_box(env, name_of(env)), Episode()
    goal: Callable[[Any], np.ndarray] | None = getattr(controller, "goal", None)

    def seen(now: Any, memory: Any) -> Any:
        seen = now if goal is None else _after(now, goal(memory))
        return {**seen, IMAGE: look(seen[GOAL_KEYS[2]])} if look else seen

    now, _ = env.reset(seed=int(rng.integers(2**31)))
    memory = controller.begin(rng)
    for _ in range(steps):
        action, memory = _acted(controller.act(memory, now, rng), space)
        episode.observations.append(seen(now, memory))
        episode.actions.append(action)
        now, reward, terminated, truncated, _ = env.step(action)
        if goal is not None:
            compute = env.get_wrapper_attr("compute_reward")
            reward = compute(now["achieved_goal"], goal(memory), {})
        episode.rewards.append(float(reward))
        episode.terminated = bool(terminated)
        paid = until_reward and episode.rewards[-1] > 0
        if terminated or truncated or (paid and len(episode.actions) >= SHORTEST):
            break
    episode.observations.append(seen(now, memory))
    return episode


def as_recorder(given: Any) -> Recorder:
    if isinstance(given, Recorder):
        return given
    if callable(getattr(given, "predict", None)):
        return _Predicting(given.predict, getattr(given, "reset", None))
    if callable(given):
        return _Predicting(given)
    raise SfpError(
        "expected a controller with begin(rng) and act(memory, obs, rng), an object "
        f"with predict(obs), or a function of observations, received {given!r}."
    )


@dataclass(frozen=True)
class _Predicting:
    """A function of observations as a controller; `reset(seed)` begins an episode."""

    predict: Callable[[Any], Any]
    reset: Callable[[int], Any] | None = None

    def begin(self, rng: Generator) -> None:
        if self.reset is not None:
            self.reset(int(rng.integers(2**31)))

    def act(self, memory: None, obs: Any, rng: Generator) -> tuple[Any, None]:
        action = self.predict(obs)
        # Stable-Baselines' policies return a pair of action and state.
        return (action[0] if isinstance(action, tuple) else action), None


def stack(values: list[Any]) -> Any:
    """Observations of many time steps as one, with time as the first axis."""
    if isinstance(values[0], Mapping):
        return {key: stack([value[key] for value in values]) for key in values[0]}
    return np.stack([np.asarray(value) for value in values])


def _acted(returned: Any, space: spaces.Box) -> tuple[np.ndarray, Any]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise SfpError(
            "expected act(memory, obs, rng) to return (action, memory), received "
            f"{type(returned).__name__}."
        )
    action, memory = returned
    try:
        action = np.asarray(action, np.float64)
    except (TypeError, ValueError):
        raise SfpError(f"expected an action of numbers, received {action!r}.") from None
    if action.shape != space.shape or not np.isfinite(action).all():
        raise SfpError(
            f"expected finite actions of shape {space.shape}, received {action}."
        )
    return as_type(np.clip(action, space.low, space.high), space.dtype), memory


def _after(now: Any, goal: np.ndarray) -> dict[str, np.ndarray]:
    return {**now, "desired_goal": goal}
