"""Estimates one below the other: bars or points, with whiskers for their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from sfp.report.html.chart import WIDTH, brief, look, span, ticks
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
) -> str:
    """A chart with a row per label.

    With a `mark`, points are drawn around this value in the middle of the axis, instead
    of bars from zero. Negative values are points too.
    """
    floor = PAD + ROW * len(rows)
    low, high = 0.0, 2 * (mark or 0.0)
    if mark is None:
        known = [end for _, one in rows for end in (one.value, one.low, one.high)]
        low, high = span([end for end in known if end is not None], room=0.02)
    # A bar from zero says "so much of it", which a negative return is not.
    is_point = mark is not None or any(float(one.value) < 0 for _, one in rows)

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
        drawn = _value(found, across, top, is_point=is_point)
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


def _value(found: Estimate, across: Scale, top: int, *, is_point: bool) -> str:
    value = float(found.value)
    if not math.isfinite(value):
        return ""
    if is_point:
        return f'<circle class="dot" cx="{across(value):.1f}" cy="{top + 25}" r="4.5"/>'
    left, right = sorted((across(0.0), across(value)))
    return (
        f'<rect class="bar" x="{left:.1f}" y="{top + 18}" '
        f'width="{max(1.0, right - left):.1f}" height="13"/>'
    )


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
