"""Learning curves of runs: return, success and λ against environment steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfp.analysis.figures import COLOURS, STYLES, draw_maze
from sfp.envs.maze import get_layout
from sfp.envs.registry import TASKS, get_task, maze_layout
from sfp.errors import SfpError
from sfp.training.evaluate import evaluate_policy, solved_at
from sfp.training.log import Row, read_table
from sfp.training.trained import Trained

SHOWN = {
    "eval/mean_reward": "test return",
    "eval/success_rate": "test success",
    "mixing/mean": "λ over visited states",
}
"""The panels of a task."""


@dataclass(frozen=True)
class RunRecord:
    """What a run folder tells of itself.

    Attributes:
        folder: where it lies.
        task: its task.
        method: its method.
        seed: its seed.
        settings: everything else in its configuration, flat.
        train: the rows of `train.csv`.
        eval: the rows of `eval.csv`.
        variant: the settings in which it differs from its kin, as text.
    """

    folder: Path
    task: str
    method: str
    seed: int
    settings: dict[str, Any]
    train: list[Row]
    eval: list[Row]
    variant: str = ""

    @property
    def label(self) -> str:
        """For legends: the method and its variant."""
        return f"{self.method} {self.variant}".strip()


def read_runs(folders: Sequence[Path]) -> list[RunRecord]:
    """Read run folders, finished or not, and tell variants of a method apart."""
    runs = [_read_run(folder) for folder in dict.fromkeys(folders)]
    return [replace(run, variant=_variant(run, runs)) for run in runs]


def summarise(run: RunRecord) -> dict[str, str | int | float | None]:
    """One line: how far a run got."""
    last = run.eval[-1] if run.eval else {}
    _, mixing = _column(run.train, "mixing/mean")
    return {
        "task": run.task,
        "method": run.label,
        "seed": run.seed,
        "steps": int(run.train[-1]["step"] or 0) if run.train else 0,
        "solved_at": solved_at(run.eval),
        "return": last.get("eval/mean_reward"),
        "success": last.get("eval/success_rate"),
        "mixing": mixing[-1] if mixing else None,
    }


def tidy(run: RunRecord) -> list[dict[str, Any]]:
    """A run's evaluations with λ beside them, one row each."""
    mixing = {row["step"]: row for row in run.train}
    return [
        {
            "task": run.task,
            "method": run.label,
            "seed": run.seed,
            "step": int(row["step"] or 0),
            "return": row["eval/mean_reward"],
            "success": row["eval/success_rate"],
            **{
                name.replace("/", "_"): mixing.get(row["step"], {}).get(name)
                for name in ("mixing/mean", "mixing/p10", "mixing/p90")
            },
        }
        for row in run.eval
    ]


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
            draw_maze(axis, get_layout(maze_layout(get_task(task))))
            for walk in walks[run.folder]:
                axis.plot(*walk.T, color=COLOURS[0], lw=0.9, alpha=0.7)
            axis.set_title(f"{run.label}: test episodes", fontsize=10)
    return figure


def walks_of(run: RunRecord, episodes: int = 5) -> list[np.ndarray]:
    """Positions, in cells, of a finished run's policy in its point-maze."""
    layout = get_layout(maze_layout(get_task(run.task)))
    _, played = evaluate_policy(Trained.load(run.folder), run.task, episodes=episodes)
    size = layout.high - layout.low
    return [
        np.stack([sight.achieved for sight in episode.sights]) * size + layout.low
        for episode in played
    ]


def is_maze(run: RunRecord) -> bool:
    """Whether its walks can be drawn, and there is a policy to walk."""
    known = run.task in TASKS and TASKS[run.task].suite == "point-maze"
    return known and (run.folder / "policy").is_dir()


def _read_run(folder: Path) -> RunRecord:
    try:
        config = json.loads((folder / "config.json").read_text())
        task, method, seed = (config.pop(k) for k in ("task", "method", "seed"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SfpError(
            f"{folder} is no run: expected what `sfp train` wrote."
        ) from None
    tables = read_table(folder, "train"), read_table(folder, "eval")
    return RunRecord(folder, task, method, seed, _flat(config), *tables)


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat |= _flat(value) if isinstance(value, dict) else {name: value}
    return flat


def _variant(run: RunRecord, runs: Sequence[RunRecord]) -> str:
    """The settings in which runs of its task and method differ, other than length."""
    kin = [r for r in runs if (r.task, r.method) == (run.task, run.method)]
    names = [
        name
        for name, value in run.settings.items()
        if name not in ("steps", "until_solved", "threads")
        and any(other.settings.get(name) != value for other in kin)
    ]
    return ", ".join(f"{name}={run.settings[name]}" for name in names)


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
            _column(run.train if name.startswith("mixing") else run.eval, name)
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


def _column(rows: Sequence[Row], name: str) -> tuple[list[float], list[float]]:
    kept = [(row["step"], row[name]) for row in rows if row[name] is not None]
    return [float(s or 0) for s, _ in kept], [float(v or 0) for _, v in kept]
