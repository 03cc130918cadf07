"""Explorers: what can walk a maze without learning a task, compared side by side."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import jax
import numpy as np

from sfp.analysis.exploration import coverage, gyration
from sfp.data.scripted import Scripted
from sfp.envs.layout import Layout
from sfp.envs.maze import EPISODE_STEPS, MazeBatch, get_layout
from sfp.envs.registry import get_task, maze_layout
from sfp.errors import SfpError, at_least, unknown
from sfp.priors.base import Prior, check_actions
from sfp.types import Paths, Positions, Sequences
from sfp.walks.noise import Colored, Noise, OrnsteinUhlenbeck, Zeta, squash
from sfp.walks.polyrl import PolyRL

PER_AXIS = 10
TRAJECTORIES = 20
REPETITIONS = 10


class Explorer(Protocol):
    """Acts for a whole batch of points; keeps what it remembers of each itself."""

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """One action for every point."""
        ...


Begin = Callable[[MazeBatch, np.random.Generator], Explorer]
"""Begins new episodes for a batch of points."""


class Uniform:
    """Independent actions, uniform in the box: what SAC explores with at first."""

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """Uniform in [-1, 1] per dimension."""
        return rng.uniform(-1.0, 1.0, size=position.shape)


class PriorExplorer:
    """A learned prior that continues its own actions.

    A prior that sees the state is given the scaled position and, if it was learned with
    goals, the task's goal.
    """

    def __init__(self, prior: Prior, batch: MazeBatch, rng: np.random.Generator):
        self._prior = prior
        seeds = np.asarray(prior.seeds)
        self._past = seeds[rng.integers(len(seeds), size=len(batch.position))]
        self._scale = batch.maze.scale
        self._goal = batch.maze.scale(batch.goal)
        self._sample = jax.jit(jax.vmap(prior.sample))

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """A sample for every point, given its own last actions."""
        state = np.concatenate([self._scale(position), self._goal], axis=1)
        state = state[:, : len(self._prior.frame.state_mean)]
        context = np.concatenate([self._past.reshape(len(position), -1), state], axis=1)
        keys = jax.random.split(jax.random.key(rng.integers(2**32)), len(position))
        action = np.asarray(self._sample(keys, context))
        self._past = np.concatenate([self._past, action[:, None]], axis=1)[:, 1:]
        return action.astype(np.float64)


class NoiseExplorer:
    """Uniform actions as well, but correlated in time as a noise is."""

    def __init__(self, noise: Noise[Any], batch: MazeBatch, rng: np.random.Generator):
        self._noise = noise
        n, dims = batch.position.shape
        self._state = noise.begin(rng, n, dims)

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """The next step of the noise, squashed into [-1, 1]."""
        noise, self._state = self._noise.draw(self._state, rng)
        return squash(noise)


class PolyRLExplorer:
    """PolyRL's walk; its chains are made of positions in cells."""

    def __init__(self, walk: PolyRL, batch: MazeBatch, rng: np.random.Generator):
        self._walk = walk
        n, dims = batch.position.shape
        self._state = walk.begin(n, dims, batch.position)

    def act(self, position: Positions, rng: np.random.Generator) -> Positions:
        """Turn a little from the last action, or begin a new chain."""
        action, self._state = self._walk.draw(self._state, position, rng)
        return action


@dataclass(frozen=True)
class Entry:
    """A line of the table of explorers."""

    begin: Begin
    summary: str


EXPLORERS: dict[str, Entry] = {
    "uniform": Entry(
        lambda batch, rng: Uniform(),
        "independent uniform actions (SAC's initial exploration)",
    ),
    "scripted": Entry(
        lambda batch, rng: Scripted(batch.maze.layout, batch.position, rng),
        "walks to random goals: how D_exp is recorded",
    ),
    "polyrl": Entry(
        partial(PolyRLExplorer, PolyRL()),
        "locally self-avoiding walk (PolyRL, the paper's baseline)",
    ),
    "pink": Entry(
        partial(NoiseExplorer, Colored(horizon=EPISODE_STEPS)),
        "uniform actions correlated as pink noise, power 1/f",
    ),
    "ou": Entry(
        partial(NoiseExplorer, OrnsteinUhlenbeck()),
        "uniform actions correlated as an Ornstein-Uhlenbeck process, by 0.85 a step",
    ),
    "zeta": Entry(
        partial(NoiseExplorer, Zeta()),
        "uniform actions held for m steps, P(m) ∝ 1/m², up to 16",
    ),
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
    priors: Mapping[str, Prior] = MappingProxyType({}),
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
        priors: learned priors by the name to show them under.
        trajectories: per repetition.
        steps: per trajectory.
        repetitions: of the whole measurement, for its spread.
        seed: decides everything.
        progress: called once per step of each explorer.
    """
    at_least(1, trajectories=trajectories, steps=steps, repetitions=repetitions)
    at_least(0, seed=seed)
    for name in explorers:
        if name not in EXPLORERS:
            raise unknown("explorer", name, EXPLORERS, "See `sfp list explorers`.")
    layout = get_layout(maze_layout(get_task(task)))
    size = repetitions, trajectories, steps
    chosen = {name: EXPLORERS[name].begin for name in explorers}
    for name, prior in priors.items():
        check_actions(prior, -np.ones(2), np.ones(2), name)
        seen = len(prior.frame.state_mean)
        if seen not in (0, 2, 4):
            raise SfpError(
                f"{name} sees a state of {seen} numbers, a point-maze has 2, or "
                "4 with the goal. A state-free prior would work."
            )
        chosen[name] = partial(PriorExplorer, prior)
    return [
        _explore(name, begin, layout, size, seed, progress)
        for name, begin in chosen.items()
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
    explorer = begin(batch, rng)
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
    seen = maze.scale(paths.reshape(-1, 2)).reshape(paths.shape)
    near = maze.reached(seen, maze.scale(batch.goal)[:, None])
    return np.any(near, axis=1)
