"""How runs went, on one picture: the report's curves, and walks in point-mazes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sfp.envs.layout import Layout
from sfp.envs.registry import get_task
from sfp.errors import SfpError
from sfp.exploration.figures import COLOURS, draw_maze
from sfp.report.comparison import compare
from sfp.report.experiment import Section
from sfp.report.groups import METRICS, title_of
from sfp.report.plots import draw_legend, draw_panel
from sfp.report.records import RunRecord
from sfp.report.stats import Protocol
from sfp.training.evaluate import evaluate_policy
from sfp.training.trained import Trained


def runs_figure(runs: Sequence[RunRecord], walks: dict[Path, list[Walk]]) -> Figure:
    """A row per task: return, success and λ over steps, and paths of trained policies.

    Where nothing tells success, or no prior is mixed in, there is no such column.
    Nothing is smoothed. Seeds are thin lines, their mean a thick one. `walks` has test
    episodes in a point-maze, by the run's folder.
    """
    section, raw = Section("runs", "Runs", runs=tuple(runs)), Protocol(window=1)
    found = compare(section, np.random.default_rng(0), raw)
    walkers = {
        task: [run for run in runs if run.task == task and run.folder in walks]
        for task in found.tasks
    }
    first = {
        task: list({run.label: run for run in reversed(kin)}.values())
        for task, kin in walkers.items()
    }
    shown = [
        m for m in METRICS if m == "return" or any(key[1] == m for key in found.panels)
    ]
    columns = len(shown) + max(len(kin) for kin in first.values())
    size = 4.0 * columns, 3.2 * len(found.tasks)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(found.tasks), columns, squeeze=False)
    for row, task in zip(axes, found.tasks, strict=True):
        kin = [group for group in found.groups if group.task == task]
        for axis, metric in zip(row, shown, strict=False):
            if (task, metric) not in found.panels:
                axis.set_axis_off()
                continue
            draw_panel(axis, found, task, metric, seeds=True)
            axis.set_title(f"{task}: {title_of(metric, kin)}", fontsize=10)
        for axis in row[len(shown) :]:
            axis.set_axis_off()
        for axis, run in zip(row[len(shown) :], first[task], strict=False):
            axis.set_axis_on()
            draw_maze(axis, layout_of(task))
            for walk in walks[run.folder]:
                axis.plot(*walk.path.T, color=COLOURS[0], lw=0.9, alpha=0.7)
            axis.set_title(f"{run.label}: test episodes", fontsize=10)
    draw_legend(figure, found.labels, found.panels.values())
    return figure


@dataclass(frozen=True)
class Walk:
    """A test episode in a point-maze: all positions and the goal, in cells.

    `reached` is the step that first met the goal, if one did.
    """

    path: np.ndarray
    goal: np.ndarray
    reached: int | None


def play_walks(run: RunRecord, episodes: int = 5) -> list[Walk]:
    """Test episodes of a finished run's policy in its point-maze."""
    layout = layout_of(run.task)
    _, played = evaluate_policy(Trained.load(run.folder), run.task, episodes=episodes)
    size = layout.high - layout.low
    found = []
    for episode in played:
        path = np.stack([seen.achieved for seen in episode.observed])
        met = np.flatnonzero(np.array(episode.rewards) > 0)
        goal = episode.observed[0].obs.goal * size + layout.low
        reached = int(met[0]) + 1 if len(met) else None
        found.append(Walk(path * size + layout.low, goal, reached))
    return found


def is_maze(run: RunRecord) -> bool:
    """Whether a run's test episodes can be drawn: it has a map and a policy."""
    if run.task.endswith(".txt"):  # which may be another map by now
        return False
    try:
        task = get_task(run.task)
    except SfpError:  # an environment made in Python
        return False
    told = task.layout is not None and not task.kwargs.get("pixels")
    return told and (run.folder / "policy").is_dir()


def layout_of(task: str) -> Layout:
    layout = get_task(task).layout
    if layout is None:
        raise SfpError(f"task {task!r} is not a point-maze.")
    return layout
