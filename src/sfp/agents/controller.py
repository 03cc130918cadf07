"""Controllers: who acts in a test, is saved, and goes to the robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np

from sfp.nets.policy import Policy, mean_action
from sfp.observation import Obs
from sfp.priors.base import Prior
from sfp.priors.warp import warp

Through: TypeAlias = Callable[[np.ndarray, np.ndarray, Obs], np.ndarray]
"""From u, the last actions and an observation to an action."""


@runtime_checkable
class Controller(Protocol):
    """Acts through an episode, in [-1, 1]; what it remembers is a value."""

    def begin(self, rng: np.random.Generator) -> Any:
        """The memory at the beginning of an episode."""
        ...

    def act(
        self, memory: Any, obs: Obs, rng: np.random.Generator
    ) -> tuple[np.ndarray, Any]:
        """One action and the memory after it."""
        ...


class Greedy:
    """The mean of a policy.

    Args:
        encoder: from an observation to features, NumPy weights.
        policy: π, NumPy weights.
    """

    def __init__(self, encoder: Any, policy: Policy):
        self.encoder, self.policy = encoder, policy

    def begin(self, rng: np.random.Generator) -> Any:
        """There is nothing to remember."""
        return ()

    def act(
        self, memory: Any, obs: Obs, rng: np.random.Generator
    ) -> tuple[np.ndarray, Any]:
        """The policy's mean."""
        return mean_action(self.policy, self.encoder(obs)), memory


class Warped:
    """The mean of a policy through a flow, which may remember past actions (PARROT).

    Args:
        encoder: from an observation to features, NumPy weights.
        policy: π over u in [-1, 1], NumPy weights.
        prior: the flow, in scaled actions.
        through: its map, if it has been compiled already.
    """

    def __init__(
        self,
        encoder: Any,
        policy: Policy,
        prior: Prior,
        *,
        through: Through | None = None,
    ):
        self.encoder, self.policy, self.prior = encoder, policy, prior
        self.through = through or compile_warp(prior)

    def begin(self, rng: np.random.Generator) -> np.ndarray:
        """H_0: consecutive actions from the data."""
        return self.prior.conditioning.begin(self.prior.seeds, rng)

    def act(
        self, memory: np.ndarray, obs: Obs, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The policy's mean, through the flow."""
        action = self.through(mean_action(self.policy, self.encoder(obs)), memory, obs)
        return action, self.prior.conditioning.push(memory, action)


def compile_warp(prior: Prior) -> Through:
    """The map a = f(z(u); context) of a flow, for one action at a time."""

    @jax.jit
    def warped(unit, history, state):
        return warp(prior, unit, prior.context(history.ravel(), state))

    def through(unit: np.ndarray, history: np.ndarray, obs: Obs) -> np.ndarray:
        state = np.concatenate([obs.state, obs.goal])
        if prior.conditioning.image:
            state = obs.image.ravel().astype(np.float32)
        return np.asarray(warped(unit, history, state))

    return through
