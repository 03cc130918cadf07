"""Experience replay: n-step returns, hindsight and histories in one gather."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfp.data.batch import Batch
from sfp.errors import SfpError, at_least
from sfp.observation import Obs

Reward = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rewards of many achieved and desired goals at once."""


@dataclass(frozen=True)
class Sizes:
    """The dimensions of what a time step holds.

    The history is flattened; `bank` proposals of each of the `priors` are kept. The
    channels of an image are those of `frames` successive ones, the oldest first.
    """

    obs: int
    action: int
    goal: int = 0
    history: int = 0
    bank: int = 0
    image: tuple[int, ...] = ()
    priors: int = 1
    frames: int = 1


@dataclass
class TimeStep:
    """What is known at time t, before a_t is chosen; arrays are empty without goals."""

    obs: np.ndarray
    achieved: np.ndarray
    goal: np.ndarray
    history: np.ndarray
    image: np.ndarray | None = None


class EpisodeReplay:
    """A ring of time steps, in which each observation is stored once.

    An episode of T steps takes T + 1 time steps; the last has no action. Time steps are
    numbered from the first one ever stored. All that a transition needs lies at its own
    time step or later, so a ring that has overwritten the beginning of an episode still
    serves the rest of it; only an image that is a stack of frames needs earlier ones.
    The running episode can be sampled up to its newest time step, which counts as a
    truncation.

    Args:
        capacity: time steps to keep.
        sizes: of their parts.
        n_step: rewards to sum before the critic is asked.
        gamma: discount per step.
        hindsight: for each true goal, this many that the episode achieved later.
        unmet: leave out those of them that are met already at the time.
        reward: needed for hindsight.
        moving_goals: whether goals change within an episode, as those of recordings do;
            rewards are then computed for the one goal of a transition.
    """

    def __init__(
        self,
        capacity: int,
        sizes: Sizes,
        *,
        n_step: int = 1,
        gamma: float = 0.99,
        hindsight: float = 0.0,
        unmet: bool = False,
        reward: Reward | None = None,
        moving_goals: bool = False,
    ):
        at_least(3, capacity=capacity)
        at_least(1, n_step=n_step)
        if hindsight < 0:
            raise SfpError(f"expected hindsight of 0 or more, received {hindsight}.")
        if hindsight and not (sizes.goal and reward):
            raise SfpError(
                "hindsight needs goals and a reward that follows from them: this "
                "environment has none. Set hindsight to 0."
            )
        self.capacity, self.sizes = capacity, sizes
        self.n_step, self.gamma = n_step, gamma
        self.hindsight, self._reward = hindsight, reward
        self._unmet = unmet
        self.computes_rewards = bool(hindsight) or moving_goals
        self.checks_rewards = bool(hindsight)  # against those of the environment
        self.columns = {
            "obs": np.zeros((capacity, sizes.obs), np.float32),
            "achieved": np.zeros((capacity, sizes.goal), np.float32),
            "goal": np.zeros((capacity, sizes.goal), np.float32),
            "history": np.zeros((capacity, sizes.history), np.float32),
            "bank": np.zeros(
                (capacity, sizes.bank, sizes.priors * sizes.action), np.float32
            ),
            "action": np.zeros((capacity, sizes.action), np.float32),
            "reward": np.zeros(capacity, np.float64),
            "episode": np.zeros(capacity, np.int64),
        }
        self._stored = ["obs", "achieved", "goal", "history"]
        if sizes.image:
            *size, channels = sizes.image
            frame = (*size, channels // sizes.frames)
            self.columns["image"] = np.zeros((capacity, *frame), np.uint8)
        self._last = np.zeros(capacity, np.int64)
        self._terminated = np.zeros(capacity, bool)
        self.count = 0
        self.episodes = 0
        self.amended = False

    @property
    def lanes(self) -> "list[EpisodeReplay]":
        """The replays of several environments (`Lanes`): there is this one."""
        return [self]

    def __len__(self) -> int:
        """Transitions that can be sampled."""
        first = max(0, self.count - self.capacity)
        ends = int(np.count_nonzero(self._is_last(np.arange(first, self.count))))
        return min(self.count, self.capacity) - ends

    def begin(self, step: TimeStep) -> None:
        self.episodes, self.amended = self.episodes + 1, False
        self._write(step)

    def add(
        self, action: np.ndarray, reward: float, led_to: TimeStep, *, terminated: bool
    ) -> None:
        """What was done at the newest time step, and the time step it led to."""
        here, self.amended = self.newest_step, False
        self.columns["action"][here] = action
        self.columns["reward"][here] = reward
        self._write(led_to)
        self._terminated[self.episodes % self.capacity] = terminated

    def amend(self, reward: float, led_to: TimeStep, *, terminated: bool) -> None:
        """The newest choice went on: more reward, and a later time step after it."""
        self.columns["reward"][(self.count - 2) % self.capacity] += reward
        self.count, self.amended = self.count - 1, True
        self._write(led_to)
        self._terminated[self.episodes % self.capacity] = terminated

    @property
    def newest_step(self) -> int:
        return (self.count - 1) % self.capacity

    def histories(self, first: int, *, states: bool = False) -> np.ndarray:
        """Of the time steps from `first` on; with states and goals behind, if asked."""
        t = np.arange(first, self.count)
        names = ("history", "obs", "goal") if states else ("history",)
        return np.concatenate([self._at(name, t) for name in names], axis=1)

    def fill(self, first: int, bank: np.ndarray) -> None:
        self.columns["bank"][np.arange(first, self.count) % self.capacity] = bank

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Batch:
        """Transitions drawn uniformly, with replacement, all of them at once."""
        return as_batch(self.draw(rng, int(np.prod(shape))), shape)

    def draw(self, rng: np.random.Generator, count: int) -> dict[str, Any]:
        """The parts of a batch, one row per transition."""
        t = self._draw(rng, count)
        episode = self._episode(t)
        last = self._last[episode]
        length = np.minimum(self.n_step, last - t)
        goal, relabelled = self._goals(rng, t, last)
        reward = self._returns(t, length, goal).astype(np.float32)
        after = t + length
        ended = self._terminated[episode] & (after == last)
        discount = np.where(ended, 0.0, self.gamma**length)
        return dict(
            obs=self._observed(t, goal),
            action=self._at("action", t),
            reward=reward,
            discount=discount.astype(np.float32),
            next_obs=self._observed(after, self._next_goals(goal, after)),
            history=self._at("history", t),
            next_history=self._at("history", after),
            proposal=self._proposals(rng, t),
            next_proposal=self._proposals(rng, after),
            relabelled=relabelled.astype(np.float32),
        )

    def _observed(self, t: np.ndarray, goal: np.ndarray) -> Obs:
        none = np.zeros((len(t), 0, 0, 0), np.uint8)
        image = self._images(t) if self.sizes.image else none
        return Obs(self._at("obs", t), goal, image)

    def _images(self, t: np.ndarray) -> np.ndarray:
        """The frames up to each time step; the first stands for those before it."""
        frames = [self._at("image", t)]
        episode = self._at("episode", t)
        for _ in range(self.sizes.frames - 1):
            before = np.maximum(t - 1, 0)
            t = np.where(self._at("episode", before) == episode, before, t)
            frames.insert(0, self._at("image", t))
        return frames[0] if len(frames) == 1 else np.concatenate(frames, axis=-1)

    def newest_frame(self, image: np.ndarray) -> np.ndarray:
        """What is kept of an image: the others of a stack are there already."""
        return image[..., -self.columns["image"].shape[-1] :]

    def _next_goals(self, goal: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The environment's own then, unless the rewards are for another."""
        return goal if self.computes_rewards else self._at("goal", after)

    def newest(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the newest transitions achieved, their goals and their rewards."""
        # At worst every other time step ends its episode, and so does the newest.
        kept = min(2 * count + 1, self.count, self.capacity)
        t = np.arange(self.count - kept, self.count)
        t = t[~self._is_last(t)][-count:]
        return self._at("achieved", t + 1), self._at("goal", t), self._at("reward", t)

    def piece(self, first: int) -> dict[str, np.ndarray]:
        """All that is known of the time steps from `first` on, in order."""
        t = np.arange(first, self.count)
        columns = {name: self._at(name, t) for name in self.columns}
        ended = self._is_last(t) & self._terminated[self._episode(t)]
        return columns | {"terminated": ended}

    def like(self, first: int, stop: int) -> dict[str, np.ndarray]:
        count = stop - first
        columns = {
            name: np.zeros((count, *column.shape[1:]), column.dtype)
            for name, column in self.columns.items()
        }
        return columns | {"terminated": np.zeros(count, bool)}

    def clear(self) -> None:
        self._last[:], self._terminated[:] = 0, False
        self.count = self.episodes = 0

    def put(self, first: int, piece: dict[str, np.ndarray]) -> None:
        """Put back a piece, older ones first."""
        t = np.arange(first, first + len(piece["episode"]))
        for name, column in self.columns.items():
            column[t % self.capacity] = piece[name]
        np.maximum.at(self._last, self._episode(t), t)
        self._terminated[self._episode(t)] = False
        self._terminated[self._episode(t[piece["terminated"]])] = True

    def restore(self, count: int, episodes: int) -> None:
        self.count, self.episodes = count, episodes

    def _write(self, step: TimeStep) -> None:
        here, episode = self.count % self.capacity, self.episodes % self.capacity
        for name in self._stored:
            self.columns[name][here] = getattr(step, name)
        if self.sizes.image and step.image is not None:
            self.columns["image"][here] = self.newest_frame(step.image)
        self.columns["episode"][here] = self.episodes
        self._last[episode] = self.count
        self._terminated[episode] = False
        self.count += 1

    def _at(self, name: str, t: np.ndarray) -> np.ndarray:
        return self.columns[name][t % self.capacity]

    def _episode(self, t: np.ndarray) -> np.ndarray:
        """Where the episode of each time step stands in the table of episodes."""
        return self._at("episode", t) % self.capacity

    def _is_last(self, t: np.ndarray) -> np.ndarray:
        return self._last[self._episode(t)] == t

    def _draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Time steps that have an action; others are drawn again."""
        first = max(0, self.count - self.capacity)
        if first:  # the oldest ones lack what came before them
            first += self.sizes.frames - 1
        if self.count < 2:
            raise SfpError("there is nothing to sample yet: add a step to the replay.")
        t = rng.integers(first, self.count, size=count)
        while len(bad := np.flatnonzero(self._is_last(t))):
            t[bad] = rng.integers(first, self.count, size=len(bad))
        return t

    def _goals(
        self, rng: np.random.Generator, t: np.ndarray, last: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The true goal, or one that the same episode achieves after t ("future").

        Beside it, which ones are not true.
        """
        goal, relabelled = self._at("goal", t), np.zeros(len(t), bool)
        if self.hindsight:
            share = self.hindsight / (1.0 + self.hindsight)
            relabelled = rng.random(len(t)) < share
            chosen = np.flatnonzero(relabelled)
            future = rng.integers(t[chosen] + 1, last[chosen] + 1)
            later = self._at("achieved", future)
            if self._unmet and self._reward and len(chosen):
                met = self._reward(self._at("achieved", t[chosen]), later)
                new = met < self._reward(later, later)
                relabelled[chosen[~new]] = False
                chosen, later = chosen[new], later[new]
            goal[chosen] = later
        return goal, relabelled

    def _returns(
        self, t: np.ndarray, length: np.ndarray, goal: np.ndarray
    ) -> np.ndarray:
        ahead = np.arange(self.n_step)
        steps = t[:, None] + np.minimum(ahead, length[:, None] - 1)
        if self.computes_rewards and self._reward:
            achieved = self._at("achieved", steps + 1)
            wanted = np.broadcast_to(goal[:, None], achieved.shape)
            flat = (-1, self.sizes.goal)
            rewards = self._reward(achieved.reshape(flat), wanted.reshape(flat))
            rewards = rewards.reshape(steps.shape)
        else:
            rewards = self._at("reward", steps)
        weights = np.where(ahead < length[:, None], self.gamma**ahead, 0.0)
        return (rewards * weights).sum(axis=1)

    def _proposals(self, rng: np.random.Generator, t: np.ndarray) -> np.ndarray:
        bank = self.columns["bank"]
        if not self.sizes.bank:
            return np.zeros((len(t), 0), np.float32)
        return bank[t % self.capacity, rng.integers(self.sizes.bank, size=len(t))]


def as_batch(parts: dict[str, Any], shape: tuple[int, ...]) -> Batch:
    """Drawn transitions with these axes in front, in JAX."""
    arrays = jax.tree.map(lambda x: jnp.asarray(x.reshape(*shape, *x.shape[1:])), parts)
    return Batch(**arrays)
