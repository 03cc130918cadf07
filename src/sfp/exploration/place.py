"""Places: where explorers walk, and the box by which their walks are measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import gymnasium as gym
import numpy as np

from sfp.envs.adapter import Environment, Observed, make_env
from sfp.envs.layout import Layout
from sfp.envs.maze import EPISODE_STEPS, get_layout
from sfp.envs.registry import Task, get_task, maze_layout
from sfp.errors import SfpError
from sfp.exploration.arena import Arena, Explorer, make_arena
from sfp.priors.base import Prior, unit_prior
from sfp.priors.compatibility import check_actions, check_prior
from sfp.types import Paths

Canvas: TypeAlias = Layout | tuple[np.ndarray, np.ndarray]
"""A maze, or two corners."""

Where: TypeAlias = Callable[[Observed], np.ndarray]
"""What of an observation is the position."""


@dataclass(frozen=True)
class Box:
    """What the buckets divide.

    Attributes:
        low: one corner.
        high: the other.
        reachable: which buckets can be reached, or None for all.
    """

    low: np.ndarray
    high: np.ndarray
    reachable: np.ndarray | None = None


class Ground:
    """A task whose reachable box is known: a point-maze, or one of Meta-World.

    Attributes:
        name: for titles and files.
        steps: of an episode.
        scripted: whether there is a scripted policy for it.
        abreast: whether all walks go on at once, or one after the other.
        labels: of the first two numbers of a position.
    """

    scripted = abreast = True
    labels = ("x of the hand", "y")

    def __init__(self, task: Task):
        self.name, self.steps, self._task = task.name, EPISODE_STEPS, task
        self._arena = make_arena(task, 1, np.random.default_rng(0))

    @property
    def notes(self) -> list[str]:
        """What the measures mean."""
        pairs = zip(self._arena.low, self._arena.high, strict=True)
        box = ", ".join(f"{a:g} to {b:g}" for a, b in pairs)
        return [
            "gyration is divided by the squared diagonal, gyration_printed by the "
            "diagonal as the formula is printed: the paper's table has the former for "
            "the room, the latter for reach.",
            f"The box of reachable positions is {box}.",
        ]

    def arenas(self, count: int, rng: np.random.Generator) -> Iterator[Arena]:
        """All walks at once."""
        yield make_arena(self._task, count, rng)

    def fitted(self, prior: Prior, name: str) -> Prior:
        """The prior itself: actions are within [-1, 1] already."""
        arena, ones = self._arena, np.ones(self._arena.dims)
        check_actions(prior, -ones, ones, name)
        seen = len(prior.frame.state_mean)
        if seen not in (0, *arena.seen):
            raise SfpError(
                f"{name} sees a state of {seen} numbers, the task has {arena.seen[0]}, "
                f"or {arena.seen[1]} with the goal. A state-free prior would work."
            )
        return prior

    def measured(self, walks: Sequence[Paths]) -> tuple[list[Paths], Box]:
        """The walks as they are."""
        arena = self._arena
        return list(walks), Box(arena.low, arena.high, arena.reachable)

    def canvas(self) -> Canvas:
        """The maze, or the box of the hand."""
        if self._task.suite == "point-maze":
            return get_layout(maze_layout(self._task))
        return self._arena.low, self._arena.high


class Field:
    """Any Gymnasium environment, one walk after the other: there may be one robot only.

    A position is the achieved goal, or the observation where there are no goals. What
    can be reached is not known, so the box is what all walks together span.

    Attributes are those of a `Ground`.

    Args:
        env: with bounded Box actions, as for training.
        name: what it is called; None is its id.
        position: which numbers of the observation make up a position instead.
    """

    scripted = abreast = False

    def __init__(
        self, env: gym.Env, name: str | None = None, position: Sequence[int] = ()
    ):
        self._world = environment = Environment(env, name)
        self.name = re.sub(r"[^\w.-]+", "-", environment.name)
        timed = env.has_wrapper_attr("_max_episode_steps")
        limit = env.get_wrapper_attr("_max_episode_steps") if timed else None
        self.steps = limit or EPISODE_STEPS
        wrong = [i for i in position if not 0 <= i < environment.spec.state]
        if wrong:
            raise SfpError(
                f"expected position as numbers of the observation, 0 to "
                f"{environment.spec.state - 1}, received {wrong[0]}."
            )
        self._of_goal = environment.has_goals and not position
        size = environment.spec.goal if self._of_goal else environment.spec.state
        self._watched = np.array(position or range(size))
        of = "achieved goal" if self._of_goal else "observation"
        said = [f"{of}[{i}], scaled" for i in self._watched[:2]]
        self.labels = (said[0], said[1]) if len(said) > 1 else ("time", said[0])

    @property
    def notes(self) -> list[str]:
        """What the measures mean."""
        of = "achieved goals" if self._of_goal else "observations"
        return [
            "success is the share of episodes with one, as the environment tells it; "
            "where it does not, with a reward above 0.",
            f"Positions are {of}, scaled to the box that all of these walks span: what "
            "can be reached is not known, so compare coverage within this table only.",
        ]

    def arenas(self, count: int, rng: np.random.Generator) -> Iterator[Arena]:
        """One walk each."""
        for _ in range(count):
            yield _Episode(self._world, self._where, rng)

    def _where(self, seen: Observed) -> np.ndarray:
        return (seen.achieved if self._of_goal else seen.obs.state)[self._watched]

    def fitted(self, prior: Prior, name: str) -> Prior:
        """The prior for actions that are scaled to [-1, 1]."""
        check_prior(prior, name, self._world)
        return unit_prior(prior)

    def measured(self, walks: Sequence[Paths]) -> tuple[list[Paths], Box]:
        """Scaled to [0, 1] over all walks; what never changes has no extent."""
        ends = [(w.min(axis=(0, 1)), w.max(axis=(0, 1))) for w in walks]
        low = np.min([low for low, _ in ends], axis=0)
        size = np.max([high for _, high in ends], axis=0) - low
        wide = size > 0
        if not wide.any():
            wide[0], size[0] = True, 1.0
        scaled = [(w - low) / np.where(wide, size, 1.0) for w in walks]
        return scaled, Box(np.zeros(len(low)), wide.astype(float))

    def canvas(self) -> Canvas:
        """A square."""
        return np.zeros(2), np.ones(2)


class _Episode:
    """One walk in an environment; after the episode's end it stands still."""

    def __init__(
        self, environment: Environment, where: Where, rng: np.random.Generator
    ):
        self._world, self._where = environment, where
        self.dims = environment.spec.action
        self._seen = environment.reset(int(rng.integers(2**31)))
        self._over = False
        self.position = self._positions()
        self.met: np.ndarray = np.zeros(1, bool)
        self.returns: np.ndarray | None = np.zeros(1)
        self._total = 0.0

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Act, until the episode is over."""
        if not self._over:
            outcome = self._world.step(actions[0])
            self._seen = outcome.observed
            self._over = outcome.terminated or outcome.truncated
            paid = outcome.reward > 0
            self.met |= paid if outcome.success is None else outcome.success
            self._total += outcome.reward
            self.returns = np.array([self._total])
            self.position = self._positions()
        return self.position

    def states(self) -> np.ndarray:
        """The observation with its goal."""
        return np.concatenate([*self._seen.obs[:2]])[None]

    def script(self, rng: np.random.Generator) -> Explorer:
        """There is none."""
        raise SfpError(
            f"there is no scripted policy for {self._world.name}: leave it out."
        )

    def _positions(self) -> np.ndarray:
        return self._where(self._seen)[None].astype(np.float64)


Place: TypeAlias = Ground | Field


def find_place(task: str | gym.Env | Place, position: Sequence[int] = ()) -> Place:
    """Where to walk: a task, a map, a Gymnasium id, or an environment itself.

    Args:
        task: what users type, or hold in their hands.
        position: of an environment of one's own, see `Field`.
    """
    if isinstance(task, Place):
        return task
    if isinstance(task, str):
        try:
            known = get_task(task)
        except SfpError:
            return Field(make_env(task), task, position)
        if position:
            raise SfpError(
                f"where one is in {known.name} is settled: leave out position."
            )
        return Ground(known)
    return Field(make_env(task), position=position)
