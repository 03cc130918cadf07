"""NumPy arrays: the actions of one episode, or of several of equal length."""

from pathlib import Path

import numpy as np

from sfp.data.sources.npz import pickled
from sfp.data.trajectories import Trajectories, assemble
from sfp.errors import MissingColumn

NAME = "a NumPy array"


def matches(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() == ".npy"


def read(
    path: Path, columns: tuple[str, ...], *, drop_short: bool = False
) -> Trajectories:
    """Read actions of shape (steps, dims) or (episodes, steps, dims)."""
    if columns != ("actions",):
        raise MissingColumn(
            f"{path} lacks {columns[1]!r}: a .npy file holds actions only."
        )
    try:
        actions = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise pickled(error, str(path)) from error
    episodes = actions if actions.ndim == 3 else [actions]
    return assemble(
        [{"actions": episode} for episode in episodes],
        source=str(path),
        drop_short=drop_short,
    )
