"""NumPy archives: `actions` and where its episodes end."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from sfp.data.sources.boundaries import split
from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.errors import MissingColumn, SfpError

NAME = "a NumPy archive"
BOUNDARIES = ("episode_ends", "episode_lengths", "terminals", "timeouts")
EXTRA = ("low", "high", "rate")


def matches(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() == ".npz"


def read(
    path: Path,
    columns: tuple[str, ...],
    *,
    drop_short: bool = False,
    whole: bool = False,
) -> Trajectories:
    """Read `actions` (steps, dims) with boundaries, or (episodes, steps, dims).

    Boundaries are `episode_ends` (exclusive), `episode_lengths`, or the flags
    `terminals` and `timeouts`; if `whole`, a file without any is a single episode.
    `observations`, `goals`, `images` run along; `low`, `high` (action bounds) and
    `rate` (Hz) are optional. Nothing is unpickled.
    """
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        missing = [c for c in columns if c not in archive.files]
        if missing:
            raise MissingColumn(
                f"{path} lacks {', '.join(map(repr, missing))}: it has "
                f"{', '.join(archive.files) or 'nothing'}."
            )
        values = {c: _array(archive, c, path) for c in columns}
        marks = {k: _array(archive, k, path) for k in BOUNDARIES if k in archive.files}
        extra = {k: _array(archive, k, path) for k in EXTRA if k in archive.files}
    cut = _stacked if values["actions"].ndim == 3 else partial(split, whole=whole)
    return assemble(
        cut(values, marks, source=str(path)),
        source=str(path),
        low=extra.get("low"),
        high=extra.get("high"),
        rate=float(extra["rate"].item()) if "rate" in extra else None,
        drop_short=drop_short,
    )


def _stacked(
    values: Mapping[str, np.ndarray], marks: Mapping[str, np.ndarray], *, source: str
) -> Iterator[Episode]:
    """Episodes of equal length in arrays of (episodes, steps, ...)."""
    if marks:
        raise SfpError(
            f"{source}: actions of shape (episodes, steps, dimensions) and "
            f"{', '.join(marks)}: expected one or the other. Save the steps of all "
            "episodes one after the other."
        )
    episodes, steps, _ = values["actions"].shape
    for name, column in values.items():
        if column.shape[:2] != (episodes, steps):
            raise SfpError(
                f"{source}: {name} of shape {column.shape} for {episodes} episodes of "
                f"{steps} actions: expected as many."
            )
    for e in range(episodes):
        yield {name: column[e] for name, column in values.items()}


def _array(archive: np.lib.npyio.NpzFile, key: str, path: Path) -> np.ndarray:
    try:
        return archive[key]
    except ValueError as error:
        raise pickled(error, f"{path}: {key!r}") from error


def pickled(error: ValueError, what: str) -> Exception:
    """The error for objects that NumPy would unpickle; any other stays as it is."""
    if "pickle" not in str(error):
        return error
    return SfpError(
        f"{what} holds pickled Python objects, expected plain numbers; loading them "
        "could run code. Save one flat array and `episode_lengths`."
    )
