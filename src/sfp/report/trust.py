"""Whom a mixture of several priors trusts over training, drawn as areas."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from sfp.exploration.figures import COLOURS
from sfp.report.comparison import Comparison
from sfp.report.groups import DRAWN, Curve

POLICY = "#dddddd"


def trust_figure(found: Comparison) -> Figure | None:
    """λ of every prior, one upon the other; the rest is the policy's.

    A row per mixture, a column per task: means over seeds. None without several priors.
    """
    drawn = {
        (curve.label, task): _priors(found, curve.label, task)
        for task in found.tasks
        for curve in found.panels.get((task, "prior-1"), [])
    }
    if not drawn:
        return None
    labels = [one for one in found.labels if any(one == label for label, _ in drawn)]
    tasks = [task for task in found.tasks if any(task == one for _, one in drawn)]
    size = 0.4 + 3.5 * len(tasks), 0.4 + 2.1 * len(labels)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(labels), len(tasks), squeeze=False)
    for axis in axes.ravel():
        axis.set_axis_off()
    for (label, task), curves in drawn.items():
        axis = axes[labels.index(label), tasks.index(task)]
        axis.set_axis_on()
        values = np.array([curve.found.value for curve in curves])
        areas = np.vstack([values, 1.0 - values.sum(axis=0)])
        colours = [*(COLOURS[k % len(COLOURS)] for k in range(len(curves))), POLICY]
        names = [*_names(found, label, len(curves)), "policy"]
        axis.stackplot(curves[0].x, areas, colors=colours, labels=names, lw=0)
        axis.set(title=f"{label}: {task}", ylim=(0.0, 1.0), xlabel="environment steps")
        axis.margins(x=0.0)
        axis.title.set_fontsize(9)
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.legend(loc="center right", fontsize=7)
    axes[0, 0].set_ylabel("weight")
    return figure


def _priors(found: Comparison, label: str, task: str) -> list[Curve]:
    """λ of every prior of a mixture, in order."""
    panels = (found.panels.get((task, f"prior-{k}"), []) for k in DRAWN)
    return [curve for panel in panels for curve in panel if curve.label == label]


def _names(found: Comparison, label: str, count: int) -> list[str]:
    """What the priors are called, if all runs of a mixture agree."""
    runs = [run for group in found.groups if group.label == label for run in group.runs]
    told = {tuple(run.config.get("priors") or ()) for run in runs}
    names = told.pop() if len(told) == 1 else ()
    return (
        list(names) if len(names) == count else [f"prior {k + 1}" for k in range(count)]
    )
