"""What every agent is: a frozen description and an arrays-only state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.data.batch import Batch
from sfp.priors.base import Prior

Phase: TypeAlias = Literal["warmup", "train"]
"""Initial exploration, or the method proper."""

Metrics: TypeAlias = dict[str, Array]

Act: TypeAlias = Callable[[Float[np.ndarray, " obs"]], Float[np.ndarray, " dims"]]
"""From s_t to an action of [-1, 1], through one episode."""


class Decision(NamedTuple):
    """What an agent does at one moment; actions are scaled to [-1, 1].

    Attributes:
        action: for the environment.
        learned: the action as the critic sees it; only warped actions differ.
        info: numbers about the decision, for the log.
    """

    action: Float[np.ndarray, " dims"]
    learned: Float[np.ndarray, " dims"]
    info: dict[str, float]


class Turn(NamedTuple):
    """What an agent is given to act upon.

    Attributes:
        obs: s_t, the goal included.
        rng: the randomness of the step.
        phase: of the run.
    """

    obs: Float[np.ndarray, " obs"]
    rng: np.random.Generator
    phase: Phase


class Memory(NamedTuple):
    """An agent's memory within an episode: the paper's H_t.

    Attributes:
        history: the actions that a prior sees, oldest first; (0, dims) without one.
        walk: what correlated exploration remembers, as arrays.
    """

    history: Float[np.ndarray, "past dims"]
    walk: Any = ()


def draw_seed(prior: Prior, rng: np.random.Generator) -> Float[np.ndarray, "past dims"]:
    """H_0: consecutive actions from the data, as many as a prior sees."""
    seeds = np.asarray(prior.seeds)
    return seeds[rng.integers(len(seeds))]


def shifted(
    history: Float[np.ndarray, "past dims"], action: Float[np.ndarray, " dims"]
) -> Float[np.ndarray, "past dims"]:
    """The last actions, the newest among them."""
    return np.concatenate([history, action[None]])[1:]


@runtime_checkable
class Agent(Protocol):
    """Acts and learns. The loop never learns which method it runs.

    State, actor and memory are trees of arrays; randomness is an argument. Learning is
    JAX, acting is NumPy: it happens once per step of the environment.
    """

    @property
    def obs_size(self) -> int:
        """Numbers in s_t, the goal included."""
        ...

    @property
    def action_size(self) -> int:
        """Numbers in a_t."""
        ...

    def init(self, key: PRNGKeyArray) -> Any:
        """The state before learning."""
        ...

    def prepare(self, state: Any, key: PRNGKeyArray) -> Any:
        """What is learned before the first step; a resumed run does not do it again."""
        ...

    def actor(self, state: Any) -> Any:
        """The part of a state that acting needs."""
        ...

    @property
    def bank(self) -> int:
        """Proposals of a prior that the replay keeps with each moment."""
        ...

    def begin(self, rng: np.random.Generator) -> Memory:
        """The memory at the beginning of an episode."""
        ...

    def act(self, actor: Any, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """One step of exploration; the actor's weights are NumPy arrays."""
        ...

    def tester(self, actor: Any, rng: np.random.Generator) -> Act:
        """Who acts in one test episode, without exploring."""
        ...

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "moments history"]
    ) -> Float[Array, "moments bank dims"]:
        """The proposals to keep with some moments, given what their prior sees."""
        ...

    def update(
        self, state: Any, batch: Batch, key: PRNGKeyArray
    ) -> tuple[Any, Metrics]:
        """One gradient step for everything that learns."""
        ...


class Keys(NamedTuple):
    """The named randomness of one update; every agent splits it alike."""

    target: PRNGKeyArray
    policy: PRNGKeyArray
    choice: PRNGKeyArray
    prior: PRNGKeyArray

    @classmethod
    def split(cls, key: PRNGKeyArray) -> Keys:
        """From one key."""
        return cls(*jax.random.split(key, 4))
