"""Names for the arrays that cross module borders; shapes are checked in tests."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, UInt8

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
