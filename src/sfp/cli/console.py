"""What commands print: tables for people, one JSON document for scripts."""

from __future__ import annotations

import json as jsonlib
import math
import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfp.errors import plain

Rows = Sequence[dict[str, Any]]


def show(
    rows: Rows,
    *,
    json: bool,
    title: str = "",
    head: Sequence[str] = (),
    notes: Sequence[str] = (),
    **document: Any,
) -> None:
    """Print rows as a table and notes below it, or all of it as one JSON document.

    What a row lacks that another has is empty. Title, head and notes are for people
    only, `document` is for the JSON document only. A wide table is turned on its side.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    rows = [{name: row.get(name) for name in names} for row in rows]
    if json:
        print(jsonlib.dumps(_finite({**document, "rows": list(rows)}), indent=2))
        return
    console = _Console(width=None if sys.stdout.isatty() else 10_000)
    for line in head:
        console.print(plain(line), markup=False, highlight=False, soft_wrap=True)
    if rows:
        table = _table(rows, title)
        unlimited = console.options.update(max_width=10_000)
        wide = console.measure(table, options=unlimited).maximum > console.width
        if wide and len(rows) < len(rows[0]):
            table = _table(_turned(rows), title)
        console.print(table)
    for note in notes:
        console.print(plain(note), markup=False, highlight=False, soft_wrap=True)


def _finite(value: Any) -> Any:
    """The same with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(held) for held in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`."""
        raise BrokenPipeError


def _table(rows: Rows, title: str) -> Table:
    heading = Text(plain(title)) if title else None
    table = Table(title=heading, title_justify="left", box=box.SIMPLE)
    for name, value in rows[0].items():
        number = isinstance(value, int | float)
        table.add_column(Text(plain(name)), justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    return table


def _turned(rows: Rows) -> Rows:
    """A row per column; what was in the first column heads the others."""
    first, *others = rows[0]
    return [
        {first: name, **{_cell(row[first]): row[name] for row in rows}}
        for name in others
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else plain(str(value))
