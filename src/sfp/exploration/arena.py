"""Arenas: where explorers walk, many at once, and the box that they may reach."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sfp.data.reaching import Reaching
from sfp.data.scripted import Scripted
from sfp.envs.layout import Layout
from sfp.envs.maze import MazeBatch, get_layout
from sfp.envs.registry import Task, maze_layout
from sfp.envs.swarm import Swarm

PER_AXIS = 10


@runtime_checkable
class Explorer(Protocol):
    """Acts for all walks at once; keeps what it remembers of each itself."""

    def act(self, position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One action for every walk."""
        ...


@runtime_checkable
class Arena(Protocol):
    """A number of walks in a task.

    Attributes:
        position: where each of them is.
        dims: of an action, each within [-1, 1].
        met: which walks have met the task's goal.
        returns: sum of rewards of each, where it is known.
    """

    position: np.ndarray
    dims: int
    met: np.ndarray
    returns: np.ndarray | None

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Act; return the positions."""
        ...

    def states(self) -> np.ndarray:
        """What each of them sees, with its goal."""
        ...

    def script(self, rng: np.random.Generator) -> Explorer:
        """The policy that recorded D_exp."""
        ...


class MazeArena:
    """Points in a maze; the box is the maze's, and some of it is walls."""

    dims: int = 2
    seen: tuple[int, int] = (2, 4)
    reachable: np.ndarray | None
    returns: np.ndarray | None = None

    def __init__(self, layout: Layout, count: int, rng: np.random.Generator):
        self._batch = MazeBatch(layout, count, rng)
        self._maze = self._batch.maze
        self.position = self._batch.position
        self.low, self.high = layout.low, layout.high
        self.reachable = reachable(layout)
        self._goal = self._maze.scale(self._batch.goal)
        self.met = self._is_met()

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Move every point."""
        self.position = self._batch.step(actions)
        self.met |= self._is_met()
        return self.position

    def states(self) -> np.ndarray:
        """Scaled positions and goals."""
        return np.concatenate([self._maze.scale(self.position), self._goal], axis=1)

    def script(self, rng: np.random.Generator) -> Explorer:
        """Walks to random goals."""
        return Scripted(self._maze.layout, self.position, rng)

    def _is_met(self) -> np.ndarray:
        return np.asarray(
            self._maze.reached(self._maze.scale(self.position), self._goal)
        )


class HandArena:
    """Hands in a Meta-World task; the box is what the hand's controller allows."""

    dims: int = 4
    seen: tuple[int, int] = (36, 39)
    reachable: np.ndarray | None = None
    returns: np.ndarray | None = None

    def __init__(self, task: str, count: int, rng: np.random.Generator):
        self._swarm = Swarm(task, count, rng)
        self.position = self._swarm.position
        stock = self._swarm.env.simulation
        self.low, self.high = np.array(stock.mocap_low), np.array(stock.mocap_high)
        self.met = self._swarm.success.copy()

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Move every hand."""
        self.position = self._swarm.step(actions)
        self.met |= self._swarm.success
        return self.position

    def states(self) -> np.ndarray:
        """Observations and goals."""
        keys = "observation", "desired_goal"
        return np.array(
            [np.concatenate([sight[k] for k in keys]) for sight in self._swarm.sights]
        )

    def script(self, rng: np.random.Generator) -> Explorer:
        """Reaches random points."""
        return _Reachers(self._swarm, rng)


class _Reachers:
    """One scripted policy per hand."""

    def __init__(self, swarm: Swarm, rng: np.random.Generator):
        self._swarm = swarm
        self._scripts = [Reaching(rng) for _ in swarm.sights]

    def act(self, position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Towards each one's goal."""
        pairs = zip(self._scripts, self._swarm.sights, strict=True)
        return np.array([script.act(sight) for script, sight in pairs], np.float64)


def make_arena(
    task: Task, count: int, rng: np.random.Generator
) -> MazeArena | HandArena:
    """Begin that many walks."""
    if task.suite == "meta-world":
        return HandArena(task.name, count, rng)
    return MazeArena(get_layout(maze_layout(task)), count, rng)


def reachable(layout: Layout, per_axis: int = PER_AXIS) -> np.ndarray:
    """Which buckets of the bounding box hold a piece of a free cell."""
    edge = (np.arange(per_axis + 1) / per_axis)[:, None] * (layout.high - layout.low)
    hair = 1e-9
    first = np.floor(edge[:-1] + hair).astype(int)
    last = np.ceil(edge[1:] - hair).astype(int)
    spans = [
        [slice(first[b, axis], last[b, axis]) for b in range(per_axis)]
        for axis in (0, 1)
    ]
    return np.array([[layout.free[x, y].any() for y in spans[1]] for x in spans[0]])
