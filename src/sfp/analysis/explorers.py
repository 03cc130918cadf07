"""Explorers: what can act without learning a task, compared side by side."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from sfp.analysis.arena import Arena, Explorer, make_arena
from sfp.analysis.exploration import coverage, gyration
from sfp.envs.maze import EPISODE_STEPS
from sfp.envs.registry import Task, get_task
from sfp.errors import SfpError, at_least, unknown
from sfp.priors.base import Prior, check_actions
from sfp.types import Paths, Sequences
from sfp.walks.noise import Colored, Noise, OrnsteinUhlenbeck, Zeta, squash
from sfp.walks.polyrl import PolyRL

TRAJECTORIES = 20
REPETITIONS = 10


Begin = Callable[[Arena, np.random.Generator], Explorer]
"""Begins new walks in an arena."""


class Uniform:
    """Independent actions, uniform in the box: what SAC explores with at first."""

    def __init__(self, arena: Arena, rng: np.random.Generator):
        self._shape = len(arena.position), arena.dims

    def act(self, position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Uniform in [-1, 1] per dimension."""
        return rng.uniform(-1.0, 1.0, size=self._shape)


class PriorExplorer:
    """A learned prior that continues its own actions.

    A prior that sees the state is given the observation and, if it was learned with
    goals, the task's goal.
    """

    def __init__(self, prior: Prior, arena: Arena, rng: np.random.Generator):
        self._arena = arena
        self._seen = len(prior.frame.state_mean)
        seeds = np.asarray(prior.seeds)
        self._past = seeds[rng.integers(len(seeds), size=len(arena.position))]
        self._sample = jax.jit(jax.vmap(prior.sample))

    def act(self, position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A sample for every walk, given its own last actions."""
        past = self._past.reshape(len(position), -1)
        state = self._arena.states()[:, : self._seen].astype(np.float32)
        context = np.concatenate([past, state], axis=1)
        keys = jax.random.split(jax.random.key(rng.integers(2**32)), len(position))
        action = np.asarray(self._sample(keys, context))
        self._past = np.concatenate([self._past, action[:, None]], axis=1)[:, 1:]
        return action.astype(np.float64)


class NoiseExplorer:
    """Uniform actions as well, but correlated in time as a noise is."""

    def __init__(self, noise: Noise[Any], arena: Arena, rng: np.random.Generator):
        self._noise = noise
        self._state = noise.begin(rng, len(arena.position), arena.dims)

    def act(self, position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The next step of the noise, squashed into [-1, 1]."""
        noise, self._state = self._noise.draw(self._state, rng)
        return squash(noise)


class PolyRLExplorer:
    """PolyRL's walk; its chains are made of positions."""

    def __init__(self, walk: PolyRL, arena: Arena, rng: np.random.Generator):
        self._walk = walk
        self._state = walk.begin(len(arena.position), arena.dims, arena.position)

    def act(self, position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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
        Uniform,
        "independent uniform actions (SAC's initial exploration)",
    ),
    "scripted": Entry(
        lambda arena, rng: arena.script(rng),
        "goes to random goals: how D_exp is recorded",
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
        paths: all positions, the first one included: cells, or metres of the hand.
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
    """Let explorers walk a task and measure how well they cover it (Table 1).

    An explorer's walk depends on the seed and its own name only, not on the others.

    Args:
        task: a point-maze or a Meta-World task; the paper's table has `room-large`
            and `reach`.
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
    place = get_task(task)
    size = repetitions, trajectories, steps
    chosen = {name: EXPLORERS[name].begin for name in explorers}
    for name, prior in priors.items():
        _check_prior(name, prior, make_arena(place, 1, np.random.default_rng(0)))
        chosen[name] = partial(PriorExplorer, prior)
    return [
        _explore(name, begin, place, size, seed, progress)
        for name, begin in chosen.items()
    ]


def _check_prior(name: str, prior: Prior, arena: Arena) -> None:
    check_actions(prior, -np.ones(arena.dims), np.ones(arena.dims), name)
    seen = len(prior.frame.state_mean)
    if seen not in (0, *arena.seen):
        raise SfpError(
            f"{name} sees a state of {seen} numbers, the task has {arena.seen[0]}, or "
            f"{arena.seen[1]} with the goal. A state-free prior would work."
        )


def _explore(
    name: str,
    begin: Begin,
    task: Task,
    size: tuple[int, int, int],
    seed: int,
    progress: Callable[[], None],
) -> Exploration:
    repetitions, trajectories, steps = size
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    arena = make_arena(task, repetitions * trajectories, rng)
    explorer = begin(arena, rng)
    count, dims = arena.position.shape
    paths = np.empty((count, steps + 1, dims))
    actions = np.empty((count, steps, arena.dims))
    paths[:, 0] = arena.position
    for t in range(steps):
        actions[:, t] = explorer.act(arena.position, rng)
        paths[:, t + 1] = arena.step(actions[:, t])
        progress()
    by_repetition = paths.reshape(repetitions, trajectories, steps + 1, dims)
    low, high = arena.low, arena.high
    diagonal = float(np.linalg.norm(high - low))
    return Exploration(
        name,
        paths,
        actions,
        coverage=np.array(
            [coverage(p, low, high, reachable=arena.reachable) for p in by_repetition]
        ),
        gyration=np.array([gyration(p, diagonal) for p in by_repetition]),
        gyration_printed=np.array(
            [gyration(p, diagonal, normaliser="printed") for p in by_repetition]
        ),
        success=arena.met.reshape(repetitions, -1).mean(axis=1),
    )
