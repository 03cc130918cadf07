"""HDF5 files: D4RL's flat arrays, and robomimic's one group per demonstration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from sfp.data.sources.boundaries import split
from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.errors import MissingColumn, SfpError

NAME = "HDF5"
SUFFIXES = (".hdf5", ".h5")
D4RL: dict[str, str] = {
    "actions": "actions",
    "observations": "observations",
    "goals": "infos/goal",
}


def matches(path: Path) -> bool:
    """Whether this is an HDF5 file, by its name."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(
    path: Path,
    columns: tuple[str, ...],
    *,
    drop_short: bool = False,
    whole: bool = False,
) -> Trajectories:
    """Read the datasets that the columns need, and no others.

    Args:
        path: of the file.
        columns: what to read.
        drop_short: leave out episodes of fewer than two actions.
        whole: a file that does not say where episodes end is a single one.
    """
    with h5py.File(path, "r") as file:
        if "actions" in file:
            episodes = _d4rl(file, columns, path, whole=whole)
        elif isinstance(demos := file.get("data"), h5py.Group):
            episodes = _robomimic(demos, columns, path)
        elif "episode_0" in file:
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
    node = group.get(key)
    if not isinstance(node, h5py.Dataset):
        raise MissingColumn(
            f"{path} lacks {key!r} in {group.name!r}: it has {', '.join(group)}."
        )
    return node[()]


def _d4rl(
    file: h5py.File, columns: tuple[str, ...], path: Path, *, whole: bool
) -> Iterator[Episode]:
    unheld = [c for c in columns if c not in D4RL]
    if unheld:
        raise MissingColumn(
            f"{path} lacks {unheld[0]!r}: D4RL files have no such column."
        )
    values = {c: _dataset(file, D4RL[c], path) for c in columns}
    marks = {k: _dataset(file, k, path) for k in ("terminals", "timeouts") if k in file}
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
