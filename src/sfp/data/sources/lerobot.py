"""LeRobot folders, formats v2 and v3: Parquet files with a column per feature."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.documents import read_json
from sfp.errors import MissingColumn, SfpError
from sfp.files import regular

NAME = "a LeRobot dataset"
FEATURES: dict[str, str] = {"actions": "action", "observations": "observation.state"}


def matches(path: Path) -> bool:
    return (path / "meta" / "info.json").is_file()


def read(
    path: Path, columns: tuple[str, ...], *, drop_short: bool = False
) -> Trajectories:
    """Read `action` (and `observation.state`); videos and images stay untouched."""
    info = read_json(path / "meta" / "info.json")
    version = str(info.get("codebase_version", "unknown"))
    if not version.startswith(("v2", "v3")):
        raise SfpError(
            f"{path} is LeRobot {version}, expected v2 or v3: convert it with "
            "LeRobot's own tools."
        )
    for column in columns:
        if FEATURES.get(column) not in info["features"]:
            raise MissingColumn(
                f"{path} lacks {column} ({FEATURES.get(column, 'unsupported')}): it "
                f"has {', '.join(info['features'])}."
            )
    feature = info["features"]["action"]
    if not str(feature["dtype"]).startswith("float") or len(feature["shape"]) != 1:
        raise SfpError(
            f"{path}: actions are {feature['dtype']} of shape {feature['shape']}, "
            "expected a vector of floats: sfp is for continuous (Box) actions."
        )
    return assemble(
        _complete(_episodes(path, columns), info.get("total_frames"), path),
        source=str(path),
        rate=float(info["fps"]) if info.get("fps") else None,
        names=_names(feature.get("names")),
        drop_short=drop_short,
    )


def _names(given: Any) -> list[str]:
    """A list, or a list under the name of the robot's part."""
    if isinstance(given, dict) and len(given) == 1:
        given = next(iter(given.values()))
    return [str(name) for name in given] if isinstance(given, list) else []


def _complete(
    episodes: Iterator[Episode], expected: int | None, path: Path
) -> Iterator[Episode]:
    found = 0
    for episode in episodes:
        found += len(episode["actions"])
        yield episode
    if expected not in (None, found):
        raise SfpError(
            f"{path} is incomplete: meta/info.json promises {expected} frames, found "
            f"{found}. Copy or download the missing files in data/."
        )


def _episodes(path: Path, columns: tuple[str, ...]) -> Iterator[Episode]:
    """Episodes in the order of their files; one may go on in the next file."""
    names = [FEATURES[c] for c in columns]
    number, parts = None, []
    seen = set()
    for file in sorted((path / "data").glob("*/*.parquet")):
        table = pq.read_table(regular(file), columns=["episode_index", *names])
        index = table.column("episode_index").to_numpy()
        values = {c: _matrix(table, FEATURES[c], file) for c in columns}
        cuts = np.flatnonzero(np.diff(index)) + 1
        for start, end in zip([0, *cuts], [*cuts, len(index)], strict=True):
            if start == end:
                continue
            if index[start] != number:
                if parts:
                    yield _join(parts)
                number, parts = int(index[start]), []
                if number in seen:
                    raise SfpError(
                        f"{file}: episode {number} comes up a second time; expected "
                        "the frames of an episode to stand together."
                    )
                seen.add(number)
            parts.append({c: v[start:end] for c, v in values.items()})
    if parts:
        yield _join(parts)


def _join(parts: list[Episode]) -> Episode:
    return {c: np.concatenate([part[c] for part in parts]) for c in parts[0]}


def _matrix(table: pa.Table, name: str, file: Path) -> np.ndarray:
    """A column of lists (fixed or variable in type, equal in length) as an array."""
    array = table.column(name).combine_chunks()
    if isinstance(array, pa.FixedSizeListArray):
        widths = [array.type.list_size]
    elif isinstance(array, pa.ListArray | pa.LargeListArray):
        widths = array.value_lengths().drop_null().unique().to_pylist()
    else:
        return array.to_numpy(zero_copy_only=False)[:, None]
    if len(widths) > 1 or array.null_count:
        raise SfpError(
            f"{file}: {array.null_count} rows of {name!r} are missing, the others have "
            f"widths {sorted(widths)}: expected one width. Split the "
            "recordings by action space."
        )
    return array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), *widths)
