"""A learned prior as an explorer: many rollouts at once, or one in training."""

import jax
import numpy as np
from numpy.random import Generator

from sfp.exploration.family import Independent, Seen
from sfp.priors.base import Prior
from sfp.priors.sampler import Sampler


class PriorExplorer(Independent):
    """A learned prior that continues its own actions; all rollouts in one call.

    A prior that sees the state is given the observation and, if it was learned with
    goals, the task's goal.
    """

    def __init__(self, prior: Prior):
        self._prior = prior
        self._sample = jax.jit(jax.vmap(prior.sample))

    def begin(self, rng: Generator, seen: Seen, dims: int) -> np.ndarray:
        count = len(seen.position)
        return self._prior.conditioning.begin(self._prior.seeds, rng, count)

    def act(
        self, memory: np.ndarray, seen: Seen, rng: Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        sees = self._prior.conditioning
        state = seen.states[:, : len(self._prior.frame.state_mean)].astype(np.float32)
        keys = jax.random.split(jax.random.key(rng.integers(2**32)), len(memory))
        action = np.asarray(self._sample(keys, sees.context(memory, state)))
        return action.astype(np.float64), sees.push(memory, action)


class PriorWarmup(Independent):
    """The same for the one rollout of a warm-up, action for action as in SFP's."""

    def __init__(self, prior: Prior):
        self._prior, self._sample = prior, Sampler(prior)

    def begin(self, rng: Generator, seen: Seen, dims: int) -> np.ndarray:
        return self._prior.conditioning.begin(self._prior.seeds, rng)

    def act(
        self, memory: np.ndarray, seen: Seen, rng: Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        action = self._sample(rng, memory, seen.states[0])
        return action[None], self.follow(memory, action)

    def follow(self, memory: np.ndarray, action: np.ndarray) -> np.ndarray:
        """The prior continues whatever was done."""
        return self._prior.conditioning.push(memory, action)
