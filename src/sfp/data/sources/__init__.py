"""Recordings in any format: `load` finds out which one it is.

Each format is a module with `matches(path)` and `read(path, columns, drop_short)`;
`register_format` adds one from outside.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from sfp.data.sources import minari
from sfp.data.sources.formats import FORMATS, find_format, register_format
from sfp.data.sources.stated import with_stated
from sfp.data.trajectories import COLUMNS, Trajectories
from sfp.errors import MissingColumn, at_least, unknown

MOST_IMAGES = 100_000
"""Images that are learned from, evenly spaced in time: 1.2 GB of 64x64 pixels."""


def load(
    source: str | Path,
    *,
    columns: Iterable[str] = ("actions",),
    optional: str | None = None,
    drop_short: bool = False,
    every: int = 1,
) -> Trajectories:
    """Read recordings: a Minari dataset id, a LeRobot folder, a file or many.

    Files are HDF5 (D4RL, robomimic), npz, npy and CSV; a folder of files of one kind is
    read in the order of their names, an episode each.

    Only the columns asked for are read; actions always are.

    Args:
        source: id or path.
        columns: any of `actions`, `observations`, `goals`, `images`.
        optional: one more of them, to be read if it is there.
        drop_short: leave out episodes of fewer than two actions instead of refusing.
        every: take every so manieth step of an episode only; of a Minari dataset, other
            images are not even decoded. Past actions make no sense then.
    """
    at_least(1, every=every)
    columns = {"actions", *columns}
    if optional is not None:
        try:
            more = {*columns, optional}
            return load(source, columns=more, drop_short=drop_short, every=every)
        except MissingColumn:
            return load(source, columns=columns, drop_short=drop_short, every=every)
    for column in columns - set(COLUMNS):
        raise unknown("column", column, COLUMNS, "Ask for one of these.")
    wanted = tuple(c for c in COLUMNS if c in columns)
    path = _find(source)
    if every > 1 and minari.matches(path):
        data = minari.read(path, wanted, drop_short=drop_short, every=every)
        return with_stated(data, path)
    data = find_format(path).read(path, wanted, drop_short=drop_short)
    return with_stated(data, path).thinned(every)


def thinning_for_images(source: str | Path, *, drop_short: bool = False) -> int:
    """How many steps of the recordings shall go by for each image that is read."""
    steps = len(load(source, drop_short=drop_short).actions)
    return -(-steps // MOST_IMAGES)


def _find(source: str | Path) -> Path:
    path, dataset = Path(source), minari.root() / source
    with contextlib.suppress(OSError):  # a name too long, a folder that may not be read
        if path.exists():
            return path
        if minari.matches(dataset):
            return dataset
    remedy = (
        "Make one with `sfp collect`, fetch one with `minari download`, or give a path."
    )
    raise unknown("dataset", str(source), minari.local_datasets(), remedy)


__all__ = ["FORMATS", "load", "register_format"]
