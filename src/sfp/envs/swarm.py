"""Many Meta-World episodes side by side in one simulator."""

from __future__ import annotations

import numpy as np

from sfp.envs.metaworld import MetaWorld


class Swarm:
    """N episodes, stepped in turns; each is what an environment of its own would do.

    Attributes:
        env: the simulator that all of them share.
        position: of the hands.
        sights: what was seen last, one observation per episode.
        success: whether that was a success.

    Args:
        task: such as `reach`.
        count: of episodes.
        rng: draws their seeds.
    """

    def __init__(self, task: str, count: int, rng: np.random.Generator):
        self.env = MetaWorld(task)
        self.sights, self._saved = [], []
        self.success = np.zeros(count, bool)
        for i, seed in enumerate(rng.integers(2**31, size=count)):
            sight, info = self.env.reset(seed=int(seed))
            self.sights.append(sight)
            self.success[i] = info["is_success"]
            self._saved.append(self.env.save())
        self.position = self._hands()

    def step(self, actions: np.ndarray) -> np.ndarray:
        """One action for every episode; return the positions of the hands."""
        for i, action in enumerate(np.asarray(actions, np.float32)):
            self.env.restore(self._saved[i])
            self.sights[i], *_, info = self.env.step(action)
            self.success[i] = info["is_success"]
            self._saved[i] = self.env.save()
        self.position = self._hands()
        return self.position

    def _hands(self) -> np.ndarray:
        return np.array([sight["observation"][:3] for sight in self.sights])
