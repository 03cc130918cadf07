"""Heat maps: returns over the levels of two parameters, as threshold and bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfp.envs.parameters import Parameter, Value, split
from sfp.envs.registry import get_task
from sfp.errors import SfpError

ALL = "all tasks"


@dataclass(frozen=True)
class Heat:
    """Mean final returns of a method, a row and a column per level of two parameters.

    Attributes:
        task: without parameters, or `ALL`: the mean over tasks that have every cell.
        label: of the method.
        axes: the names of the parameters, of rows and of columns.
        rows: levels in words, the lowest first.
        columns: the same of the other parameter.
        values: (rows, columns); NaN where there is no run.
    """

    task: str
    label: str
    axes: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray

    def cells(self) -> list[dict[str, Any]]:
        """A row of a tidy table for each cell that was run."""
        return [
            {"task": self.task, "method": self.label}
            | {self.axes[0]: row, self.axes[1]: column, "return": float(value)}
            for row, line in zip(self.rows, self.values, strict=True)
            for column, value in zip(self.columns, line, strict=True)
            if np.isfinite(value)
        ]


def find_heats(returns: Mapping[tuple[str, str], float]) -> list[Heat]:
    """Heat maps of mean returns by (task, label), if two parameters were varied."""
    tasks = {task: _levels(task) for task, _ in returns}
    order: dict[str, dict[str, float]] = {}
    for _, levels in tasks.values():
        for name, (word, rank) in levels.items():
            order.setdefault(name, {})[word] = rank
    varied = [name for name, words in order.items() if len(words) > 1]
    complete = all(set(varied) <= set(levels) for _, levels in tasks.values())
    if len(varied) != 2 or not complete:
        return []
    axes = varied[0], varied[1]
    rows, columns = (tuple(sorted(order[n], key=order[n].__getitem__)) for n in axes)
    table: dict[tuple[str, str], np.ndarray] = {}
    for (task, label), value in returns.items():
        base, levels = tasks[task]
        blank = np.full((len(rows), len(columns)), np.nan)
        values = table.setdefault((base, label), blank)
        values[rows.index(levels[axes[0]][0]), columns.index(levels[axes[1]][0])] = (
            value
        )
    maps = [
        Heat(base, label, axes, rows, columns, values)
        for (base, label), values in table.items()
    ]
    return maps + _over_all(maps)


def _over_all(maps: Sequence[Heat]) -> list[Heat]:
    found = []
    for label in dict.fromkeys(one.label for one in maps):
        kin = [one for one in maps if one.label == label]
        if len(kin) > 1:
            first, mean = kin[0], np.mean([one.values for one in kin], axis=0)
            found.append(Heat(ALL, label, first.axes, first.rows, first.columns, mean))
    return found


def _levels(task: str) -> tuple[str, dict[str, tuple[str, float]]]:
    """The task without parameters, and its levels: in words, and their order.

    A threshold counts as a share, as robots differ in what is far for them.
    """
    base, given = split(task)
    try:
        known = get_task(base).parameters or {}
    except SfpError:
        return base, {}
    usual = {n: p.default for n, p in known.items() if p.default is not None}
    values = (usual | given).items()
    return base, {name: _said(value, known.get(name)) for name, value in values}


def _said(value: Value, known: Parameter | None) -> tuple[str, float]:
    if isinstance(value, bool):
        return "yes" if value else "no", float(value)
    if isinstance(value, str):
        return value, 0.0
    if known is not None and known.whole:
        return f"{value / known.whole:.0%}", value / known.whole
    return f"{value:g}", float(value)
