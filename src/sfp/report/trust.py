"""Whom a mixture of several priors trusts over training, drawn as areas."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from sfp.exploration.figures import COLOURS
from sfp.report.comparison import Comparison
from sfp.report.groups import DRAWN, Group, names_of, stay

POLICY = "#dddddd"


def trust_figure(found: Comparison) -> Figure | None:
    """λ of every prior, one upon the other; the rest is the policy's.

    A row per mixture, a column per task: means over seeds, of which those that have
    ended stay as they were. None without several priors.
    """
    groups = [group for group in found.groups if group.lines("prior-1")]
    if not groups:
        return None
    labels = [one for one in found.labels if any(one == g.label for g in groups)]
    tasks = [task for task in found.tasks if any(task == g.task for g in groups)]
    size = 0.4 + 3.5 * len(tasks), 0.4 + 2.1 * len(labels)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(labels), len(tasks), squeeze=False)
    for axis in axes.ravel():
        axis.set_axis_off()
    for group in groups:
        axis = axes[labels.index(group.label), tasks.index(group.task)]
        axis.set_axis_on()
        steps, weights = weights_of(group)
        areas = np.vstack([weights, 1.0 - weights.sum(axis=0)])
        colours = [COLOURS[k % len(COLOURS)] for k in range(len(weights))]
        names = [*names_of(group, len(weights)), "policy"]
        axis.stackplot(steps, areas, colors=[*colours, POLICY], labels=names, lw=0)
        title = f"{group.label}: {group.task}"
        axis.set(title=title, ylim=(0, 1), xlabel="environment steps", ylabel="weight")
        axis.margins(x=0.0)
        axis.title.set_fontsize(9)
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.legend(loc="center right", fontsize=7)
    return figure


def weights_of(
    group: Group,
) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, "priors steps"]]:
    """The mean weight of every prior at every step that some run has logged."""
    lines = [line for k in DRAWN if (line := group.lines(f"prior-{k}"))]
    steps = np.unique(np.concatenate([own for own, _ in lines[0].values()]))
    means = [
        np.mean([stay(line, steps) for line in one.values()], axis=0) for one in lines
    ]
    return steps, np.array(means)
