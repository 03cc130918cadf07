"""HDF5 files: D4RL's flat arrays, and robomimic's one group per demonstration."""

import math
import mmap
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sfp.data.sources.boundaries import split
from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.errors import MissingColumn, SfpError

NAME = "HDF5"
SUFFIXES = (".hdf5", ".h5")
MARKS = ("terminals", "timeouts")
D4RL: dict[str, str] = {
    "actions": "actions",
    "observations": "observations",
    "goals": "infos/goal",
}
HEAP = b"GCOL\x01\0\0\0"
"""How HDF5's heaps of bytes begin."""

DENSEST = 1100
"""Bytes of an array for a byte in the file: deflate packs 1032 zeros into one."""


def matches(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(
    path: Path,
    columns: tuple[str, ...],
    *,
    drop_short: bool = False,
    whole: bool = False,
) -> Trajectories:
    """Read only the datasets that the columns need.

    If `whole`, a file that does not say where episodes end is a single one.
    """
    with h5py.File(path, "r") as file:
        if find(file, "actions", path) is not None:
            episodes = _d4rl(file, columns, path, whole=whole)
        elif isinstance(demos := find(file, "data", path), h5py.Group):
            episodes = _robomimic(demos, columns, path)
        elif "episode_0" in list(file):
            raise SfpError(
                f"{path} is the inside of a Minari dataset: give the folder that "
                "holds `data`, or the dataset's id."
            )
        else:
            raise SfpError(
                f"{path} has no `actions`: expected D4RL's layout (`actions`, "
                "`terminals`, `timeouts`) or robomimic's (`data/demo_0/actions`), "
                f"found {', '.join(file) or 'nothing'}."
            )
        return assemble(episodes, source=str(path), drop_short=drop_short)


def _dataset(group: h5py.Group, key: str, path: Path) -> np.ndarray:
    node = find(group, key, path)
    if not isinstance(node, h5py.Dataset):
        raise MissingColumn(
            f"{path} lacks {key!r} in {group.name!r}: it has {', '.join(group)}."
        )
    return read_stored(node, path)


def find(group: h5py.Group, key: str, path: Path) -> Any:
    """What stands at a key, or None; a link to another file is refused, unopened."""
    node: Any = group
    for name in key.split("/"):
        link = node.get(name, getlink=True) if isinstance(node, h5py.Group) else None
        if isinstance(link, h5py.ExternalLink):
            raise _elsewhere(path, key, f"an external link to {link.filename!r}")
        if isinstance(link, h5py.SoftLink):
            start = node.file if link.path.startswith("/") else node
            node = find(start, link.path.strip("/"), path)
        else:
            node = node[name] if link is not None else None
    return node


def read_stored(node: h5py.Dataset, path: Path) -> np.ndarray:
    """The array of a dataset whose numbers are all in this file."""
    if node.is_virtual or node.external:
        kind = "a virtual dataset" if node.is_virtual else "external storage"
        raise _elsewhere(path, node.name, kind)
    held, whole = node.id.get_storage_size(), True
    if node.chunks:
        grid = zip(node.shape, node.chunks, strict=True)
        whole = node.id.get_num_chunks() >= math.prod(-(-n // c) for n, c in grid)
    if not whole or node.nbytes > held * (DENSEST if node.chunks else 1):
        raise SfpError(
            f"{path} is damaged: {node.name!r} promises {node.nbytes:,} bytes, the "
            f"file holds {held:,} of them. Copy or download it again."
        )
    if node.dtype.kind == "O":
        check_heaps(path, path.stat().st_mtime_ns)
    return node[()]


@lru_cache(maxsize=4)
def check_heaps(path: Path, written: int) -> None:
    """Refuse damaged heaps, where HDF5 keeps rows of bytes: it would loop for ever.

    A heap is `GCOL`, a version, its size, then objects: an index, a count, a size and
    the bytes, up to a multiple of 8. Index 0 is the free space behind them. `written`
    tells one content of a file from the next.
    """
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with content:
        first = content.find(HEAP)
        while first >= 0:
            if not _is_whole(content, first):
                raise SfpError(
                    f"{path} is damaged: the heap at byte {first} is not whole. Copy "
                    "or download it again."
                )
            first = content.find(HEAP, first + 8)


def _is_whole(content: mmap.mmap, first: int) -> bool:
    """Whether the objects of the heap that begins there fill it one by one."""

    def number(at: int, size: int) -> int:
        return int.from_bytes(content[at : at + size], "little")

    at, end = first + 16, first + number(first + 8, 8)
    if end > len(content):
        return False
    while end - at >= 16:
        index, size = number(at, 2), number(at + 8, 8)
        step = 16 + -(-size // 8) * 8 if index else size
        if not 16 <= step <= end - at:
            return False
        at += step
    return True


def _elsewhere(path: Path, key: str | None, kind: str) -> SfpError:
    return SfpError(
        f"{path}: {key!r} is {kind}, expected the numbers in this file itself: copy "
        "them into one file."
    )


def _d4rl(
    file: h5py.File, columns: tuple[str, ...], path: Path, *, whole: bool
) -> Iterator[Episode]:
    unheld = [c for c in columns if c not in D4RL]
    if unheld:
        raise MissingColumn(
            f"{path} lacks {unheld[0]!r}: D4RL files have no such column."
        )
    values = {c: _dataset(file, D4RL[c], path) for c in columns}
    marks = {k: _dataset(file, k, path) for k in MARKS if find(file, k, path)}
    return split(values, marks, source=str(path), whole=whole)


def _robomimic(
    group: h5py.Group, columns: tuple[str, ...], path: Path
) -> Iterator[Episode]:
    if columns != ("actions",):
        raise MissingColumn(
            f"{path} is in robomimic's layout, of which sfp reads actions only; asked "
            f"for {', '.join(columns[1:])}."
        )
    names = [str(name) for name in group if re.fullmatch(r"demo_\d+", str(name))]
    for name in sorted(names, key=lambda name: int(name[5:])):
        yield {"actions": _dataset(group, f"{name}/actions", path)}
