"""D_exp: recorded actions with episode boundaries, and whatever else was recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sfp.envs.scale import ActionScale
from sfp.errors import Empty, SfpError
from sfp.types import Actions, Bounds, Ends

Episode = dict[str, np.ndarray]
"""Equally long columns by name."""

OPTIONAL = ("observations", "goals", "images")
COLUMNS = ("actions", *OPTIONAL)
SHORTEST = 2
"""An episode needs a past and a next action."""


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Actions of whole episodes, end to end; nothing else is required.

    Attributes:
        actions: all actions, float32, episode after episode.
        ends: where each episode ends in `actions` (exclusive).
        low: the lower action bound per dimension.
        high: the upper action bound per dimension.
        observations: the state before each action, if recorded.
        goals: the goal pursued at each action, if recorded.
        images: the image before each action (uint8), if recorded.
        rate: actions per second, if known.
        names: what each dimension of an action is, if known.
        source: where the data came from.
        bounds_known: False if `low` and `high` are only what was observed.
    """

    actions: Actions
    ends: Ends
    low: Bounds
    high: Bounds
    observations: np.ndarray | None = None
    goals: np.ndarray | None = None
    images: np.ndarray | None = None
    rate: float | None = None
    names: tuple[str, ...] = ()
    source: str = "memory"
    bounds_known: bool = True

    def __post_init__(self):
        if len(self.ends) == 0 or len(self.actions) == 0:
            raise Empty(
                f"{self.source} is empty: expected at least one episode of "
                f"{SHORTEST} actions."
            )
        if self.ends[-1] != len(self.actions):
            raise SfpError(
                f"{self.source}: the last episode ends at {self.ends[-1]} but there "
                f"are {len(self.actions)} actions: expected every action to belong "
                "to an episode."
            )
        short = np.flatnonzero(self.lengths < SHORTEST)
        if len(short):
            count = int(self.lengths[short[0]])
            raise SfpError(
                f"{self.source}: episode {short[0]} has {count} action(s) "
                f"({len(short)} such), expected at least {SHORTEST}: a prior needs a "
                "past and a next action. Leave them out with --drop-short "
                "(drop_short=True in Python)."
            )
        bad = np.flatnonzero(~np.isfinite(self.actions).all(axis=1))
        if len(bad):
            episode = int(np.searchsorted(self.ends, bad[0], side="right"))
            step = int(bad[0] - self.starts[episode])
            raise SfpError(
                f"{self.source}: the action of episode {episode}, step {step} is NaN "
                f"or infinite ({len(bad)} such steps): expected numbers. Repair the "
                "recording or leave that episode out."
            )
        if not (self.low < self.high).all():
            axis = int(np.flatnonzero(~(self.low < self.high))[0])
            raise SfpError(
                f"{self.source}: the bounds of action dimension {axis} are "
                f"[{self.low[axis]:g}, {self.high[axis]:g}]: expected low < high."
            )
        for column in OPTIONAL:
            values = getattr(self, column)
            if values is not None and len(values) != len(self.actions):
                raise SfpError(
                    f"{self.source}: {len(values)} {column} for {len(self.actions)} "
                    "actions: expected one each."
                )

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each episode starts in `actions`."""
        return np.concatenate([[0], self.ends[:-1]])

    @property
    def lengths(self) -> np.ndarray:
        """Actions per episode."""
        return np.diff(self.ends, prepend=0)

    @property
    def dims(self) -> int:
        """Size of an action."""
        return self.actions.shape[1]

    @property
    def unit_actions(self) -> Actions:
        """Actions scaled to [-1, 1] by their bounds."""
        scale = ActionScale(self.low, self.high)
        return scale.to_unit(self.actions).astype(np.float32)

    @property
    def columns(self) -> tuple[str, ...]:
        """What this data holds."""
        present = (c for c in OPTIONAL if getattr(self, c) is not None)
        return ("actions", *present)

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self.ends)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over actions, boundaries and bounds; priors record it."""
        digest = hashlib.sha256()
        for array in (self.actions, self.ends.astype("<i8"), self.low, self.high):
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def bounded(self, low: ArrayLike, high: ArrayLike) -> Trajectories:
        """The same recordings with the action bounds of an environment.

        Recordings that state other bounds themselves are refused.
        """
        low, high = (_as_float32(bound).reshape(-1) for bound in (low, high))
        if len(low) != self.dims:
            raise SfpError(
                f"{self.source} has actions of {self.dims} dimensions, the environment "
                f"takes {len(low)}: expected recordings of the same action space."
            )
        same = np.allclose(low, self.low) and np.allclose(high, self.high)
        if self.bounds_known and not same:
            raise SfpError(
                f"{self.source} states other action bounds ({self.low} to {self.high}) "
                f"than the environment has ({low} to {high}): expected recordings in "
                "its units. Rescale them, or leave out --env."
            )
        return replace(self, low=low, high=high, bounds_known=True)

    def select(self, episodes: Sequence[int] | np.ndarray) -> Trajectories:
        """These episodes only, in this order."""
        episodes = np.asarray(episodes, int)
        spans = [np.arange(int(self.starts[e]), int(self.ends[e])) for e in episodes]
        rows = np.concatenate(spans) if spans else np.zeros(0, int)
        kept = {c: getattr(self, c)[rows] for c in self.columns}
        return replace(self, ends=np.cumsum(self.lengths[episodes]), **kept)

    def thinned(self, every: int) -> Trajectories:
        """Every so manieth step of each episode, from its first one on."""
        if every == 1:
            return self
        steps = zip(self.starts, self.ends, strict=True)
        spans = [np.arange(start, end, every) for start, end in steps]
        rows, lengths = np.concatenate(spans), [len(span) for span in spans]
        kept = {c: getattr(self, c)[rows] for c in self.columns}
        return replace(self, ends=np.cumsum(lengths), **kept)

    def keep(self, share: float, rng: np.random.Generator) -> Trajectories:
        """A random share of the episodes (the paper's data quantity ablation)."""
        if not 0 < share <= 1:
            raise SfpError(f"expected a share to keep in (0, 1], received {share:g}.")
        count = max(1, round(share * len(self)))
        return self.select(np.sort(rng.permutation(len(self))[:count]))

    def replace_by_uniform(
        self, share: float, rng: np.random.Generator
    ) -> Trajectories:
        """A random share of the episodes with uniform actions (the quality ablation).

        Whole episodes are replaced. The rest of their record (observations, goals,
        images) did not follow from these actions and stays as it was.
        """
        if not 0 <= share <= 1:
            raise SfpError(
                f"expected a share to replace in [0, 1], received {share:g}."
            )
        actions = self.actions.copy()
        for e in rng.permutation(len(self))[: round(share * len(self))]:
            span = actions[self.starts[e] : self.ends[e]]
            span[:] = rng.uniform(self.low, self.high, size=span.shape)
        return replace(self, actions=actions)


