"""Test episodes in a point-maze, to be watched; without a script, their whole paths."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from sfp.envs.layout import Layout
from sfp.report.curves import Walk
from sfp.report.html.chart import Chart

AFTER = 15
"""Steps that are shown after the goal is met: there is nothing new to see later."""


def replay(layout: Layout, walks: Sequence[Walk], title: str) -> Chart:
    """A maze with test episodes of one policy that run at the same time."""
    shown = [_cut(walk) for walk in walks]
    width, height = layout.high - layout.low
    thick = max(width, height) / 100
    goals = {tuple(np.round(walk.goal, 2)) for walk in walks}
    marks = "".join(
        f'<circle class="goal" cx="{x:g}" cy="{-y:g}" r="{max(0.7, 1.8 * thick):.2f}"/>'
        for x, y in sorted(goals)
    )
    paths = "".join(
        f'<polyline class="path" stroke-width="{thick:.2f}" points="{_points(path)}"/>'
        for path in shown
    )
    dots = "".join(
        f'<circle class="walker" r="{1.6 * thick:.2f}" cx="{path[-1, 0]:.2f}" '
        f'cy="{-path[-1, 1]:.2f}"/>'
        for path in shown
    )
    margin = 2 * thick
    box = layout.low[0] - margin, -layout.high[1] - margin
    svg = (
        f'<svg class="maze" viewBox="{box[0]:g} {box[1]:g} {width + 2 * margin:g} '
        f'{height + 2 * margin:g}" role="img" aria-label="{escape(title)}">'
        f'<path class="free" d="{_free(layout)}"/>{marks}{paths}{dots}</svg>'
    )
    flat = [np.round(path, 2).ravel().tolist() for path in shown]
    return Chart(svg, {"kind": "replay", "paths": flat})


def outcome(walks: Sequence[Walk]) -> str:
    met = [walk.reached for walk in walks if walk.reached is not None]
    if not met:
        return f"none of {len(walks)} test episodes reaches the goal"
    steps = f"after {min(met)}" + (f" to {max(met)}" if max(met) > min(met) else "")
    return f"{len(met)} of {len(walks)} test episodes reach the goal, {steps} steps"


def path_rows(walks: Sequence[Walk]) -> list[dict[str, int | float]]:
    """Where each episode is at every step that is shown."""
    return [
        {"episode": k, "step": t, "x": float(x), "y": float(y)}
        for k, walk in enumerate(walks)
        for t, (x, y) in enumerate(np.round(_cut(walk), 2))
    ]


def _cut(walk: Walk) -> np.ndarray:
    end = len(walk.path) if walk.reached is None else walk.reached + AFTER + 1
    return walk.path[:end]


def _points(path: np.ndarray) -> str:
    return " ".join(f"{x:.2f},{-y:.2f}" for x, y in path)


def _free(layout: Layout) -> str:
    """The free cells as rectangles, one for each run of cells in a row."""
    parts = []
    left, bottom = layout.low
    for j, row in enumerate(layout.free.T):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
        for first, last in edges.reshape(-1, 2):
            parts.append(f"M{left + first:g} {-(bottom + j):g}h{last - first}v-1H")
            parts.append(f"{left + first:g}z")
    return "".join(parts)
