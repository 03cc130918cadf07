"""Meta-World's ten tasks of MT10, as data: what is seen, and what success is."""

import math
from dataclasses import dataclass

import numpy as np

Part = tuple[str, str]
"""A named thing of the simulator: its kind (`body`, `geom` or `site`) and its name."""


@dataclass(frozen=True)
class Manipulation:
    """What tells one task from another.

    Attributes:
        summary: one line for `sfp list`.
        shown: the object in the observation.
        near: success is within this of the goal: a distance, or |one axis|.
        axis: the one that counts, or None for the distance.
        offset: of the position in the observation from the object.
        turned: whose quaternion the observation holds, if any.
        fingers: the goal is for the point between the fingers, not for the object.
        head: the site that decides instead of the achieved goal, if one does.
    """

    summary: str
    shown: Part
    near: float
    axis: int | None = None
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turned: Part | None = None
    fingers: bool = False
    head: str = ""

    def reached(self, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        gap = np.subtract(achieved, desired, dtype=np.float64)
        if self.axis is not None:
            return np.asarray(np.abs(gap[..., self.axis]) <= self.near)
        return np.asarray(np.sqrt((gap * gap).sum(axis=-1)) <= self.near)

    def reaches(self, achieved: np.ndarray, desired: np.ndarray) -> bool:
        """The same for one, in plain numbers: with the same bits, but sooner."""
        gap = (achieved - desired).tolist()
        if self.axis is not None:
            return abs(gap[self.axis]) <= self.near
        return (
            math.sqrt(gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2]) <= self.near
        )


def _puck(summary: str, near: float, *, fingers: bool = False) -> Manipulation:
    turned = ("geom", "objGeom")
    return Manipulation(summary, ("body", "obj"), near, turned=turned, fingers=fingers)


def _drawer(
    summary: str, near: float, height: float, turned: Part | None
) -> Manipulation:
    place = (0.0, -0.16, height)
    shown = ("body", "drawer_link")
    return Manipulation(summary, shown, near, offset=place, turned=turned)


MANIPULATIONS: dict[str, Manipulation] = {
    "reach": _puck(
        "move the gripper to a point: what priors are learned from", 0.05, fingers=True
    ),
    "push": _puck("push a puck to a point on the table", 0.05),
    "pick-place": _puck("lift a puck to a point in the air", 0.07),
    "door-open": Manipulation(
        "pull a door open by its handle",
        ("geom", "handle"),
        0.08,
        axis=0,
        turned=("geom", "handle"),
    ),
    "drawer-open": _drawer("pull a drawer out", 0.03, 0.0, ("body", "drawer_link")),
    "drawer-close": _drawer("push a drawer in", 0.065, 0.05, None),
    "button-press-topdown": Manipulation(
        "press a button from above",
        ("body", "button"),
        0.024,
        axis=2,
        offset=(0.0, 0.0, 0.193),
        turned=("body", "button"),
    ),
    "peg-insert-side": Manipulation(
        "put a peg into a hole at the side of a box",
        ("site", "pegGrasp"),
        0.07,
        turned=("site", "pegGrasp"),
        head="pegHead",
    ),
    "window-open": Manipulation(
        "slide a window open", ("site", "handleOpenStart"), 0.05, axis=0
    ),
    "window-close": Manipulation(
        "slide a window shut", ("site", "handleCloseStart"), 0.05, axis=0
    ),
}
PEG_SCALE = 1.0, 2.0, 2.0
"""How the head's distance from the hole is weighted: deviations sideways twice."""


def quaternion(matrix: list[float]) -> tuple[float, float, float, float]:
    """The quaternion (x, y, z, w) of a rotation matrix, given row by row.

    Shepperd's method with SciPy's order of operations, so that the bits are the same.
    """
    xx, xy, xz, yx, yy, yz, zx, zy, zz = matrix
    trace = xx + yy + zz
    largest = max(xx, yy, zz, trace)
    if xx == largest:
        x, y, z, w = 1.0 - trace + 2.0 * xx, yx + xy, zx + xz, zy - yz
    elif yy == largest:
        x, y, z, w = xy + yx, 1.0 - trace + 2.0 * yy, zy + yz, xz - zx
    elif zz == largest:
        x, y, z, w = xz + zx, yz + zy, 1.0 - trace + 2.0 * zz, yx - xy
    else:
        x, y, z, w = zy - yz, xz - zx, yx - xy, 1.0 + trace
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    return x / norm, y / norm, z / norm, w / norm
