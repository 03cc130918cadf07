"""What commands print: tables for people, one JSON document for scripts."""

from __future__ import annotations

import contextlib
import json as jsonlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

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

    A table too wide for the terminal is turned on its side.

    Args:
        rows: all with the same keys, which are the column names of both.
        json: print `{"rows": [...], ...}` instead.
        title: above the table.
        head: lines above the table; people only.
        notes: lines below it; people only.
        **document: what else the JSON document holds.
    """
    if json:
        print(jsonlib.dumps(_finite({**document, "rows": list(rows)}), indent=2))
        return
    console = _Console(width=None if sys.stdout.isatty() else 10_000)
    for line in head:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if rows:
        table = _table(rows, title)
        unlimited = console.options.update(max_width=10_000)
        wide = console.measure(table, options=unlimited).maximum > console.width
        if wide and len(rows) < len(rows[0]):
            table = _table(_turned(rows), title)
        console.print(table)
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


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
    table = Table(title=escape(title) or None, title_justify="left", box=box.SIMPLE)
    for name, value in rows[0].items():
        number = isinstance(value, int | float)
        table.add_column(name, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(escape(_cell(value)) for value in row.values()))
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
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on stderr with the time left; yields `advance(to, label=...)`."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    bar = Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )
    with bar:
        task = bar.add_task(label, total=total)

        def advance(to: int | None = None, *, label: str = label) -> None:
            if to is None:
                bar.advance(task)
            else:
                bar.update(task, completed=to, description=label)

        yield advance


@contextlib.contextmanager
def training_progress(
    label: str, total: int
) -> Iterator[
    tuple[
        Callable[[int], None],
        Callable[[int, Mapping[str, float]], None],
        Callable[[float], None],
    ]
]:
    """A bar with speed, success and λ; yields what hears of steps, rows, preparation.

    Preparation is what a method learns before its first step.
    """
    shown = {"charts/SPS": "{:.0f} steps/s", "eval/success_rate": "success {:.0%}"}
    shown["mixing/mean"] = "λ {:.2f}"
    latest: dict[str, float] = {}
    with progress(label, total) as bar:

        def pulse(step: int) -> None:
            known = [text.format(latest[k]) for k, text in shown.items() if k in latest]
            bar(step, label=", ".join([label, *known]))

        def prepared(share: float) -> None:
            bar(0, label=f"{label}, learning from recordings: {share:.0%}")

        yield pulse, lambda step, row: latest.update(row), prepared


@contextlib.contextmanager
def fitting_progress(
    label: str, total: int
) -> Iterator[Callable[[int, dict[str, int | float] | None], None]]:
    """A bar that also shows the held-out likelihood; yields `advance(done, row)`."""
    with progress(label, total) as bar:

        def advance(done: int, row: dict[str, int | float] | None) -> None:
            shown = f"{label}, held out {row['held_out']:.4f} nats" if row else label
            bar(done, label=shown)

        yield advance
