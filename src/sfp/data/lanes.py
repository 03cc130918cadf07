"""Experience of several environments: a replay for each, drawn from as one."""

from collections.abc import Sequence
from typing import TypeAlias

import jax
import numpy as np

from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay, as_batch


class Lanes:
    """Replays side by side, so that the time steps of an episode stay neighbours.

    Transitions are drawn uniformly over all of them.

    Args:
        lanes: empty replays of the same kind and sizes.
    """

    def __init__(self, lanes: Sequence[EpisodeReplay]):
        self.lanes = list(lanes)
        self.sizes = lanes[0].sizes
        self.checks_rewards = lanes[0].checks_rewards

    @property
    def hindsight(self) -> float:
        """For each true goal, this many that the episode achieved later."""
        return self.lanes[0].hindsight

    @hindsight.setter
    def hindsight(self, value: float) -> None:
        for lane in self.lanes:
            lane.hindsight = value

    def newest(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the newest transitions of every lane, `count` in all."""
        parts = [lane.newest(count // len(self.lanes)) for lane in self.lanes]
        achieved, goals, rewards = zip(*parts, strict=True)
        return np.concatenate(achieved), np.concatenate(goals), np.concatenate(rewards)

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Batch:
        """Transitions drawn uniformly, with replacement, and put in a random order."""
        count = int(np.prod(shape))
        shares = zip(self.lanes, self._shares(rng, count), strict=True)
        drawn = [lane.draw(rng, share) for lane, share in shares if share]
        order = rng.permutation(count)
        joined = jax.tree.map(lambda *parts: np.concatenate(parts)[order], *drawn)
        return as_batch(joined, shape)

    def _shares(self, rng: np.random.Generator, count: int) -> list[int]:
        """How many of `count` draws fall to each lane, by what they hold."""
        held = np.array([len(lane) for lane in self.lanes])
        return rng.multinomial(count, held / held.sum()).tolist()


Replay: TypeAlias = EpisodeReplay | Lanes
