"""Tables of numbers as text (CSV): one episode, a row per step."""

import csv
import re
from pathlib import Path

import numpy as np

from sfp.data.trajectories import Trajectories, assemble
from sfp.errors import Empty, MissingColumn, SfpError

NAME = "a table of numbers"
SUFFIXES = (".csv", ".tsv")
HEADS: dict[str, str] = {
    "actions": "action",
    "observations": "observation",
    "goals": "goal",
}
"""How the names of a column's parts begin, as in `action_x` or `observation.3`."""


def matches(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(
    path: Path, columns: tuple[str, ...], *, drop_short: bool = False
) -> Trajectories:
    """Read the columns whose names begin with `action` (`observation`, `goal`).

    Without a line of names all columns are actions. Commas, semicolons or tabs
    separate; columns that are not asked for may hold anything.
    """
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise Empty(f"{path} is empty: expected a row of numbers per step.")
    first = lines[0].lstrip("# ")
    comma = next((mark for mark in "\t;" if mark in first), ",")
    fields = _split(first, comma)
    places, names = {"actions": list(range(len(fields)))}, []
    if len(fields) > 1 and fields == list(map(str, places["actions"])):
        lines = lines[1:]  # 0, 1, 2, ...: pandas numbers columns without names
    elif not all(map(_is_number, fields)):
        lines, places = lines[1:], _places(fields)
        names = [_part(fields[place]) for place in places["actions"]]
    for column in columns:
        if not places.get(column):
            raise MissingColumn(
                f"{path} lacks {column!r}: expected names of columns that begin with "
                f"{HEADS.get(column, column)!r}, separated by commas, semicolons or "
                f"tabs; its first line is {first[:80]!r}."
            )
    _check_widths(path, lines, comma, len(fields))
    values = {c: _numbers(lines, comma, places[c]) for c in columns}
    return assemble(
        [values],
        source=str(path),
        names=names if all(names) else (),
        drop_short=drop_short,
    )


def _places(names: list[str]) -> dict[str, list[int]]:
    return {
        column: [i for i, name in enumerate(names) if name.lower().startswith(head)]
        for column, head in HEADS.items()
    }


def _part(name: str) -> str:
    """`x` of `action_x`, `actions[x]`; nothing of a number, which names nothing."""
    part = re.sub(r"^actions?(?![a-z])|^action", "", name, flags=re.IGNORECASE)
    part = part.strip("_.-[]() ")
    return "" if part.isdecimal() else part


def _split(line: str, comma: str) -> list[str]:
    found = next(csv.reader([line], delimiter=comma, skipinitialspace=True), [])
    return [field.strip() for field in found]


def _check_widths(path: Path, lines: list[str], comma: str, width: int) -> None:
    for number, line in enumerate(lines):
        plain = '"' not in line
        count = line.count(comma) + 1 if plain else len(_split(line, comma))
        if count != width:
            raise SfpError(
                f"{path}: row {number} has {count} fields, the first line {width}: "
                "expected as many in every row. Decimal commas must be points."
            )


def _numbers(lines: list[str], comma: str, places: list[int]) -> np.ndarray:
    if not lines:
        return np.zeros((0, len(places)))
    return np.loadtxt(
        lines, delimiter=comma, usecols=places, ndmin=2, quotechar='"', comments=None
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
