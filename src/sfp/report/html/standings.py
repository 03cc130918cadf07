"""How methods ended: tables and bars with intervals, and who beats whom."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from sfp.report.comparison import (
    Bars,
    Comparison,
    Final,
    claim_rows,
    ends,
    final_rows,
)
from sfp.report.html.book import PNG, still
from sfp.report.html.chart import look
from sfp.report.html.forest import forest
from sfp.report.html.markup import csv_link, table
from sfp.report.stats import Estimate, shown

DOTS = 12
"""Runs that are shown one by one at a glance."""

VERDICTS = {"holds": "good", "does not": "bad"}
"""What colours a verdict; others are open."""


def standings(found: Comparison, stem: str) -> str:
    made = _times(found, stem) + _finals(found, stem)
    made += _heats(found, stem) + _bars(found, stem) + _against(found, stem)
    return _claims(found, stem) + made


def key(i: int) -> str:
    """A piece of a method's line."""
    return (
        f'<svg class="key {look(i)}" viewBox="0 0 26 10" aria-hidden="true">'
        '<path class="mean" d="M0 5H26"/></svg>'
    )


def glance(found: Comparison) -> str:
    """Who solved what: a dot per run, filled if it solved the task."""
    if not found.finals:
        return ""
    by = {(final.label, final.task): final for final in found.finals}
    rows = []
    for i, label in enumerate(found.labels):
        cells = {task: _cell(by.get((label, task))) for task in found.tasks}
        rows.append({"": f"{key(i)} {escape(label)}"} | cells)
    return f'<div class="glance">{table(rows, raw=list(rows[0]))}</div>'


def _cell(final: Final | None) -> str:
    if final is None:
        return "–"
    said = f"{final.solved} of {final.n} solved"
    dots = said
    if final.n <= DOTS:
        marks = "●" * final.solved + "○" * (final.n - final.solved)
        dots = f'<span class="runs" role="img" aria-label="{said}">{marks}</span>'
    return f"{dots}<small>{shown(final.last)}</small>"


def _claims(found: Comparison, stem: str) -> str:
    if not found.claims:
        return ""
    plain = claim_rows(found)
    rows = [
        {
            "the paper": row["claim"],
            "verdict": _verdict(one.verdict),
            "tested as": one.claim.tested,
            "difference": row["difference"],
            "95 % interval": interval(one.pair.gap) if one.pair else "",
            "n": row["n"],
            "p (Holm)": one.p,
            "of": row["measure"],
            "on": ", ".join(one.pair.tasks if one.pair else one.claim.tasks),
        }
        for row, one in zip(plain, found.claims, strict=True)
    ]
    link = csv_link(plain, f"{stem}-claims")
    listed = table(rows, raw=["95 % interval", "verdict"], by="the paper")
    return f"<h3>Claim by claim {link}</h3>{listed}"


def _verdict(said: str) -> str:
    return f'<span class="{VERDICTS.get(said, "open")}">{said}</span>'


