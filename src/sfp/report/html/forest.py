"""Estimates one below the other: bars or points, with whiskers for their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from sfp.report.html.chart import WIDTH, brief, look, ticks
from sfp.report.stats import Estimate, shown

ROW, PAD, FOOT = 36, 8, 34
Scale = Callable[[float], float]
"""From a value to pixels from the left."""


def forest(
    rows: Sequence[tuple[str, Estimate]],
    labels: Sequence[str],
    *,
    title: str,
    x_name: str,
    mark: float | None = None,
    span: tuple[float, float] | None = None,
) -> str:
    """A chart with a row per label.

    Args:
        rows: labels and what was found.
        labels: all methods of the section: their order decides colours.
        title: for those who cannot see it.
        x_name: below the axis.
        mark: draw points around this value instead of bars from zero.
        span: the range of the axis; by default all of the rows.
    """
    low, high = span or _span([found for _, found in rows])
    floor = PAD + ROW * len(rows)

    def across(value: float) -> float:
        return PAD + (value - low) / (high - low) * (WIDTH - 2 * PAD)

    parts = []
    for tick in ticks(low, high, 5):
        x = across(tick)
        anchor = "start" if x < PAD + 9 else "end" if x > WIDTH - PAD - 9 else "middle"
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{PAD}" y2="{floor}"/>'
            f'<text class="tick" x="{x:.1f}" y="{floor + 14}" '
            f'text-anchor="{anchor}">{brief(tick)}</text>'
        )
    if mark is not None:
        x = f"{across(mark):.1f}"
        parts.append(f'<line class="mark" x1="{x}" x2="{x}" y1="{PAD}" y2="{floor}"/>')
    for i, (label, found) in enumerate(rows):
        top = PAD + ROW * i
        drawn = _point(found, across, top) if mark else _bar(found, across, top)
        parts.append(
            f'<g class="m {look(labels.index(label))}"><title>{escape(label)}: '
            f"{escape(str(found))}</title>{_words(label, found, top)}{drawn}"
            f"{_whisker(found, across, top)}</g>"
        )
    height = floor + FOOT
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}"
        f'<text class="name" x="{WIDTH / 2:.0f}" y="{height - 4}" '
        f'text-anchor="middle">{escape(x_name)}</text></svg>'
    )


def _words(label: str, found: Estimate, top: int) -> str:
    cut = label if len(label) <= 36 else label[:35] + "…"
    number = shown(float(found.value))
    number += f" (n = {found.n})" if found.low is None else ""
    return (
        f'<text class="label" x="{PAD}" y="{top + 13}">{escape(cut)}</text>'
        f'<text class="value" x="{WIDTH - PAD}" y="{top + 13}" text-anchor="end">'
        f"{number}</text>"
    )


def _bar(found: Estimate, across: Scale, top: int) -> str:
    value = float(found.value)
    if not math.isfinite(value):
        return ""
    left, right = sorted((across(0.0), across(value)))
    return (
        f'<rect class="bar" x="{left:.1f}" y="{top + 18}" '
        f'width="{max(1.0, right - left):.1f}" height="13"/>'
    )


def _point(found: Estimate, across: Scale, top: int) -> str:
    value = float(found.value)
    if not math.isfinite(value):
        return ""
    return f'<circle class="dot" cx="{across(value):.1f}" cy="{top + 25}" r="4.5"/>'


def _whisker(found: Estimate, across: Scale, top: int) -> str:
    if found.low is None or found.high is None:
        return ""
    left, right = float(found.low), float(found.high)
    if not math.isfinite(left + right):
        return ""
    return (
        f'<path class="whisker" d="M{across(left):.1f} {top + 20}v10m0-5'
        f'H{across(right):.1f}m0-5v10"/>'
    )


def _span(found: Sequence[Estimate]) -> tuple[float, float]:
    """A range around all finite values and intervals, zero included, never empty."""
    ends = [0.0]
    for one in found:
        known = (one.value, one.low, one.high)
        ends += [float(end) for end in known if end is not None]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(ends), max(ends)
    room = 0.02 * (high - low)
    return (low - room if low < 0 else low, high + room) if room else (0.0, 1.0)
