"""Learning curves as SVG: readable as they stand; the page's script adds hovering."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from sfp.exploration.figures import COLOURS, STYLES
from sfp.report.groups import Curve

WIDTH, HEIGHT = 400, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 36
SMALLEST = 1e-100
"""A range that is shorter has no ticks."""


@dataclass(frozen=True)
class Axes:
    """The ranges of a chart's axes, and where values lie in it."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: Any) -> np.ndarray:
        """Pixels from the left."""
        low, high = self.x
        share = (np.asarray(values) - low) / (high - low)
        return np.asarray(LEFT + share * (WIDTH - LEFT - RIGHT))

    def down(self, values: Any) -> np.ndarray:
        """Pixels from the top."""
        low, high = self.y
        share = (high - np.asarray(values)) / (high - low)
        return np.asarray(TOP + share * (HEIGHT - TOP - BOTTOM))


@dataclass(frozen=True)
class Chart:
    """An SVG, and what the script needs to answer a pointer."""

    svg: str
    data: dict[str, Any]


def look(i: int) -> str:
    """The classes that give a method its colour and style, by its index."""
    return f"m{i} c{i % len(COLOURS)} d{i % len(STYLES)}"


def line_chart(
    curves: Sequence[Curve],
    labels: Sequence[str],
    *,
    title: str,
    x_name: str = "environment steps",
    unit: bool = False,
    least: float = 0.0,
    mark: float | None = None,
) -> Chart:
    """Curves with bands; the runs behind them are there but hidden.

    The order of `labels` decides colours, `title` is for readers who cannot see the
    chart, and the axis reaches at least as high as `least`. A dashed line stands at
    `mark`, the return that counts as solved.
    """
    heights = (0.0, 1.04) if unit else _heights(curves, max(least, mark or 0.0))
    steps = [x for one in curves for x in (one.x, *(x for x, _ in one.seeds.values()))]
    axes = Axes(span(steps), heights)
    layers, series = [], []
    for one in curves:
        i = labels.index(one.label)
        layers.append(f'<g class="m {look(i)}">{_layer(one, axes)}</g>')
        series.append({"m": i, "x": numbers(one.x), **_values(one)})
    if mark is not None and heights[0] <= mark <= heights[1]:
        y = float(axes.down(mark))
        layers.append(
            f'<g><title>solved from {brief(mark)} on</title><line class="mark" '
            f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/></g>'
        )
    svg = frame(axes, "".join(layers), title, x_name)
    return Chart(svg, {"kind": "line", **_ranges(axes), "series": series})


def phase_chart(
    found: Sequence[tuple[str, np.ndarray, np.ndarray, np.ndarray]],
    labels: Sequence[str],
    *,
    title: str,
) -> Chart:
    """λ against return: a path through training per method, a dot per evaluation."""
    axes = Axes((0.0, 1.0), span([values for *_, values in found], room=0.04))
    layers, series = [], []
    for label, steps, mixing, values in found:
        i, x, y = labels.index(label), axes.across(mixing), axes.down(values)
        dots = "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.4"/>'
            for a, b in zip(x, y, strict=True)
        )
        end = f'<circle class="end" cx="{x[-1]:.1f}" cy="{y[-1]:.1f}" r="5"/>'
        path = f'<polyline class="mean" points="{points(x, y)}"/>'
        layers.append(f'<g class="m {look(i)}">{path}{dots}{end}</g>')
        series.append(
            {"m": i, "x": numbers(mixing), "v": numbers(values), "t": numbers(steps)}
        )
    svg = frame(axes, "".join(layers), title, "λ: how much the prior is trusted")
    return Chart(svg, {"kind": "phase", **_ranges(axes), "series": series})