def interval(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f'<span class="unsure">n = {found.n}</span>'
    low, high = shown(float(found.low)), shown(float(found.high))
    return f'<span class="interval">[{low}, {high}]</span>'


def _finals(found: Comparison, stem: str) -> str:
    if not found.finals:
        return ""
    plain = final_rows(found)
    rows = [
        {
            "task": row["task"],
            "method": row["method"],
            "final return": row["final return"],
            "95 % interval": interval(final.found),
            "last": final.last,
            "success": None if final.success is None else f"{final.success:.0%}",
            "solved": final.tally,
            "solved at": row["solved at"],
            "steps": row["steps"] if final.finished else f"{final.steps:,} so far",
            "n": final.n,
        }
        for row, final in zip(plain, found.finals, strict=True)
    ]
    link = csv_link(plain, f"{stem}-final")
    listed = table(rows, raw=["95 % interval"], by="task")
    made = f"<h3>Final performance {link}</h3>{listed}"
    if found.everywhere and found.totals["mean"]:
        means, iqms = found.totals["mean"], found.totals["IQM"]
        over = [
            {
                f"over {found.everywhere}": label,
                "mean return": float(mean.value),
                "95 % interval": interval(mean),
                "IQM": float(iqm.value),
                "95 % interval ": interval(iqm),
                "n": mean.n,
            }
            for (label, mean), iqm in zip(means.items(), iqms.values(), strict=True)
        ]
        made += table(over, raw=["95 % interval", "95 % interval "])
    return made


def _times(found: Comparison, stem: str) -> str:
    """Which runs solved their task when, if they were to end there."""
    if not found.times:
        return ""
    rows = [one.row() for one in found.times]
    return (
        f"<h3>Time until solved {csv_link(rows, f'{stem}-times')}</h3>"
        "<p>Steps, medians over runs; a run that did not solve its task counts as its "
        f"last step. p: that chance alone makes {escape(found.reference)} so much "
        f"sooner, not corrected.</p>{table(rows, by='task')}"
    )


def _heats(found: Comparison, stem: str) -> str:
    """Final returns over two parameters: darker is more."""
    heats = found.heats
    if not heats:
        return ""
    most = max(float(np.nanmax(heat.values, initial=0.0)) for heat in heats)
    figures = []
    for heat in heats:
        rows = [
            {f"{heat.axes[0]} \\ {heat.axes[1]}": escape(row)}
            | {c: _warm(v, most) for c, v in zip(heat.columns, line, strict=True)}
            for row, line in zip(heat.rows, heat.values, strict=True)
        ]
        title = f"{heat.label}: {heat.task}"
        figures.append(still(table(rows, raw=list(rows[0])), title, ""))
    cells = [cell for heat in heats for cell in heat.cells()]
    said = " and ".join(heats[0].axes)
    return (
        f"<h3>Final return by {escape(said)} {csv_link(cells, f'{stem}-heat')}</h3>"
        f'<div class="charts heat">{"".join(figures)}</div>'
    )


def _warm(value: float, most: float) -> str:
    if not np.isfinite(value):
        return "–"
    share = max(0.0, value) / most if most > 0 else 0.0
    return f'<span style="--share:{share:.2f}">{shown(float(value))}</span>'


def _bars(found: Comparison, stem: str) -> str:
    figures = [
        still(
            forest(rows, found.labels, title=f"final return, {name}", x_name="return"),
            name,
            csv_link(_rows(rows), f"{stem}-bars-{name}") + PNG,
        )
        for name, rows in found.bars.items()
    ]
    if not figures:
        return ""
    return f'<div class="charts">{"".join(figures)}</div>'


def _rows(rows: Bars) -> list[dict[str, Any]]:
    return [
        {"method": label, "value": float(one.value), **ends(one), "n": one.n}
        for label, one in rows
    ]


def _against(found: Comparison, stem: str) -> str:
    if not found.against:
        return ""
    rows = [
        {
            "other": label,
            "tasks": len(one.pair.tasks),
            "more return": float(one.pair.gap.value),
            "95 % interval": interval(one.pair.gap),
            "n": one.pair.gap.n,
            "p (Holm)": one.p,
            "verdict": _verdict(one.verdict),
        }
        for label, one in found.against.items()
        if one.pair is not None
    ]
    title = f"Probability that {found.reference} beats the other"
    figure = still(
        forest(
            found.beaten,
            found.labels,
            title=title,
            x_name="0.5 is no difference",
            mark=0.5,
        ),
        title,
        csv_link(_rows(found.beaten), f"{stem}-improvement") + PNG,
    )
    listed = table(rows, raw=["95 % interval", "verdict"])
    return (
        f"<h3>{escape(found.reference)} against the others</h3>"
        f"<p>The claim: {escape(found.reference)} ends with more return, on the tasks "
        f'that both have.</p><div class="charts">{figure}{listed}</div>'
    )
