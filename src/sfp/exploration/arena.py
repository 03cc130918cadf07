"""Arenas: where explorers walk, many at once where the task allows it."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sfp.data.reaching import Reaching
from sfp.data.scripted import Scripted
from sfp.envs.adapter import Environment, Observed
from sfp.envs.layout import Layout
from sfp.envs.maze import MazeBatch
from sfp.envs.metaworld import MetaWorld

PER_AXIS = 10
Act: TypeAlias = Callable[[], np.ndarray]
"""Gives the next action of every rollout."""


class MazeArena:
    """Points in a maze, all of which move at once."""

    dims = 2
    returns = None

    def __init__(self, layout: Layout, count: int, rng: np.random.Generator):
        self._batch = MazeBatch(layout, count, rng)
        self._maze = self._batch.maze
        self.position = self._batch.position
        self._goal = self._maze.scale(self._batch.goal)
        self.met = self._is_met()

    def step(self, actions: np.ndarray) -> np.ndarray:
        self.position = self._batch.step(actions)
        self.met |= self._is_met()
        return self.position

    def states(self) -> np.ndarray:
        return np.concatenate([self._maze.scale(self.position), self._goal], axis=1)

    def script(self, rng: np.random.Generator) -> Act:
        script = Scripted(self._maze.layout, self.position, rng)
        return lambda: script.act(self.position, rng)

    def _is_met(self) -> np.ndarray:
        return np.asarray(
            self._maze.reached(self._maze.scale(self.position), self._goal)
        )


class HandArena:
    """Hands in one Meta-World simulator, which the episodes use in turns.

    Each episode is what it would be in an environment of its own.
    """

    dims = 4
    returns = None

    def __init__(self, env: MetaWorld, count: int, rng: np.random.Generator):
        self._env, self._saved = env, []
        self.observations: list[dict[str, np.ndarray]] = []
        self.met = np.zeros(count, bool)
        for i, seed in enumerate(rng.integers(2**31, size=count)):
            observation, info = env.reset(seed=int(seed))
            self.observations.append(observation)
            self.met[i] = info["is_success"]
            self._saved.append(env.save())
        self.position = self._hands()

    def step(self, actions: np.ndarray) -> np.ndarray:
        for i, action in enumerate(np.asarray(actions, np.float32)):
            self._env.restore(self._saved[i])
            self.observations[i], *_, info = self._env.step(action)
            self.met[i] |= info["is_success"]
            self._saved[i] = self._env.save()
        self.position = self._hands()
        return self.position

    def states(self) -> np.ndarray:
        keys = "observation", "desired_goal"
        return np.array(
            [np.concatenate([o[k] for k in keys]) for o in self.observations]
        )

    def script(self, rng: np.random.Generator) -> Act:
        script = Reaching()
        goals = [script.begin(rng) for _ in self.observations]

        def act() -> np.ndarray:
            actions = []
            for i, seen in enumerate(self.observations):
                action, goals[i] = script.act(goals[i], seen, rng)
                actions.append(action)
            return np.array(actions, np.float64)

        return act

    def _hands(self) -> np.ndarray:
        return np.array([seen["observation"][:3] for seen in self.observations])


class EnvironmentArena:
    """One rollout in any environment; after the episode's end it stands still."""

    def __init__(
        self,
        environment: Environment,
        where: Callable[[Observed], np.ndarray],
        rng: np.random.Generator,
    ):
        self._environment, self._where = environment, where
        self.dims = environment.spec.action
        self._seen = environment.reset(int(rng.integers(2**31)))
        self._over = False
        self.position = self._positions()
        self.met: np.ndarray = np.zeros(1, bool)
        self.returns: np.ndarray | None = np.zeros(1)
        self._total = 0.0

    def step(self, actions: np.ndarray) -> np.ndarray:
        if not self._over:
            outcome = self._environment.step(actions[0])
            self._seen = outcome.observed
            self._over = outcome.terminated or outcome.truncated
            paid = outcome.reward > 0
            self.met |= paid if outcome.success is None else outcome.success
            self._total += outcome.reward
            self.returns = np.array([self._total])
            self.position = self._positions()
        return self.position

    def states(self) -> np.ndarray:
        return np.concatenate([*self._seen.obs[:2]])[None]

    def _positions(self) -> np.ndarray:
        return self._where(self._seen)[None].astype(np.float64)


Arena: TypeAlias = MazeArena | HandArena | EnvironmentArena
"""Rollouts in a task: where they are, which have met its goal, what they return."""


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
