"""Learning curves of runs: return, success and λ against environment steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfp.envs.layout import Layout
from sfp.envs.registry import get_task
from sfp.errors import SfpError
from sfp.exploration.figures import COLOURS, STYLES, draw_maze
from sfp.report.records import RunRecord, column
from sfp.training.evaluate import evaluate_policy
from sfp.training.trained import Trained

SHOWN = {
    "eval/mean_reward": "test return",
    "eval/success_rate": "test success",
    "mixing/mean": "λ over visited states",
}
"""The panels of a task."""


def curves_figure(
    runs: Sequence[RunRecord], walks: dict[Path, list[np.ndarray]]
) -> Figure:
    """A row per task: return, success and λ over steps, and walks of trained policies.

    Seeds are thin lines, their mean a thick one.

    Args:
        runs: of one task or several.
        walks: positions of test episodes in a point-maze, by the run's folder.
    """
    tasks = list(dict.fromkeys(run.task for run in runs))
    labels = list(dict.fromkeys(run.label for run in runs))
    walkers = {task: _walkers(runs, task, walks) for task in tasks}
    columns = len(SHOWN) + max(len(found) for found in walkers.values())
    size = 4.0 * columns, 3.2 * len(tasks)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(tasks), columns, squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        kin = [run for run in runs if run.task == task]
        for axis, name in zip(row, SHOWN, strict=False):
            _draw_panel(axis, kin, labels, name)
            axis.set_title(f"{task}: {SHOWN[name]}", fontsize=10)
        for axis in row[len(SHOWN) :]:
            axis.set_axis_off()
        for axis, run in zip(row[len(SHOWN) :], walkers[task], strict=False):
            axis.set_axis_on()
            draw_maze(axis, layout_of(task))
            for walk in walks[run.folder]:
                axis.plot(*walk.T, color=COLOURS[0], lw=0.9, alpha=0.7)
            axis.set_title(f"{run.label}: test episodes", fontsize=10)
    return figure


@dataclass(frozen=True)
class Walk:
    """A test episode in a point-maze, in cells.

    Attributes:
        path: all positions, the first one included.
        goal: where it should go.
        reached: the step that first met the goal, if one did.
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


def walks_of(run: RunRecord, episodes: int = 5) -> list[np.ndarray]:
    """Positions, in cells, of a finished run's policy in its point-maze."""
    return [walk.path for walk in play_walks(run, episodes)]


def is_maze(run: RunRecord) -> bool:
    """Whether its walks can be drawn, and there is a policy to walk."""
    if run.task.endswith(".txt"):  # which may be another map by now
        return False
    try:
        task = get_task(run.task)
    except SfpError:  # an environment made in Python
        return False
    told = task.layout is not None and not task.kwargs.get("pixels")
    return told and (run.folder / "policy").is_dir()


def layout_of(task: str) -> Layout:
    """The map of a point-maze."""
    layout = get_task(task).layout
    if layout is None:
        raise SfpError(f"task {task!r} is not a point-maze.")
    return layout


def _walkers(
    runs: Sequence[RunRecord], task: str, walks: dict[Path, list[np.ndarray]]
) -> list[RunRecord]:
    """The first run of each label whose walks are known."""
    found: dict[str, RunRecord] = {}
    for run in runs:
        if run.task == task and run.folder in walks:
            found.setdefault(run.label, run)
    return list(found.values())


def _draw_panel(
    axis: Axes, runs: Sequence[RunRecord], labels: Sequence[str], name: str
) -> None:
    for label in dict.fromkeys(run.label for run in runs):
        i = labels.index(label)
        colour, style = COLOURS[i % len(COLOURS)], STYLES[i % len(STYLES)]
        lines = [
            column(run.train if name.startswith("mixing") else run.eval, name)
            for run in runs
            if run.label == label
        ]
        lines = [line for line in lines if line[0]]
        for line in lines if len(lines) > 1 else ():
            axis.plot(*line, color=colour, lw=0.6, alpha=0.5)
        if lines:
            shared = sorted(set.intersection(*(set(steps) for steps, _ in lines)))
            mean = np.mean(
                [[dict(zip(*line, strict=True))[s] for s in shared] for line in lines],
                axis=0,
            )
            count = f" ({len(lines)} seeds)" if len(lines) > 1 else ""
            axis.plot(shared, mean, style, color=colour, lw=1.8, label=label + count)
    if name != "eval/mean_reward":
        axis.set_ylim(-0.05, 1.05)
    axis.set_xlabel("environment steps")
    axis.grid(alpha=0.3)
    if axis.has_data():
        axis.legend(fontsize=8)
