"""Estimates one below the other: bars or points, with whiskers for their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sfp.analysis.report.chart import WIDTH, brief, look, ticks
from sfp.analysis.stats import Estimate, shown

ROW, PAD, FOOT = 36, 8, 34


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
    inner = WIDTH - 2 * PAD
    floor = PAD + ROW * len(rows)

    def across(value: float) -> float:
        return PAD + (value - low) / (high - low) * inner

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
        value, middle = float(found.value), top + 25
        drawn = min(max(value, low), high) if value == value else low
        classes = look(labels.index(label)) if label in labels else "c6"
        number = shown(value) + (f" (n = {found.n})" if found.low is None else "")
        parts.append(
            f'<g class="m {classes}"><text class="label" x="{PAD}" y="{top + 13}">'
            f'{escape(_cut(label))}</text><text class="value" x="{WIDTH - PAD}" '
            f'y="{top + 13}" text-anchor="end">{number}</text>'
        )
        if mark is None:
            left, right = sorted((across(0.0), across(drawn)))
            parts.append(
                f'<rect class="bar" x="{left:.1f}" y="{top + 18}" '
                f'width="{max(1.0, right - left):.1f}" height="13"/>'
            )
        else:
            parts.append(
                f'<circle class="dot" cx="{across(drawn):.1f}" cy="{middle}" r="4.5"/>'
            )
        if found.low is not None and found.high is not None:
            ends = [f"{across(float(end)):.1f}" for end in (found.low, found.high)]
            parts.append(
                f'<path class="whisker" d="M{ends[0]} {middle - 5}v10m0-5H{ends[1]}'
                'm0-5v10"/>'
            )
        parts.append(f"<title>{escape(label)}: {escape(str(found))}</title></g>")
    height = floor + FOOT
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}"
        f'<text class="name" x="{WIDTH / 2:.0f}" y="{height - 4}" '
        f'text-anchor="middle">{escape(x_name)}</text></svg>'
    )


def _span(found: Sequence[Estimate]) -> tuple[float, float]:
    ends = [float(one.value) for one in found]
    for one in found:
        if one.low is not None and one.high is not None:
            ends += [float(one.low), float(one.high)]
    ends = [end for end in ends if abs(end) < float("inf")]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.02 * (high - low)
    return (low - room if low < 0 else low, high + room) if room else (0.0, 1.0)


def _cut(label: str) -> str:
    return label if len(label) <= 36 else label[:35] + "…"
