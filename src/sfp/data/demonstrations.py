"""Recordings as experience: a replay that draws half of every batch from them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay, Reward, Sizes
from sfp.data.trajectories import Trajectories


class HalfReplay(EpisodeReplay):
    """A replay of which half of every batch is demonstrations of the same sizes.

    RLPD samples this way.
    """

    def __init__(
        self,
        capacity: int,
        sizes: Sizes,
        *,
        demonstrations: EpisodeReplay,
        **options: Any,
    ):
        super().__init__(capacity, sizes, **options)
        self.checks_rewards = True
        self.demonstrations = demonstrations

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Batch:
        """An odd batch has one transition more of its own than demonstrations."""
        *many, count = shape
        theirs = self.demonstrations.sample(rng, (*many, count // 2))
        ours = super().sample(rng, (*many, count - count // 2))
        axis = len(many)
        return jax.tree.map(
            lambda *pair: jnp.concatenate(pair, axis=axis), ours, theirs
        )


def fill_replay(
    data: Trajectories,
    *,
    part: slice,
    reward: Reward,
    n_step: int,
    gamma: float,
    hindsight: float,
    unmet: bool = False,
) -> EpisodeReplay:
    """A replay of whole recorded episodes, with observations and goals.

    An episode of T states and actions gives T - 1 transitions: where its last action
    led to is not recorded. `part` is where in an observation the achieved goal stands.
    """
    count, obs = len(data.actions), np.asarray(data.observations, np.float32)
    achieved, goal = obs[:, part], np.asarray(data.goals, np.float32)
    rewards = np.append(reward(achieved[1:], goal[:-1]), 0.0)
    sizes = Sizes(obs.shape[1], data.dims, goal.shape[1])
    replay = EpisodeReplay(
        max(3, count),
        sizes,
        n_step=n_step,
        gamma=gamma,
        hindsight=hindsight,
        unmet=unmet,
        reward=reward,
        moving_goals=True,
    )
    piece = replay.like(0, count) | {
        "obs": obs,
        "achieved": achieved,
        "goal": goal,
        "action": np.clip(data.unit_actions, -1.0, 1.0),
        "reward": rewards,
        "episode": np.repeat(np.arange(1, len(data) + 1), data.lengths),
    }
    replay.put(0, piece)
    replay.restore(count, len(data))
    return replay
