"""Explorers: what can walk a maze without learning a task, compared side by side."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfp.analysis.exploration import coverage, gyration
from sfp.data.scripted import Scripted
from sfp.envs.layout import Layout
from sfp.envs.maze import EPISODE_STEPS, MazeBatch, get_layout
from sfp.envs.registry import get_task, maze_layout
from sfp.errors import SfpError, unknown
from sfp.types import Paths, Positions, Sequences

PER_AXIS = 10
TRAJECTORIES = 20
REPETITIONS = 10


class Explorer(Protocol):
    """Acts for a whole batch of points; keeps what it remembers of each itself."""

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """One action for every point."""
        ...


Begin = Callable[[Layout, Positions, np.random.Generator], Explorer]
"""Begins new episodes at these positions."""


class Uniform:
    """Independent actions, uniform in the box: what SAC explores with at first."""

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """Uniform in [-1, 1] per dimension."""
        return rng.uniform(-1.0, 1.0, size=position.shape)


@dataclass(frozen=True)
class Entry:
    """A line of the table of explorers."""

    begin: Begin
    summary: str


EXPLORERS: dict[str, Entry] = {
    "uniform": Entry(
        lambda layout, position, rng: Uniform(),
        "independent uniform actions (SAC's initial exploration)",
    ),
    "scripted": Entry(Scripted, "walks to random goals: how D_exp is recorded"),
}


@dataclass(frozen=True)
class Exploration:
    """What an explorer did: `repetitions * trajectories` walks, one after the other.

    Attributes:
        name: of the explorer.
        paths: all states, the first one included, in cells.
        actions: all actions.
        coverage: one value per repetition.
        gyration: one value per repetition, divided by δ².
        gyration_printed: the same divided by δ, as the paper's formula is printed.
        success: share of trajectories that met the task's goal, per repetition.
    """

    name: str
    paths: Paths
    actions: Sequences
    coverage: np.ndarray
    gyration: np.ndarray
    gyration_printed: np.ndarray
    success: np.ndarray

    def row(self) -> dict[str, str | float]:
        """One line of the table: mean and standard deviation over repetitions."""
        row: dict[str, str | float] = {"explorer": self.name}
        for metric in ("coverage", "gyration", "gyration_printed", "success"):
            values = getattr(self, metric)
            row[metric] = float(values.mean())
            row[f"{metric}_std"] = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return row


def explore(
    task: str,
    explorers: Sequence[str] = ("uniform", "scripted"),
    *,
    trajectories: int = TRAJECTORIES,
    steps: int = EPISODE_STEPS,
    repetitions: int = REPETITIONS,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> list[Exploration]:
    """Let explorers walk a maze and measure how well they cover it (Table 1).

    An explorer's walk depends on the seed and its own name only, not on the others.

    Args:
        task: a point-maze; `room-large` is the one of the paper's table.
        explorers: names from `EXPLORERS`.
        trajectories: per repetition.
        steps: per trajectory.
        repetitions: of the whole measurement, for its spread.
        seed: decides everything.
        progress: called once per step of each explorer.
    """
    for what, value in (
        ("trajectories", trajectories),
        ("steps", steps),
        ("repetitions", repetitions),
    ):
        if value < 1:
            raise SfpError(f"expected at least 1 of {what}, received {value}.")
    if seed < 0:
        raise SfpError(f"expected a seed of 0 or more, received {seed}.")
    for name in explorers:
        if name not in EXPLORERS:
            raise unknown("explorer", name, EXPLORERS, "See `sfp list explorers`.")
    layout = get_layout(maze_layout(get_task(task)))
    size = repetitions, trajectories, steps
    return [
        _explore(name, EXPLORERS[name].begin, layout, size, seed, progress)
        for name in explorers
    ]


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


def _explore(
    name: str,
    begin: Begin,
    layout: Layout,
    size: tuple[int, int, int],
    seed: int,
    progress: Callable[[], None],
) -> Exploration:
    repetitions, trajectories, steps = size
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    batch = MazeBatch(layout, repetitions * trajectories, rng)
    explorer = begin(layout, batch.position, rng)
    paths = np.empty((len(batch.position), steps + 1, 2))
    actions = np.empty((len(batch.position), steps, 2))
    paths[:, 0] = batch.position
    for t in range(steps):
        actions[:, t] = explorer.act(batch.position, rng)
        paths[:, t + 1] = batch.step(actions[:, t])
        progress()
    by_repetition = paths.reshape(repetitions, trajectories, steps + 1, 2)
    diagonal = float(np.hypot(*(layout.high - layout.low)))
    open_buckets = reachable(layout)
    return Exploration(
        name,
        paths,
        actions,
        coverage=np.array(
            [
                coverage(p, layout.low, layout.high, reachable=open_buckets)
                for p in by_repetition
            ]
        ),
        gyration=np.array([gyration(p, diagonal) for p in by_repetition]),
        gyration_printed=np.array(
            [gyration(p, diagonal, normaliser="printed") for p in by_repetition]
        ),
        success=_success(batch, paths).reshape(repetitions, -1).mean(axis=1),
    )


def _success(batch: MazeBatch, paths: Paths) -> np.ndarray:
    maze = batch.maze
    near = maze.reached(maze.scale(paths), maze.scale(batch.goal)[:, None])
    return np.any(near, axis=1)
