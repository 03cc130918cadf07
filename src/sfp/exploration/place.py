"""Places: where explorers walk, and the box by which their walks are measured."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import gymnasium as gym
import numpy as np

from sfp.envs.adapter import Environment, Observed, make_env
from sfp.envs.layout import Layout
from sfp.envs.registry import Task, get_task
from sfp.envs.suites import EPISODE_STEPS, SUITES
from sfp.errors import SfpError
from sfp.exploration.arena import (
    Arena,
    EnvironmentArena,
    HandArena,
    MazeArena,
    reachable,
)
from sfp.priors.base import Prior, unit_prior
from sfp.priors.compatibility import check_prior
from sfp.types import Paths

Canvas: TypeAlias = Layout | tuple[np.ndarray, np.ndarray]
"""A maze, or two corners."""


class Box(NamedTuple):
    """Buckets divide it; `reachable` says which of them can be reached, None is all."""

    low: np.ndarray
    high: np.ndarray
    reachable: np.ndarray | None = None


@dataclass(frozen=True)
class Place:
    """An environment in which explorers walk.

    Attributes:
        labels: of the first two dimensions of a position.
        notes: what the measures mean.
        arenas: begins that many rollouts: all at once, or one after the other.
        box: what can be reached; None if that is not known.
        threshold: metres from the start that are a success, where it is about getting
            away.
    """

    environment: Environment
    name: str
    steps: int
    labels: tuple[str, str]
    notes: list[str]
    arenas: Callable[[int, np.random.Generator], Iterator[Arena]]
    box: Box | None = None
    layout: Layout | None = None
    threshold: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether all rollouts go on at once, and there is a scripted policy."""
        return self.box is not None

    def fitted(self, prior: Prior, name: str) -> Prior:
        check_prior(prior, name, self.environment)
        return unit_prior(prior)

    def measured(self, walks: Sequence[Paths]) -> tuple[list[Paths], Box]:
        """The walks and their box; where it is not known, the one that they span.

        The walks are scaled to it then; what never changes has no extent.
        """
        if self.box is not None:
            return list(walks), self.box
        ends = [(w.min(axis=(0, 1)), w.max(axis=(0, 1))) for w in walks]
        low = np.min([low for low, _ in ends], axis=0)
        size = np.max([high for _, high in ends], axis=0) - low
        wide = size > 0
        if not wide.any():
            wide[0], size[0] = True, 1.0
        scaled = [(w - low) / np.where(wide, size, 1.0) for w in walks]
        return scaled, Box(np.zeros(len(low)), wide.astype(float))

    def canvas(self) -> Canvas:
        if self.layout is not None:
            return self.layout
        return (np.zeros(2), np.ones(2)) if self.box is None else self.box[:2]


def find_place(task: str | gym.Env | Place, position: Sequence[int] = ()) -> Place:
    """Where to walk: a task, a map, a Gymnasium id, or an environment itself.

    In an environment that is none of our tasks, `position` says which dimensions of the
    observation make up a position.
    """
    if isinstance(task, Place):
        return task
    known = get_task(task) if isinstance(task, str) else None
    if known is None or not known.is_ours:
        return _any_place(make_env(task), known.name if known else None, position)
    if position:
        raise SfpError(f"where one is in {known.name} is settled: leave out position.")
    if SUITES[known.suite].experts:
        return _walking_place(known)
    return _known_place(known)


def _known_place(task: Task) -> Place:
    """A point-maze, or a task of Meta-World: the box that can be reached is known."""
    env, layout = task.make(), task.layout
    hand: Any = env.unwrapped
    if layout is None and task.kwargs.get("pixels"):
        hand = task.make(pixels=False).unwrapped  # where it is, no image tells

    def arenas(count: int, rng: np.random.Generator) -> Iterator[Arena]:
        if layout is not None:
            yield MazeArena(layout, count, rng)
        else:
            yield HandArena(hand, count, rng)

    if layout is not None:
        box = Box(layout.low, layout.high, reachable(layout))
    else:
        box = Box(*hand.box)
    extent = ", ".join(f"{a:g} to {b:g}" for a, b in zip(*box[:2], strict=True))
    return Place(
        Environment(env, task.name),
        task.slug,
        SUITES[task.suite].episode_steps,
        ("x of the hand", "y"),
        [
            "gyration is divided by the squared diagonal, gyration_printed by the "
            "diagonal as the formula is printed: the paper's table has the former for "
            "the room, the latter for reach.",
            f"The box of reachable positions is {extent}.",
        ],
        arenas,
        box,
        layout,
    )


def _walking_place(task: Task) -> Place:
    """A robot that walks: one rollout after the other, and how far it gets."""
    env = task.make()
    environment, robot = Environment(env, task.name), cast(Any, env.unwrapped)

    def arenas(count: int, rng: np.random.Generator) -> Iterator[Arena]:
        for _ in range(count):
            yield EnvironmentArena(environment, lambda seen: robot.position, rng)

    return Place(
        environment,
        task.slug,
        SUITES[task.suite].episode_steps,
        ("x of the centre of mass", "y"),
        [
            "distance_N is the largest displacement within the first N steps in "
            "metres, its mean over all trajectories; best_N is the largest of all.",
            f"Success is a displacement of {robot.threshold:g} m.",
        ],
        arenas,
        threshold=robot.threshold,
    )


def _any_place(env: gym.Env, name: str | None, position: Sequence[int]) -> Place:
    """Any environment, one walk after the other: there may be one robot only.

    A position is the achieved goal, or the observation where there are no goals. What
    can be reached is not known, so the box is what all walks together span.
    """
    environment = Environment(env, name)
    timed = env.has_wrapper_attr("_max_episode_steps")
    limit = env.get_wrapper_attr("_max_episode_steps") if timed else None
    wrong = [i for i in position if not 0 <= i < environment.spec.state]
    if wrong:
        raise SfpError(
            f"expected position as numbers of the observation, 0 to "
            f"{environment.spec.state - 1}, received {wrong[0]}."
        )
    of_goal = environment.has_goals and not position
    size = environment.spec.goal if of_goal else environment.spec.state
    watched = np.array(position or range(size))

    def where(seen: Observed) -> np.ndarray:
        return (seen.achieved if of_goal else seen.obs.state)[watched]

    def arenas(count: int, rng: np.random.Generator) -> Iterator[Arena]:
        for _ in range(count):
            yield EnvironmentArena(environment, where, rng)

    of = "achieved goal" if of_goal else "observation"
    said = [f"{of}[{i}], scaled" for i in watched[:2]]
    return Place(
        environment,
        re.sub(r"[^\w.-]+", "-", environment.name),
        limit or EPISODE_STEPS,
        (said[0], said[1]) if len(said) > 1 else ("time", said[0]),
        [
            "success is the share of episodes that solve the task, as in training; "
            "rewarded is the share of those with a reward above 0.",
            f"Positions are {of}s, scaled to the box that all of these walks span: "
            "what can be reached is not known, so compare coverage within this table "
            "only.",
        ],
        arenas,
    )
