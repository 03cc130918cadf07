"""Learning curves of runs: return, success and λ against environment steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class RunRecord:
    """What a run folder tells of itself."""

    folder: Path
    task: str
    method: str
    seed: int
    train: list[Row]
    eval: list[Row]

    @property
    def label(self) -> str:
        """For legends."""
        return f"{self.method} on {self.task}, seed {self.seed}"


def read_run(folder: Path) -> RunRecord:
    """Read a run folder, finished or not."""
    try:
        config = json.loads((folder / "config.json").read_text())
        task, method, seed = config["task"], config["method"], config["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SfpError(
            f"{folder} is no run: expected what `sfp train` wrote."
        ) from None
    tables = read_table(folder, "train"), read_table(folder, "eval")
    return RunRecord(folder, task, method, seed, *tables)


def summarise(run: RunRecord) -> dict[str, str | int | float | None]:
    """One line: how far a run got."""
    last = run.eval[-1] if run.eval else {}
    mixing = [row["mixing/mean"] for row in run.train if row["mixing/mean"] is not None]
    return {
        "run": str(run.folder),
        "task": run.task,
        "method": run.method,
        "seed": run.seed,
        "steps": int(run.train[-1]["step"] or 0) if run.train else 0,
        "solved_at": solved_at(run.eval),
        "return": last.get("eval/mean_reward"),
        "success": last.get("eval/success_rate"),
        "mixing": mixing[-1] if mixing else None,
    }


def curves_figure(
    runs: Sequence[RunRecord], paths: dict[Path, list[np.ndarray]]
) -> Figure:
    """Return, success and λ over steps; and the walks of the trained policies.

    Args:
        runs: of one task or several.
        paths: positions of test episodes in a point-maze, by the run's folder.
    """
    columns = 3 + len(paths)
    figure = Figure(figsize=(4.0 * columns, 3.4), layout="constrained")
    axes = figure.subplots(1, columns)
    for i, run in enumerate(runs):
        style = {"color": COLOURS[i % len(COLOURS)], "ls": STYLES[i % len(STYLES)]}
        style["label"] = run.label
        _line(axes[0], run.eval, "eval/mean_reward", style)
        _line(axes[1], run.eval, "eval/success_rate", style)
        _line(axes[2], run.train, "mixing/mean", style)
        low, high = (_column(run.train, f"mixing/p{p}") for p in (10, 90))
        if len(low[0]):
            axes[2].fill_between(*low, high[1], color=style["color"], alpha=0.2, lw=0)
    axes[0].set(xlabel="environment steps", title="test return")
    axes[1].set(xlabel="environment steps", title="test success", ylim=(-0.05, 1.05))
    axes[2].set(
        xlabel="environment steps",
        title="λ over visited states (mean, 10-90 %)",
        ylim=(-0.05, 1.05),
    )
    for axis in axes[:3]:
        axis.grid(alpha=0.3)
        if axis.has_data():
            axis.legend(fontsize=8)
    walked = [run for run in runs if run.folder in paths]
    for axis, run in zip(axes[3:], walked, strict=True):
        draw_maze(axis, get_layout(maze_layout(get_task(run.task))))
        for walk in paths[run.folder]:
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


def _column(rows: Sequence[Row], name: str) -> tuple[list[float], list[float]]:
    kept = [(row["step"], row[name]) for row in rows if row[name] is not None]
    return [float(s or 0) for s, _ in kept], [float(v or 0) for _, v in kept]


def _line(axis: Axes, rows: Sequence[Row], name: str, style: dict[str, str]) -> None:
    steps, values = _column(rows, name)
    if steps:
        axis.plot(steps, values, lw=1.4, **style)  # pyright: ignore[reportArgumentType]
