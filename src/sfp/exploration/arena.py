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
    returns = paid = None

    def __init__(self, layout: Layout, count: int, rng: np.random.Generator):
        self._batch = MazeBatch(layout, count, rng)
        self._maze = self._batch.maze
        self.position = self._batch.position
        self._goal = self._maze.scale(self._batch.goal)
        self.began = self._is_met()
        self.told = np.zeros(count)

    def step(self, actions: np.ndarray) -> np.ndarray:
        self.position = self._batch.step(actions)
        self.told = np.maximum(self.told, self._is_met())
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
    returns = paid = None

    def __init__(self, env: MetaWorld, count: int, rng: np.random.Generator):
        self._env, self._saved = env, []
        self.observations: list[dict[str, np.ndarray]] = []
        self.told, self.began = np.zeros(count), np.zeros(count, bool)
        for i, seed in enumerate(rng.integers(2**31, size=count)):
            observation, info = env.reset(seed=int(seed))
            self.observations.append(observation)
            self.began[i] = info["is_success"]
            self._saved.append(env.save())
        self.position = self._hands()

    def step(self, actions: np.ndarray) -> np.ndarray:
        for i, action in enumerate(np.asarray(actions, np.float32)):
            self._env.restore(self._saved[i])
            self.observations[i], *_, info = self._env.step(action)
            self.told[i] = max(self.told[i], info["is_success"])
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
        self._start = self._seen = environment.reset(int(rng.integers(2**31)))
        self._over = False
        self.position = self._positions()
        self.began = np.array([bool(environment.success_at_reset)])
        self.told, self.returns = np.full(1, np.nan), np.zeros(1)
        self.paid = np.zeros(1)
        self._total = 0.0

    def step(self, actions: np.ndarray) -> np.ndarray:
        if not self._over:
            outcome = self._environment.step(actions[0])
            self._seen = outcome.observed
            self._over = outcome.terminated or outcome.truncated
            if outcome.success is not None:
                if outcome.success and self.told != 1.0:
                    self.began |= self._began_there()
                self.told = np.fmax(self.told, float(outcome.success))
            self._total += outcome.reward
            self.returns = np.array([self._total])
            self.paid = np.maximum(self.paid, outcome.reward > 0)
            self.position = self._positions()
        return self.position

    def _began_there(self) -> bool:
        """Whether the start is rewarded as the first success is, by the same goal."""
        environment, goal = self._environment, self._start.obs.goal
        if not environment.can_relabel or not np.array_equal(goal, self._seen.obs.goal):
            return False
        both = np.stack([self._start.achieved, self._seen.achieved])
        before, now = environment.rewards(both, np.stack([goal, goal]))
        return bool(before >= now)

    def states(self) -> np.ndarray:
        return np.concatenate([*self._seen.obs[:2]])[None]

    def _positions(self) -> np.ndarray:
        return self._where(self._seen)[None].astype(np.float64)


Arena: TypeAlias = MazeArena | HandArena | EnvironmentArena
"""Rollouts in a task.

`told` is 1 or 0 as the environment tells success, NaN where it does not; `began` says
which rollouts began at their goal; `paid` says which have met a reward above 0.
"""


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
