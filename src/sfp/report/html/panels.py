"""The charts of a section: learning curves, λ against return, replays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfp.report.comparison import Comparison, points
from sfp.report.curves import Walk, layout_of
from sfp.report.groups import METRICS, Group, share, title_of
from sfp.report.html.book import Book, still
from sfp.report.html.chart import line_chart, look, phase_chart
from sfp.report.html.film import Filmed, film, told
from sfp.report.html.markup import csv_link
from sfp.report.html.replay import outcome, path_rows, replay
from sfp.report.records import RunRecord

Replays = Sequence[tuple[RunRecord, list[Walk] | Filmed]]
"""Runs, and test episodes of their policies: walks in a maze, or a film."""


def panels(found: Comparison, stem: str, book: Book) -> tuple[str, str]:
    curves = _curves(found, stem, book) + _overall(found, stem, book)
    return curves, _phases(found, stem, book)


def watch(found: Comparison, replays: Replays, stem: str, book: Book) -> str:
    if not replays:
        return ""
    figures: dict[str, list[str]] = {}
    for run, played in replays:
        title = f"{run.label} on {run.task}, seed {run.seed}"
        kin = figures.setdefault(run.task, [])
        if isinstance(played, Filmed):
            kin.append(still(film(played, title), title, more=told(played)))
            continue
        chart = replay(layout_of(run.task), played, title)
        colour = look(found.labels.index(run.label))
        link = csv_link(path_rows(played), f"{stem}-{run.folder.name}-walks")
        kin.append(book.replay(chart, title, link, outcome(played), colour))
    rows = "".join(
        f'<div class="charts">{"".join(kin)}</div>' for kin in figures.values()
    )
    return (
        "<h3>What the policies do</h3><p>Test episodes of one trained policy each: of "
        "mazes several at the same time, until shortly after the goal; elsewhere a "
        f"film of the first one.</p>{rows}"
    )


def _curves(found: Comparison, stem: str, book: Book) -> str:
    figures = []
    for (task, metric), curves in found.panels.items():
        chosen = METRICS[metric]
        kin = [group for group in found.groups if group.task == task]
        title = f"{task}: {title_of(metric, kin)}"
        link = csv_link(points(curves), f"{stem}-{task}-{metric}")
        least = found.least_height(task, metric)
        mark = found.solving_return(task) if metric == "return" else None
        chart = line_chart(
            curves, found.labels, title=title, unit=chosen.unit, least=least, mark=mark
        )
        figures.append(book.chart(chart, title, link))
    return f'<h3>Learning curves</h3><div class="charts">{"".join(figures)}</div>'


def _overall(found: Comparison, stem: str, book: Book) -> str:
    figures = []
    for name, curves in found.overall.items():
        x = "step" if curves[0].steps else "share"
        title = f"{name} return over {found.everywhere}"
        chart = line_chart(curves, found.labels, title=title, x_name=curves[0].x_name)
        link = csv_link(points(curves, x), f"{stem}-all-{name.lower()}")
        figures.append(book.chart(chart, title, link))
    if not figures:
        return ""
    return f'<h3>Over tasks</h3><div class="charts">{"".join(figures)}</div>'


def _phases(found: Comparison, stem: str, book: Book) -> str:
    figures = []
    for task in found.tasks:
        kin = [group for group in found.groups if group.task == task]
        paths = [path for path in map(_phase, kin) if path is not None]
        if not paths:
            continue
        title = f"{task}: λ against return"
        rows = [
            {"method": label, "step": int(s), "mixing": float(m), "return": float(v)}
            for label, steps, mixing, values in paths
            for s, m, v in zip(steps, mixing, values, strict=True)
        ]
        chart = phase_chart(paths, found.labels, title=title)
        link = csv_link(rows, f"{stem}-{task}-phase")
        figures.append(book.chart(chart, title, link))
    if not figures:
        return ""
    return (
        "<h3>λ against return</h3><p>A dot per evaluation, means over seeds; the ring "
        "is the end of training. A prior that hands over goes up first, then left.</p>"
        f'<div class="charts">{"".join(figures)}</div>'
    )


def _phase(group: Group) -> tuple[str, np.ndarray, np.ndarray, np.ndarray] | None:
    returns, mixing = group.lines("return"), group.lines("mixing")
    both = [line for lines in (returns, mixing) for line in lines.values()]
    if not mixing or returns.keys() != mixing.keys():
        return None
    steps, values = share(both)
    returned, trusted = values[: len(returns)].mean(axis=0), values[len(returns) :]
    mixed = trusted.mean(axis=0)
    known = np.isfinite(returned + mixed)
    if not known.any():
        return None
    return group.label, steps[known], mixed[known], returned[known]