def frame(axes: Axes, inside: str, title: str, x_name: str) -> str:
    """Grid, ticks and names around the drawing."""
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for tick in ticks(*axes.y, 4):
        y = float(axes.down(tick))
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{brief(tick)}</text>"
        )
    for tick in ticks(*axes.x, 5):
        x = float(axes.across(tick))
        end = "end" if x > right - 12 else "middle"
        x = right if end == "end" else x
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{floor + 15}" text-anchor="{end}">'
            f"{brief(tick)}</text>"
        )
    parts.append(
        f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{floor}" y2="{floor}"/>'
        f'<text class="name" x="{(LEFT + right) / 2:.0f}" y="{HEIGHT - 4}" '
        f'text-anchor="middle">{escape(x_name)}</text>'
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" tabindex="0" '
        f'aria-label="{escape(title)}">{"".join(parts)}{inside}</svg>'
    )


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers within a range, about `count` of them."""
    step = tick_size(low, high, count)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_size(low: float, high: float, count: int) -> float:
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)


def brief(value: float) -> str:
    """A tick's number: 20k, 1.5M."""
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{mark}"
    return f"{value:g}"


def numbers(values: Iterable[float]) -> list[float | int | None]:
    """For JSON: five digits, whole numbers without a point, none for what is not."""
    found: list[float | int | None] = []
    for value in values:
        if not math.isfinite(value):
            found.append(None)
        else:
            short = float(f"{value:.5g}") if abs(value) < 1e5 else round(float(value))
            found.append(int(short) if float(short).is_integer() else short)
    return found


def points(x: np.ndarray, y: np.ndarray) -> str:
    kept = np.isfinite(y)
    return " ".join(
        f"{a:.1f},{b:.1f}" for a, b in zip(x[kept], y[kept], strict=True)
    ).replace(".0,", ",")


def _layer(one: Curve, axes: Axes) -> str:
    x, found = axes.across(one.x), one.found
    band = ""
    if found.low is not None and found.high is not None:
        around = np.concatenate([x, x[::-1]])
        ends = np.concatenate([found.high, found.low[::-1]])
        shape = points(around, axes.down(ends))
        band = f'<polygon class="band" points="{shape}"/>'
    seeds = "".join(
        f'<polyline class="seed s{seed}" '
        f'points="{points(axes.across(steps), axes.down(values))}"/>'
        for seed, (steps, values) in one.seeds.items()
    )
    mean = f'<polyline class="mean" points="{points(x, axes.down(found.value))}"/>'
    if len(x) == 1 and np.isfinite(found.value[0]):
        y = float(axes.down(found.value[0]))
        mean = f'<circle cx="{x[0]:.1f}" cy="{y:.1f}" r="3"/>'
    return band + seeds + mean


def _values(one: Curve) -> dict[str, Any]:
    found = one.found
    held: dict[str, Any] = {"v": numbers(found.value), "n": found.n}
    if found.low is not None and found.high is not None:
        held |= {"lo": numbers(found.low), "hi": numbers(found.high)}
    held["seeds"] = {
        seed: {"v": numbers(values)}
        | ({} if np.array_equal(steps, one.x) else {"x": numbers(steps)})
        for seed, (steps, values) in one.seeds.items()
    }
    return held


def _ranges(axes: Axes) -> dict[str, Any]:
    box = [LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM]
    return {"xr": list(map(float, axes.x)), "yr": list(map(float, axes.y)), "box": box}


def _heights(curves: Sequence[Curve], least: float) -> tuple[float, float]:
    values = [np.full(1, least), *(one.found.value for one in curves)]
    values += [v for one in curves for _, v in one.seeds.values()]
    ends = [end for one in curves for end in (one.found.low, one.found.high)]
    low, high = span([*values, *(end for end in ends if end is not None)])
    step = tick_size(low, high, 4)
    # To the next tick, so that the curve lies below the last number of the axis.
    return step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)


def span(values: Sequence[np.ndarray], *, room: float = 0.0) -> tuple[float, float]:
    """A range around all finite values, zero included, with some room, never empty."""
    joined = np.concatenate([np.ravel(v) for v in values])
    joined = joined[np.isfinite(joined)]
    low, high = (joined.min(), joined.max()) if len(joined) else (0.0, 1.0)
    low, high = float(min(0.0, low)), float(max(0.0, high))
    if high - low < SMALLEST:
        return low, low + 1.0
    room *= high - low
    return (low - room if low < 0 else low), high + room
