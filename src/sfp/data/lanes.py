"""Experience of several environments: a replay for each, drawn from as one."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from sfp.data.batch import Batch
from sfp.data.novelty import SEEN
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
        return self._drawn(rng, shape, lambda i, n: self.lanes[i].draw(rng, n))

    def sample_novel(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Batch:
        """The same, with novelty as the reward: what any lane has seen is not new."""
        counts = self._shares(rng, SEEN)
        seen = [lane.places(rng, n) for lane, n in zip(self.lanes, counts, strict=True)]
        places = np.concatenate([rows for _, rows in seen])
        whose = np.repeat(np.arange(len(counts)), counts)
        steps = np.concatenate([t for t, _ in seen])

        def draw(lane: int, count: int) -> dict[str, Any]:
            own = np.where(whose == lane, steps, -1)
            return self.lanes[lane].draw_novel(rng, count, (own, places))

        return self._drawn(rng, shape, draw)

    def _drawn(
        self,
        rng: np.random.Generator,
        shape: tuple[int, ...],
        draw: Callable[[int, int], dict[str, Any]],
    ) -> Batch:
        shares = enumerate(self._shares(rng, int(np.prod(shape))))
        drawn = [draw(lane, count) for lane, count in shares if count]
        order = rng.permutation(int(np.prod(shape)))
        joined = jax.tree.map(lambda *parts: np.concatenate(parts)[order], *drawn)
        return as_batch(joined, shape)

    def _shares(self, rng: np.random.Generator, count: int) -> list[int]:
        """How many of `count` draws fall to each lane, by what they hold."""
        held = np.array([len(lane) for lane in self.lanes])
        return rng.multinomial(count, held / held.sum()).tolist()


Replay: TypeAlias = EpisodeReplay | Lanes
