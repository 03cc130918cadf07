"""Recordings in any format: `load` finds out which one it is.

Each format is a module with `matches(path)` and `read(path, columns, drop_short)`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from sfp.data.sources import hdf5, lerobot, minari, npz
from sfp.data.trajectories import COLUMNS, Trajectories
from sfp.errors import SfpError, unknown

FORMATS = (minari, lerobot, hdf5, npz)
BROKEN = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    EOFError,
    zlib.error,
    pa.ArrowException,
)
"""What the libraries raise on a file that is not what it claims to be."""


def load(
    source: str | Path,
    *,
    columns: Iterable[str] = ("actions",),
    drop_short: bool = False,
) -> Trajectories:
    """Read recordings: a Minari dataset id, a LeRobot folder, an HDF5 or npz file.

    Only the columns asked for are read; actions always are.

    Args:
        source: id or path.
        columns: any of `actions`, `observations`, `goals`, `images`.
        drop_short: leave out episodes of fewer than two actions instead of refusing.
    """
    columns = {"actions", *columns}
    for column in columns - set(COLUMNS):
        raise unknown("column", column, COLUMNS, "Ask for one of these.")
    wanted = tuple(c for c in COLUMNS if c in columns)
    path = _find(source)
    for module in FORMATS:
        if module.matches(path):
            try:
                return module.read(path, wanted, drop_short=drop_short)
            except BROKEN as error:
                raise SfpError(
                    f"cannot read {path}: {_first_line(error)}. The file is truncated, "
                    f"damaged or not {module.NAME}; copy or download it again."
                ) from error
    raise SfpError(
        f"cannot tell the format of {path}: expected a Minari or LeRobot folder, "
        "a D4RL-style .hdf5 or a .npz file."
    )


def _find(source: str | Path) -> Path:
    """The path of a file, a folder or a local Minari dataset of that id."""
    path = Path(source)
    if path.exists():
        return path
    dataset = minari.dataset_path(str(source))
    if dataset is not None:
        return dataset
    remedy = (
        "Make one with `sfp collect`, fetch one with `minari download`, or give a path."
    )
    raise unknown("dataset", str(source), minari.local_datasets(), remedy)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


__all__ = ["FORMATS", "load"]
