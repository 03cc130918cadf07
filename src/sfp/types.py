"""Names for the arrays that cross module borders; shapes are checked in tests."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, UInt8

Positions: TypeAlias = Float[np.ndarray, "n 2"]
"""Points in the plane, in cells, one row each."""

Cells: TypeAlias = Int[np.ndarray, "_ 2"]
"""Integer cell coordinates (x, y)."""

Actions: TypeAlias = Float32[np.ndarray, "steps dims"]
"""Actions of all episodes, one after the other."""

Bounds: TypeAlias = Float32[np.ndarray, " dims"]
Ends: TypeAlias = Int[np.ndarray, " episodes"]
Paths: TypeAlias = Float[np.ndarray, "trajectories states axes"]
Sequences: TypeAlias = Float[np.ndarray, "trajectories steps dims"]
Image: TypeAlias = UInt8[np.ndarray, "height width 3"]
Grid: TypeAlias = Bool[np.ndarray, "width height"]


Floats: TypeAlias = Float[Array, "..."]


class Batch(NamedTuple):
    """Transitions t to t + m to learn from, with m <= n and within one episode.

    The border between NumPy and JAX. All arrays share their leading axes; actions are
    scaled to [-1, 1].

    Attributes:
        obs: s_t, with the goal behind it where there is one.
        action: a_t, as the critic sees it.
        reward: r_t + γ r_{t+1} + ... + γ^{m-1} r_{t+m-1}.
        discount: γ^m; 0 where the episode terminated at t + m. A time limit is none.
        next_obs: s_{t+m}, with the same goal.
        history: the actions strictly before a_t that a prior sees, flattened.
        next_history: the same before a_{t+m}; it ends at a_{t+m-1}.
        proposal: an action that the prior proposed at t, where the replay keeps some.
        next_proposal: the same at t + m.
    """

    obs: Floats
    action: Floats
    reward: Floats
    discount: Floats
    next_obs: Floats
    history: Floats
    next_history: Floats
    proposal: Floats
    next_proposal: Floats
