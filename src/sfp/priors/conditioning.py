"""What a prior may look at: past actions, the state, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Float32, Int, PRNGKeyArray

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError, at_least


@dataclass(frozen=True)
class Pairs:
    contexts: Float32[np.ndarray, "pairs context"]
    actions: Float32[np.ndarray, "pairs dims"]
    episodes: Int[np.ndarray, " pairs"]


@dataclass(frozen=True)
class Conditioning:
    """The part of the history H_t that a prior sees.

    Attributes:
        past_actions: k; the context begins with a_{t-k} ... a_{t-1}, oldest first.
        state: whether s_t follows, with the goal where the data has one.
        image: whether the state is an image, and nothing else is seen (PARROT).
    """

    past_actions: int = 1
    state: bool = False
    image: bool = False

    def __post_init__(self):
        at_least(0, past_actions=self.past_actions)
        if self.image and (self.past_actions or not self.state):
            raise SfpError(
                "a prior that sees images sees nothing else: expected no past actions."
            )

    def __str__(self) -> str:
        """As in the paper: `a(t-1)`, `s(t)`, `s(t), a(t-1)` or `nothing`."""
        seen = ["image(t)" if self.image else "s(t)"] if self.state else []
        if self.past_actions == 1:
            seen.append("a(t-1)")
        elif self.past_actions > 1:
            seen.append(f"a(t-{self.past_actions}) ... a(t-1)")
        return ", ".join(seen) or "nothing"

    @property
    def columns(self) -> tuple[str, ...]:
        if not self.state:
            return ("actions",)
        return ("actions", "images" if self.image else "observations")

    def pairs(self, data: Trajectories) -> Pairs:
        """Every action that has its whole context within its own episode."""
        rows, episodes = self.rows(data)
        seen = states(data, image=self.image) if self.state else None
        return Pairs(
            self.gather(rows, data.actions, seen), data.actions[rows], episodes
        )

    def gather(
        self, rows: Int[Any, " rows"], actions: Any, states: Any
    ) -> Float32[Any, "rows context"]:
        """The contexts of some rows of the data, in the namespace of `actions`."""
        past = self.histories(rows, actions)
        seen = states[rows] if self.state else actions[rows][:, :0]
        return self.context(past, seen)

    def histories(
        self, rows: Int[Any, " rows"], actions: Any
    ) -> Float32[Any, "rows past dims"]:
        """The past actions in front of some rows of the data, oldest first."""
        numpy = actions.__array_namespace__()
        return actions[rows[:, None] + numpy.arange(-self.past_actions, 0)[None]]

    def begin(
        self,
        seeds: Float[Any, "seeds past dims"],
        rng: np.random.Generator | PRNGKeyArray,
        count: int | None = None,
    ) -> Float[Any, "... past dims"]:
        """H_0: consecutive actions from the data, as if an episode had gone on.

        A NumPy generator chooses among `seeds`, or a key of JAX (then all is JAX);
        `count` histories get an axis in front.
        """
        if not isinstance(rng, np.random.Generator):
            shape = () if count is None else (count,)
            return seeds[jax.random.randint(rng, shape, 0, len(seeds))]
        seeds = np.asarray(seeds)
        return seeds[rng.integers(len(seeds), size=count)]

    def push(
        self, history: Float[Any, "*lead past dims"], action: Float[Any, "*lead dims"]
    ) -> Float[Any, "*lead past dims"]:
        """The history one time step later, when `action` was the last one."""
        numpy = history.__array_namespace__()
        longer = numpy.concat([history, action[..., None, :]], axis=-2)
        return longer[..., 1:, :]

    def context(
        self, history: Float[Any, ...], state: Float[Any, "*lead state"]
    ) -> Float[Any, "*lead context"]:
        """What a prior is given: the past actions, flat, and the state if it sees it.

        Past actions come oldest first, flat or an action per row; the leading axes are
        those of the state.
        """
        numpy = history.__array_namespace__()
        flat = history.reshape(*state.shape[:-1], -1)
        return numpy.concat([flat, state], axis=-1) if self.state else flat

    def check(self, data: Trajectories) -> None:
        """Refuse data that lacks what is to be seen."""
        for column in set(self.columns) - set(data.columns):
            what = "images" if self.image else "the state"
            raise SfpError(
                f"{data.source} has no {column} (it has {', '.join(data.columns)}): a "
                f"prior given {what} needs them. "
                "A state-free prior (past actions only) works with this data."
            )

    def rows(
        self, data: Trajectories
    ) -> tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " rows"]]:
        """The steps with their whole context in their own episode, and the episode."""
        k = self.past_actions
        self.check(data)
        steps = [
            np.arange(start + k, end)
            for start, end in zip(data.starts, data.ends, strict=True)
        ]
        rows = np.concatenate(steps)
        if len(rows) == 0:
            raise SfpError(
                f"{data.source}: no episode is longer than {k} actions (the longest "
                f"has {data.lengths.max()}): expected fewer past actions."
            )
        return rows, np.repeat(np.arange(len(data)), [len(s) for s in steps])


def states(data: Trajectories, *, image: bool = False) -> np.ndarray:
    """s_t of every step, with the goal behind it where there is one; or its image."""
    if image and data.images is not None:
        return data.images.reshape(len(data.actions), -1).astype(np.float32)
    assert data.observations is not None
    parts = [data.observations.reshape(len(data.actions), -1)]
    if data.goals is not None:
        parts.append(data.goals.reshape(len(data.actions), -1))
    return np.concatenate(parts, axis=1).astype(np.float32)
