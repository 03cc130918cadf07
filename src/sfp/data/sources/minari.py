"""Minari datasets, in all of its formats (HDF5, Arrow, Parquet)."""

import glob
import io
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from PIL import Image

from sfp.data.sources.hdf5 import find, read_stored
from sfp.data.trajectories import Episode, Trajectories, assemble
from sfp.documents import parse_json, read_json
from sfp.errors import MissingColumn, SfpError
from sfp.files import read_sums, regular, verify_checksums

NAME = "a Minari dataset"


class Place(NamedTuple):
    """Where an array is stored in an episode, and the shape of one row."""

    key: tuple[str, ...]
    shape: tuple[int, ...]


Reader = Callable[[tuple[str, ...]], np.ndarray]
"""Gives the array at a key such as ("observations", "desired_goal")."""


def root() -> Path:
    default = Path.home() / ".minari" / "datasets"
    return Path(os.environ.get("MINARI_DATASETS_PATH") or default).absolute()


def local_datasets() -> list[str]:
    """The ids of all local datasets; what is hidden is being written."""
    found = glob.glob("**/data/metadata.json", root_dir=root(), recursive=True)
    return sorted(str(Path(file).parent.parent) for file in found)


def matches(path: Path) -> bool:
    return (path / "data" / "metadata.json").is_file()


def read(
    path: Path, columns: tuple[str, ...], *, drop_short: bool = False, every: int = 1
) -> Trajectories:
    """Read the arrays that the columns need, and no others.

    A dataset that sfp wrote is checked bit for bit against its checksums first.
    """
    if read_sums(path) is not None:
        verify_checksums(path, "data")
    metadata = read_json(path / "data" / "metadata.json")
    space = _space(metadata.get("action_space"))
    if space.get("type", "Box") != "Box":
        raise SfpError(
            f"{path}: the action space is {space['type']}, expected Box: sfp is for "
            "continuous actions."
        )
    if len(space.get("shape", [0])) > 1:
        raise SfpError(
            f"{path}: actions have shape {space['shape']}, expected a vector."
        )
    where = _locate(columns, _space(metadata.get("observation_space")), path)
    readers = _hdf5 if metadata["data_format"] == "hdf5" else _arrow
    episodes = (
        _episode(reader, where, every) for reader in readers(path / "data", metadata)
    )
    return assemble(
        episodes,
        source=metadata.get("dataset_id", str(path)),
        low=space.get("low"),
        high=space.get("high"),
        names=metadata.get("action_names") or (),
        drop_short=drop_short,
    )


def _space(serialized: str | None) -> dict[str, Any]:
    return parse_json(serialized) if serialized else {}


def _locate(
    columns: tuple[str, ...], space: dict[str, Any], path: Path
) -> dict[str, Place]:
    parts = _boxes(space, ("observations",))
    pictures = [place for place in parts if len(place.shape) == 3]
    vectors = [place for place in parts if len(place.shape) == 1]
    state = [p for p in vectors if p.key[-1] in ("observations", "observation")]
    found: dict[str, list[Place]] = {
        "actions": [Place(("actions",), ())],
        "observations": state,
        "goals": [p for p in vectors if p.key == ("observations", "desired_goal")],
        "images": pictures,
    }
    for column in columns:
        if not found[column]:
            names = ["/".join(place.key) for place in parts] or ["nothing else"]
            raise MissingColumn(
                f"{path} lacks {column}: besides actions it has {', '.join(names)}."
            )
    return {column: found[column][0] for column in columns}


def _boxes(space: dict[str, Any], key: tuple[str, ...]) -> list[Place]:
    if space.get("type") == "Box":
        return [Place(key, tuple(space["shape"]))]
    if space.get("type") != "Dict":
        return []
    inner = space["subspaces"]
    return [place for name in inner for place in _boxes(inner[name], (*key, name))]


def _episode(reader: Reader, where: dict[str, Place], every: int) -> Episode:
    actions = reader(("actions",))
    values: Episode = {"actions": actions[::every]}
    for column, place in where.items():
        if column == "actions":
            continue
        rows = reader(place.key)[: len(actions) : every]  # without the final one
        if column == "images" and _is_jpeg(rows, place):
            rows = np.stack([_decoded(bytes(row), place) for row in rows])
        values[column] = rows.reshape(len(rows), *place.shape)
    return values


def _decoded(content: bytes, place: Place) -> np.ndarray:
    """Decode a JPEG or PNG image; Pillow's other decoders never see the data."""
    with Image.open(io.BytesIO(content), formats=("JPEG", "PNG")) as picture:
        if picture.size != place.shape[1::-1]:  # before it is unpacked
            raise SfpError(
                f"a picture has {picture.size} pixels: expected {place.shape[1::-1]}."
            )
        return np.array(picture)


def _is_jpeg(rows: np.ndarray, place: Place) -> bool:
    """Whether these are files instead of pixels: rows of bytes, not one per pixel."""
    is_bytes = rows.dtype == object or (rows.dtype.kind == "u" and rows.ndim == 2)
    return len(rows) > 0 and is_bytes and rows[0].size != math.prod(place.shape)


def _hdf5(data: Path, metadata: dict[str, Any]) -> Iterator[Reader]:
    path = data / "main_data.hdf5"
    with h5py.File(regular(path), "r") as file:
        for number in range(metadata["total_episodes"]):

            def reader(key: tuple[str, ...], number: int = number) -> np.ndarray:
                name = "/".join((f"episode_{number}", *key))
                node = find(file, name, path)
                if not isinstance(node, h5py.Dataset):
                    raise ValueError(f"{name} is missing")
                return read_stored(node, path)

            yield reader


def _arrow(data: Path, metadata: dict[str, Any]) -> Iterator[Reader]:
    for number in range(metadata["total_episodes"]):

        def reader(key: tuple[str, ...], number: int = number) -> np.ndarray:
            array = _column(data / str(number), key, metadata["data_format"])
            if key == ("actions",):  # padded by one row to match the observations
                array = array[:-1]
            if pa.types.is_binary(array.type):
                bytes_each = [np.frombuffer(b, np.uint8) for b in array.to_pylist()]
                return np.array([*bytes_each, None], dtype=object)[:-1]
            if not isinstance(array, pa.FixedSizeListArray):
                return array.to_numpy(zero_copy_only=False)
            flat = array.flatten().to_numpy(zero_copy_only=False)
            return flat.reshape(len(array), array.type.list_size)

        yield reader


def _column(folder: Path, key: tuple[str, ...], data_format: str) -> pa.Array:
    """Parquet can read a part of a record alone, Arrow reads the record."""
    for part in folder.iterdir():
        regular(part)
    if data_format == "parquet":
        files = [pq.ParquetFile(part) for part in sorted(folder.glob("*.parquet"))]
        table = pa.concat_tables(file.read(columns=[".".join(key)]) for file in files)
    else:
        skip = ["_", ".", "metadata.json"]
        files = ds.dataset(folder, format=data_format, ignore_prefixes=skip)
        table = files.to_table(columns=[key[0]])
    array = table.column(key[0]).combine_chunks()
    array.validate(full=True)  # wrong offsets in a damaged file could crash us later
    for name in key[1:]:
        array = array.field(name)
    return array
