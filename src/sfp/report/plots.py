"""The report's figures for print, drawn with Matplotlib: PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, PercentFormatter

from sfp.exploration.figures import COLOURS, STYLES, save
from sfp.report.comparison import Comparison, claim_rows, final_rows, points
from sfp.report.groups import METRICS, Curve, title_of
from sfp.report.markdown import save_markdown
from sfp.report.records import summarise, tidy
from sfp.report.stats import Estimate, shown
from sfp.report.tables import save_csv
from sfp.report.trust import trust_figure

ABREAST = 3
"""Panels side by side, at most."""

ENTRIES = 5
"""Of a legend in a line, at most; lines are filled evenly."""


def save_figures(found: Comparison, folder: Path) -> list[Path]:
    """Write every figure of a comparison as PNG and SVG, and its tables as CSV.

    `curves.csv` holds what is drawn, `runs.csv` every evaluation of every run,
    `summary.csv` a line per run, `final.csv`, `times.csv` and `claims.csv` the report's
    tables, and `tables.md` those for reading.
    """
    with mpl.rc_context({"text.parse_math": False}):  # a task may have a $ in its name
        figures = {
            **{metric: curves_figure(found, metric) for metric in METRICS},
            "overall": overall_figure(found),
            "final": final_figure(found),
            "improvement": improvement_figure(found),
            "mixing-return": mixing_figure(found),
            "heat": heat_figure(found),
            "trust": trust_figure(found),
        }
    files = [
        save(figure, folder / f"{name}.{suffix}")
        for name, figure in figures.items()
        if figure is not None
        for suffix in ("png", "svg")
    ]
    runs = [run for group in found.groups for run in (*group.runs, *group.unfinished)]
    tables = {
        "curves": [
            {"task": task, "metric": metric, **row}
            for (task, metric), curves in found.panels.items()
            for row in points(curves)
        ],
        "runs": [row for run in runs for row in tidy(run)],
        "summary": [summarise(run) for run in runs],
        "final": final_rows(found),
        "times": [times.row() for times in found.times],
        "heat": [cell for heat in found.heats for cell in heat.cells()],
        "claims": claim_rows(found),
    }
    files += [
        save_csv(rows, folder / f"{name}.csv") for name, rows in tables.items() if rows
    ]
    page = save_markdown(found, folder / "tables.md")
    return files if page is None else [*files, page]


def curves_figure(found: Comparison, metric: str) -> Figure | None:
    """A panel per task: smoothed means over seeds, with bands for their intervals."""
    kept = {t: found.panels[t, m] for t, m in found.panels if m == metric}
    if not kept:
        return None
    figure, axes = _grid(len(kept))
    for axis, task in zip(axes, kept, strict=False):
        draw_panel(axis, found, task, metric)
        axis.set_title(task)
    axes[0].set_ylabel(title_of(metric, found.groups))
    draw_legend(figure, found.labels, kept.values())
    return figure


def draw_panel(
    axis: Axes, found: Comparison, task: str, metric: str, *, seeds: bool = False
) -> None:
    """Curves of a metric on a task, also of the single seeds if there are several."""
    curves = found.panels.get((task, metric), [])
    for curve in curves if seeds else ():
        colour, _ = _style(curve.label, found.labels)
        for line in curve.seeds.values() if len(curve.seeds) > 1 else ():
            axis.plot(*line, color=colour, lw=0.6, alpha=0.5)
    _draw(axis, curves, found.labels)
    axis.set_xlabel("environment steps")
    if METRICS[metric].unit:
        axis.set_ylim(-0.02, 1.04)
    elif curves:
        _raise(axis, found.least_height(task, metric))
        if metric == "return" and (mark := found.solving_return(task)) is not None:
            axis.axhline(mark, color="grey", lw=0.8, ls="--", zorder=0)


def overall_figure(found: Comparison) -> Figure | None:
    if not found.overall:
        return None
    figure, axes = _grid(len(found.overall))
    for axis, (name, curves) in zip(axes, found.overall.items(), strict=False):
        _draw(axis, curves, found.labels)
        if not curves[0].steps:
            axis.xaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set(title=f"{name} over {found.everywhere}", xlabel=curves[0].x_name)
    axes[0].set_ylabel("Test return")
    draw_legend(figure, found.labels, found.overall.values())
    return figure


def final_figure(found: Comparison) -> Figure | None:
    bars = found.bars
    if not bars:
        return None
    figure, axes = _grid(len(bars), rows=max(len(rows) for rows in bars.values()))
    for axis, (name, rows) in zip(axes, bars.items(), strict=False):
        _forest(axis, rows, found.labels)
        axis.set(title=name, xlabel="final return")
    return figure


def improvement_figure(found: Comparison) -> Figure | None:
    """How probably a run of the reference beats one of each other method."""
    if not found.against:
        return None
    figure, axes = _grid(1, rows=len(found.against))
    _forest(axes[0], found.beaten, found.labels, points=True)
    axes[0].axvline(0.5, color="grey", lw=0.8, ls="--")
    axes[0].set(xlim=(-0.03, 1.03), xlabel=f"P({found.reference} beats the other)")
    return figure


def mixing_figure(found: Comparison) -> Figure | None:
    """λ and return over training, a panel per task: the hand-over."""
    tasks = [task for task in found.tasks if (task, "mixing") in found.panels]
    if not tasks:
        return None
    figure, axes = _grid(len(tasks))
    for axis, task in zip(axes, tasks, strict=False):
        mixing = found.panels[task, "mixing"]
        named = {curve.label for curve in mixing}
        returns = [
            c for c in found.panels.get((task, "return"), []) if c.label in named
        ]
        _draw(axis, returns, found.labels)
        if returns:
            _raise(axis, found.least_height(task, "return"))
        other = axis.twinx()
        _draw(other, mixing, found.labels, faint=True)
        other.set(ylim=(-0.02, 1.04), ylabel="λ (thin)")
        axis.set(title=task, xlabel="environment steps", ylabel="test return (thick)")
    draw_legend(figure, found.labels, [found.panels[task, "mixing"] for task in tasks])
    return figure


def heat_figure(found: Comparison) -> Figure | None:
    """Final returns over two parameters: a row per method, a column per task."""
    heats = {(heat.label, heat.task): heat for heat in found.heats}
    if not heats:
        return None
    labels, tasks = (list(dict.fromkeys(key[i] for key in heats)) for i in (0, 1))
    size = 0.6 + 2.3 * len(tasks), 0.5 + 2.2 * len(labels)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(labels), len(tasks), squeeze=False)
    most = max(float(np.nanmax(heat.values, initial=0.0)) for heat in heats.values())
    colours = ScalarMappable(Normalize(0.0, max(most, 1e-9)))
    for (label, task), heat in heats.items():
        axis = axes[labels.index(label), tasks.index(task)]
        axis.imshow(heat.values, norm=colours.norm, origin="lower", aspect="auto")
        for (row, column), value in np.ndenumerate(heat.values):
            if np.isfinite(value):
                ink = "white" if value < 0.6 * most else "black"
                axis.text(
                    column, row, shown(value), ha="center", va="center", color=ink
                )
        axis.set_xticks(range(len(heat.columns)), heat.columns)
        axis.set_yticks(range(len(heat.rows)), heat.rows)
        axis.set(title=f"{label}: {task}", xlabel=heat.axes[1], ylabel=heat.axes[0])
        axis.title.set_fontsize(9)
    figure.colorbar(colours, ax=axes, label="final return")
    return figure


def _grid(count: int, *, rows: int = 0) -> tuple[Figure, list[Axes]]:
    """Panels for curves, or for so many rows of bars each."""
    columns = min(ABREAST, count)
    lines = -(-count // columns)
    height = 1.1 + 0.34 * rows if rows else 2.9
    size = 3.9 * columns, height * lines + 0.3
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(lines, columns, squeeze=False).ravel())
    for axis in axes[count:]:
        axis.set_axis_off()
    return figure, axes


def _raise(axis: Axes, height: float) -> None:
    """Let an axis reach this high, lest it magnify a trifle or nothing at all."""
    if height > 0:
        axis.set_ylim(-0.05 * height, 1.05 * height)


def _style(label: str, labels: Sequence[str]) -> tuple[str, str]:
    i = labels.index(label)
    return COLOURS[i % len(COLOURS)], STYLES[i % len(STYLES)]


def _draw(
    axis: Axes, curves: Sequence[Curve], labels: Sequence[str], *, faint: bool = False
) -> None:
    for curve in curves:
        colour, style = _style(curve.label, labels)
        width = 0.9 if faint else 1.9
        axis.plot(curve.x, curve.found.value, style, color=colour, lw=width)
        low, high = curve.found.low, curve.found.high
        if low is not None and high is not None and not faint:
            axis.fill_between(curve.x, low, high, color=colour, alpha=0.18, lw=0)
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    if not faint:
        axis.grid(alpha=0.3)
        if axis.get_ylim()[0] > 0:
            axis.set_ylim(bottom=0)
        if not any(np.any(curve.found.value) for curve in curves):
            _raise(axis, 1.0)


def _forest(
    axis: Axes,
    rows: Sequence[tuple[str, Estimate]],
    labels: Sequence[str],
    *,
    points: bool = False,
) -> None:
    for i, (label, found) in enumerate(rows):
        colour, value = _style(label, labels)[0], float(found.value)
        if points:
            axis.plot(value, i, "o", color=colour, markersize=6)
        else:
            axis.barh(i, value, color=colour, height=0.62, alpha=0.85)
        if found.low is not None and found.high is not None:
            ends = np.array([[value - float(found.low)], [float(found.high) - value]])
            ends = np.maximum(ends, 0.0)  # a basic interval may leave its value out
            axis.errorbar(value, i, xerr=ends, color="black", capsize=3, lw=1.1)
    names = [
        f"{label}\n{shown(float(found.value))}"
        + (f" (n = {found.n})" if found.low is None else "")
        for label, found in rows
    ]
    axis.set_yticks(range(len(rows)), names, fontsize=8)
    axis.set_ylim(max(len(rows), 2) - 0.5, -0.5)
    axis.grid(axis="x", alpha=0.3)


def draw_legend(
    figure: Figure, labels: Sequence[str], drawn: Iterable[Sequence[Curve]]
) -> None:
    """One legend below all panels, of what is drawn in them."""
    known = {curve.label for curves in drawn for curve in curves}
    handles = []
    for label in (label for label in labels if label in known):
        colour, style = _style(label, labels)
        handles.append(Line2D([], [], ls=style, color=colour, lw=1.9, label=label))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=max(1, -(-len(handles) // max(1, -(-len(handles) // ENTRIES)))),
        frameon=False,
    )
