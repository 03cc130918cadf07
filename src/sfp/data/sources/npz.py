"""NumPy archives: `actions` and where its episodes end."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from sfp.data.sources.boundaries import split
from sfp.data.trajectories import Trajectories, assemble
from sfp.errors import SfpError

NAME = "a NumPy archive"
BOUNDARIES = ("episode_ends", "episode_lengths", "terminals", "timeouts")


def matches(path: Path) -> bool:
    """Whether this is a .npz file."""
    return path.is_file() and path.suffix == ".npz"


def read(
    path: Path, columns: tuple[str, ...], *, drop_short: bool = False
) -> Trajectories:
    """Read `actions` (steps, dims) with boundaries, or (episodes, steps, dims).

    Boundaries are `episode_ends` (exclusive), `episode_lengths`, or the flags
    `terminals` and `timeouts`. `observations`, `goals`, `images` run along; `low`,
    `high` (action bounds) and `rate` (Hz) are optional. Nothing is unpickled.
    """
    try:
        archive = np.load(path, allow_pickle=False)
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from error
    with archive:
        missing = [c for c in columns if c not in archive.files]
        if missing:
            raise SfpError(
                f"{path} lacks {', '.join(map(repr, missing))}: it has "
                f"{', '.join(archive.files) or 'nothing'}."
            )
        values = {c: _array(archive, c, path) for c in columns}
        marks = {k: _array(archive, k, path) for k in BOUNDARIES if k in archive.files}
        extra = {
            k: _array(archive, k, path)
            for k in ("low", "high", "rate")
            if k in archive.files
        }
    if values["actions"].ndim == 3:
        episodes = [
            {c: values[c][e] for c in columns} for e in range(len(values["actions"]))
        ]
    else:
        episodes = split(values, marks, source=str(path))
    return assemble(
        episodes,
        source=str(path),
        low=extra.get("low"),
        high=extra.get("high"),
        rate=float(extra["rate"]) if "rate" in extra else None,
        drop_short=drop_short,
    )


def _array(archive: np.lib.npyio.NpzFile, key: str, path: Path) -> np.ndarray:
    try:
        return archive[key]
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from error
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        raise SfpError(
            f"{path}: {key!r} holds pickled Python objects, expected plain numbers; "
            "loading them could run code. Save one flat array and `episode_lengths`."
        ) from error
