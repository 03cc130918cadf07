"""A prior that acts beside somebody else's learner."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sfp.envs.adapter import as_type
from sfp.errors import SfpError, at_least
from sfp.priors.base import Prior
from sfp.priors.compatibility import check_actions
from sfp.priors.several import Given, as_prior


class PriorActor:
    """A state-free prior that proposes actions in one or more environments.

    Each environment has a memory of its own, of the actions that were executed there:

        proposals = actor.propose()        # one action per environment
        ...                                # execute them, or something else
        actor.remember(executed)           # what was really executed
        actor.reset(ended)                 # where an episode is over

    Args:
        prior: a fitted one, its folder, the name of a shipped one, or a noise
            (`uniform`, `ou`, `pink`).
        space: the action space of a single environment.
        envs: how many environments.
        seed: of the proposals.
    """

    def __init__(self, prior: Given, space: gym.Space, *, envs: int = 1, seed: int = 0):
        at_least(1, envs=envs)
        at_least(0, seed=seed)
        called = "the prior" if isinstance(prior, Prior) else str(prior)
        self.space = check_space(space, called)
        low, high = self.space.low.ravel(), self.space.high.ravel()
        self.prior = as_prior(prior, low, high)
        check_actions(self.prior, low, high, called)
        if self.prior.conditioning.state:
            raise SfpError(
                f"{called} sees {self.prior.conditioning}: beside another learner only "
                "a state-free prior can act. Fit one without --state."
            )
        self.rng = np.random.default_rng([seed, 1])
        self._sample = self.prior.sampler(seed)
        self._memory = self._begin(envs)

    def __len__(self) -> int:
        """How many environments."""
        return len(self._memory)

    def propose(self, where: Any = None) -> np.ndarray:
        """The prior's next action for every environment, within its bounds.

        Args:
            where: a mask of the environments that ask; the others get zeros.
        """
        asked = np.ones(len(self), bool) if where is None else self._mask(where)
        made = np.zeros((len(self), self.prior.dims), np.float32)
        for i in np.flatnonzero(asked):
            made[i] = self._sample(self._memory[i])
        return as_type(made, self.space.dtype).reshape(-1, *self.space.shape)

    def remember(self, executed: Any) -> None:
        """Append what was executed, one action per environment, to the memories."""
        actions = np.asarray(executed, np.float32)
        if actions.size != len(self) * self.prior.dims:
            raise SfpError(
                f"expected {len(self)} executed actions of {self.prior.dims} "
                f"dimensions, received shape {actions.shape}."
            )
        actions = actions.reshape(len(self), -1)
        self._memory = self.prior.conditioning.push(self._memory, actions)

    def reset(self, where: Any = None) -> None:
        """Begin a new episode with actions from the data.

        Args:
            where: a mask of the environments whose episode is over; by default all.
        """
        over = np.ones(len(self), bool) if where is None else self._mask(where)
        if over.any():
            self._memory = self._memory.copy()
            self._memory[over] = self._begin(int(over.sum()))

    def _begin(self, count: int) -> np.ndarray:
        sees, seeds = self.prior.conditioning, self.prior.seeds
        return np.asarray(sees.begin(seeds, self.rng, count), np.float32)

    def _mask(self, where: Any) -> np.ndarray:
        mask = np.asarray(where, bool).reshape(-1)
        if len(mask) != len(self):
            raise SfpError(
                f"expected a mask of {len(self)} environments, received {len(mask)}."
            )
        return mask


def check_space(space: gym.Space, called: str) -> spaces.Box:
    """Refuse an action space that no prior is for."""
    if not isinstance(space, spaces.Box) or not space.is_bounded():
        raise SfpError(
            f"{called} is for continuous actions: expected a Box action space with "
            f"finite bounds, received {space}."
        )
    return space
