"""What every agent is: a frozen description, an arrays-only state, four functions."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.types import Batch

Phase: TypeAlias = Literal["warmup", "train"]
"""Initial exploration, or the method proper."""

Metrics: TypeAlias = dict[str, Array]


class Decision(NamedTuple):
    """What an agent does at one moment; actions are scaled to [-1, 1].

    Attributes:
        action: for the environment.
        learned: the action as the critic sees it; only warped actions differ.
        info: numbers about the decision, for the log.
    """

    action: Float[Array, " dims"]
    learned: Float[Array, " dims"]
    info: Metrics


class Memory(NamedTuple):
    """An agent's memory within an episode: the paper's H_t, and what it proposes next.

    Attributes:
        history: the actions that a prior sees, oldest first; (0, dims) without one.
        bank: proposals for the moment to come; (0, dims) without any.
        proposal: the proposal to act with.
    """

    history: Float[Array, "past dims"]
    bank: Float[Array, "bank dims"]
    proposal: Float[Array, "one dims"]


@runtime_checkable
class Agent(Protocol):
    """Acts and learns. The loop never learns which method it runs.

    State, actor and memory are trees of arrays; randomness is an argument.
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

    def actor(self, state: Any) -> Any:
        """The part of a state that acting needs."""
        ...

    def begin(self, key: PRNGKeyArray) -> Memory:
        """The memory at the beginning of an episode."""
        ...

    def act(
        self,
        actor: Any,
        memory: Memory,
        obs: Float[Array, " obs"],
        *,
        key: PRNGKeyArray,
        phase: Phase,
    ) -> tuple[Decision, Memory]:
        """One step of exploration."""
        ...

    def mean(self, actor: Any, obs: Float[Array, " obs"]) -> Float[Array, " dims"]:
        """What is executed at test time."""
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
