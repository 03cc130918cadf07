"""The table of dataset formats, and how a format from outside gets into it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfp.data.sources import folder, hdf5, lerobot, minari, npy, npz, table
from sfp.data.sources.reading import read_as
from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.errors import MissingColumn, SfpError
from sfp.outside import call, calling, check_callable, register


@dataclass(frozen=True)
class Format:
    """Messages call a dataset of this format as `called` says."""

    called: str
    matches: Callable[[Path], bool]
    read: Callable[..., Trajectories]


FORMATS: dict[str, Format] = {
    name: Format(
        module.NAME, module.matches, partial(read_as, module.NAME, module.read)
    )
    for name, module in {
        "minari": minari,
        "lerobot": lerobot,
        "hdf5": hdf5,
        "npz": npz,
        "npy": npy,
        "table": table,
        "folder": folder,
    }.items()
}
OURS = len(FORMATS)


def register_format(name: str, *, matches: Any, read: Any) -> None:
    """Teach `sfp.load` a dataset format of your own, in this process.

    `sfp.load` asks the formats that were registered before its own, the latest first.

    Args:
        name: that no other format has.
        matches: takes the path of a file or folder; True if it is of this format.
        read: takes that path and the columns to read (`actions` and whatever else was
            asked for). It returns the episodes, each a mapping from every column to
            an array with a row per time step, or `Trajectories`.
    """
    check_callable(f"matches of the format {name!r}", matches, "(path) -> bool")
    check_callable(f"read of the format {name!r}", read, "(path, columns) -> episodes")
    entry = Format(name, partial(_match, name, matches), partial(_read, name, read))
    register(FORMATS, "format", name, entry)


def find_format(path: Path) -> Format:
    listed = list(FORMATS.values())
    for entry in (*reversed(listed[OURS:]), *listed[:OURS]):
        if entry.matches(path):
            return entry
    more = "".join(f", {entry.called}" for entry in listed[OURS:])
    raise SfpError(
        f"cannot tell the format of {path}: expected a Minari or LeRobot folder, an "
        ".hdf5 (D4RL, robomimic), .npz, .npy or .csv file, or a folder of such "
        f"files{more}."
    )


def _match(name: str, matches: Callable[[Path], bool], path: Path) -> bool:
    answer = call(f"matches of the format {name!r}", matches, path)
    if not isinstance(answer, bool | np.bool_):
        raise SfpError(
            f"matches of the format {name!r} returned {answer!r}: expected a bool."
        )
    return bool(answer)


def _read(
    name: str,
    read: Callable[..., Any],
    path: Path,
    columns: tuple[str, ...],
    *,
    drop_short: bool = False,
) -> Trajectories:
    what = f"read of the format {name!r}, given {path},"
    with calling(what):
        found = read(path, columns)
        if isinstance(found, Trajectories):
            return _checked(found, columns, what)
        if isinstance(found, Mapping) or not isinstance(found, Iterable):
            raise SfpError(
                f"{what} returned a {type(found).__name__}: expected an iterable of "
                "episodes, or Trajectories."
            )
        episodes = _episodes(found, columns, what)
        return assemble(episodes, source=str(path), drop_short=drop_short)


def _checked(data: Trajectories, columns: tuple[str, ...], what: str) -> Trajectories:
    for column in columns:
        if column not in data.columns:
            raise _lacking(what, column, data.columns)
    if data.actions.ndim != 2 or data.actions.dtype != np.float32:
        raise SfpError(
            f"{what} returned actions of {data.actions.dtype}"
            f"{list(data.actions.shape)}: expected float32[steps, dimensions]."
        )
    return data


def _episodes(
    found: Iterable[Any], columns: tuple[str, ...], what: str
) -> Iterator[Episode]:
    for number, episode in enumerate(found):
        if not isinstance(episode, Mapping):
            raise SfpError(
                f"{what} returned a {type(episode).__name__} as episode {number}: "
                "expected a mapping from columns to arrays."
            )
        for column in columns:
            if column not in episode:
                raise _lacking(what, column, episode)
        arrays = {column: np.asarray(episode[column]) for column in columns}
        for column, values in arrays.items():
            if values.shape[:1] != arrays["actions"].shape[:1]:
                raise SfpError(
                    f"{what} returned {column} of shape {values.shape} for actions of "
                    f"shape {arrays['actions'].shape} in episode {number}: expected a "
                    "row for every time step."
                )
        yield arrays


def _lacking(what: str, column: str, held: Iterable[str]) -> MissingColumn:
    return MissingColumn(
        f"{what} returned no {column!r}: it has {', '.join(map(str, held)) or 'none'}."
    )
