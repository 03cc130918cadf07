"""A folder of recordings: files of one kind, by default an episode each."""

import contextlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfp.data.sources import hdf5, npy, npz, table
from sfp.data.sources.reading import read_as
from sfp.data.sources.stated import BOUNDS, read_stated
from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.errors import Empty, SfpError

NAME = "a folder of recordings"
KINDS = {
    **dict.fromkeys(table.SUFFIXES, (table.NAME, table.read)),
    **dict.fromkeys(hdf5.SUFFIXES, (hdf5.NAME, partial(hdf5.read, whole=True))),
    ".npz": (npz.NAME, partial(npz.read, whole=True)),
    ".npy": (npy.NAME, npy.read),
}


def matches(path: Path) -> bool:
    with contextlib.suppress(OSError):  # a folder that may not be read
        return path.is_dir() and bool(_files(path))
    return False


def read(
    path: Path, columns: tuple[str, ...], *, drop_short: bool = False
) -> Trajectories:
    """Read CSV, npy, npz or HDF5 files in the order of their names, 2 before 10.

    `bounds.json`, if it is there, states what such files cannot: the bounds `low` and
    `high` of an action, a number per dimension, and the `rate` in Hz.
    """
    files = _files(path)
    kinds = sorted({_kind(file) for file in files})
    if len(kinds) > 1:
        raise SfpError(
            f"{path} holds {' and '.join(kinds)} files: expected one kind, as the "
            "same recording may be there twice. Move the others away."
        )
    name, reader = KINDS[kinds[0]]
    parts: list[Trajectories] = []
    for file in files:
        try:
            part = read_as(name, reader, file, columns, drop_short=drop_short)
        except Empty:
            if not drop_short:
                raise
            continue
        _check_alike(part, parts[0] if parts else part)
        parts.append(part)
    stated = read_stated(path)
    bounds = {k: stated[k] for k in ("low", "high") if k in stated}
    return assemble(
        _episodes(parts),
        source=str(path),
        names=parts[0].names if parts else (),
        rate=stated["rate"] if "rate" in stated else _rate(parts),
        **(bounds or _bounds(parts)),
    )


def _files(path: Path) -> list[Path]:
    found = [file for file in path.iterdir() if _kind(file) in KINDS]
    found = [f for f in found if f.is_file() and not f.name.startswith(".")]
    return sorted(found, key=_natural)


def _kind(file: Path) -> str:
    return file.suffix.lower()


def _natural(file: Path) -> list[tuple[int, str]]:
    """`take2` before `take10`."""
    pieces = re.split(r"(\d+)", file.name)
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in pieces]


def _check_alike(part: Trajectories, first: Trajectories) -> None:
    if part.dims != first.dims or part.names != first.names:
        raise SfpError(
            f"{part.source} has actions of {_described(part)}, {first.source} of "
            f"{_described(first)}: expected the same. Split the recordings by action "
            "space."
        )


def _described(part: Trajectories) -> str:
    return f"{part.dims} dimensions" + (
        f" ({', '.join(part.names)})" * bool(part.names)
    )


def _episodes(parts: list[Trajectories]) -> Iterator[Episode]:
    for part in parts:
        for start, end in zip(part.starts, part.ends, strict=True):
            yield {c: getattr(part, c)[start:end] for c in part.columns}


def _bounds(parts: list[Trajectories]) -> dict[str, Any]:
    if not parts or not all(part.bounds_known for part in parts):
        return {}
    low, high = parts[0].low, parts[0].high
    for part in parts:
        if not (np.array_equal(part.low, low) and np.array_equal(part.high, high)):
            raise _disagree("bounds", part, parts[0])
    return {"low": low, "high": high}


def _rate(parts: list[Trajectories]) -> float | None:
    for part in parts:
        if part.rate != parts[0].rate:
            raise _disagree("a rate", part, parts[0])
    return parts[0].rate if parts else None


def _disagree(on: str, part: Trajectories, first: Trajectories) -> SfpError:
    return SfpError(
        f"{part.source} states {on} unlike {first.source}: expected the same. Say what "
        f"holds in {BOUNDS}, or split them."
    )