def assemble(
    episodes: Iterable[Episode],
    *,
    source: str,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    rate: float | None = None,
    names: Sequence[str] = (),
    drop_short: bool = False,
) -> Trajectories:
    """Join recorded episodes, checking what every format can get wrong.

    Each episode is a dictionary of equally long columns. Bounds that are unknown or
    infinite are taken from the data; names of an action's dimensions are ignored unless
    there is one for each; `drop_short` leaves out episodes of fewer than two actions.
    """
    kept: list[Episode] = []
    for number, episode in enumerate(episodes):
        actions = _as_actions(episode["actions"], source, number)
        if drop_short and len(actions) < SHORTEST:
            continue
        if kept and actions.shape[1] != kept[0]["actions"].shape[1]:
            raise SfpError(
                f"{source}: actions of episode {number} have {actions.shape[1]} "
                f"dimensions, those before {kept[0]['actions'].shape[1]}: expected one "
                "width. Split the recordings by action space."
            )
        kept.append({**episode, "actions": actions})
    if not kept:
        raise Empty(
            f"{source} is empty: expected at least one episode of {SHORTEST} actions."
        )
    columns = {c: np.concatenate([e[c] for e in kept]) for c in kept[0]}
    low, high, known = declared_bounds(columns["actions"], low, high, source)
    return Trajectories(
        ends=np.cumsum([len(e["actions"]) for e in kept]),
        low=low,
        high=high,
        rate=rate,
        names=tuple(names) if len(names) == len(low) else (),
        source=source,
        bounds_known=known,
        **columns,
    )


def _as_actions(values: np.ndarray, source: str, episode: int) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.kind != "f":
        raise SfpError(
            f"{source}: actions of episode {episode} are of type {values.dtype}, "
            "expected floats: sfp is for continuous (Box) actions. If these are "
            "continuous, store them as float32."
        )
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or (len(values) and values.shape[1] == 0):
        raise SfpError(
            f"{source}: actions of episode {episode} have shape {values.shape}, "
            "expected (steps, dimensions)."
        )
    return _as_float32(values)


def _as_float32(values: ArrayLike) -> np.ndarray:
    """Numbers that float32 cannot hold become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32, copy=False)


def declared_bounds(
    actions: np.ndarray, low: ArrayLike | None, high: ArrayLike | None, source: str
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Per dimension: the bounds declared, else [-1, 1] if that holds, else the range.

    The range is the one observed, widened a little if the dimension is constant.
    """
    finite = np.isfinite(actions)  # others are reported by the type
    least = np.min(actions, axis=0, where=finite, initial=np.inf)
    most = np.max(actions, axis=0, where=finite, initial=-np.inf)
    inside = (least >= -1) & (most <= 1)
    widened = np.where(least == most, np.maximum(1, 1e-3 * np.abs(least)), 0)
    seen_low = np.where(inside, -1, least - widened)
    seen_high = np.where(inside, 1, most + widened)
    if low is None or high is None:
        return seen_low, seen_high, False
    low, high = (_as_float32(bound).reshape(-1) for bound in (low, high))
    if not len(low) == len(high) == actions.shape[1]:
        raise SfpError(
            f"{source}: {len(low)} lower and {len(high)} upper bounds for actions of "
            f"{actions.shape[1]} dimensions: expected one each."
        )
    known = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, low, seen_low), np.where(known, high, seen_high)
    return low, high, bool(known.all())
