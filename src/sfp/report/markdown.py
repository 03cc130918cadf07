"""A comparison as Markdown tables, for pages and notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfp.files import atomic_file
from sfp.report.claims import MEASURES
from sfp.report.comparison import Comparison, Final, listed
from sfp.report.stats import shown
from sfp.report.times import Times


def save_markdown(found: Comparison, path: Path) -> Path | None:
    """Write the tables of a comparison; None if there is nothing in them."""
    ended = times_table(found.times) if found.times else finals(found)
    tables = [table for table in (ended, claims(found)) if table]
    if not tables:
        return None
    with atomic_file(path) as draft:
        draft.write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    return path


def finals(found: Comparison) -> str:
    """Methods by tasks: final return with its interval, how many solved it and when."""
    if not found.finals:
        return ""
    held = {(final.label, final.task): final for final in found.finals}
    over = found.everywhere
    totals = found.totals["mean"] if over else {}
    rows = []
    for label in found.labels:
        cells = [_cell(held.get((label, task))) for task in found.tasks]
        if over:
            cells.append(str(totals[label]) if label in totals else "-")
        rows.append([label, *cells])
    return table(
        ["method", *found.tasks, *([f"mean over {over}"] if over else [])], rows
    )


def times_table(times: Sequence[Times]) -> str:
    """When runs had solved their tasks; p is that of the reference being sooner."""
    rows = [
        [
            one.task,
            one.label,
            f"{one.solved} of {len(one.each)}",
            *(_steps(n) for n in (one.median, one.ninetieth, one.first, one.after)),
            ", ".join(f"{value:.2f}" for value in one.mixing or ()) or "-",
            one.listed,
            "-" if one.p is None else f"{one.p:.2g}",
        ]
        for one in times
    ]
    head = ["task", "method", "solved", "solved at, median", "90th percentile"]
    head += ["first reward, median", "from there to solved, median"]
    head += ["λ at the first reward, when solved, at the end"]
    return table([*head, "solved at (thousand steps), seed by seed", "p"], rows)


def _steps(count: float | None) -> str:
    return "-" if count is None else f"{count:,.0f}"


def claims(found: Comparison) -> str:
    """What is claimed, what was measured, and the verdict, where there are runs."""
    rows = [
        [
            one.claim.text,
            one.claim.tested,
            listed(one.pair.tasks),
            MEASURES[one.claim.measure],
            str(one.pair.gap),
            str(one.pair.gap.n),
            one.p,
            one.verdict,
        ]
        for one in found.claims
        if one.pair is not None
    ]
    head = ["claim", "tested as", "on", "of", "difference", "n", "p (Holm)", "verdict"]
    return table(head, rows) if rows else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A bar or a line's end in a cell would break the table."""
    lines = [head, ["---"] * len(head), *rows]
    safe = [
        [" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in safe)


def _cell(final: Final | None) -> str:
    if final is None:
        return "-"
    solved = final.tally
    if final.solved_at is not None:
        solved += f" at {int(final.solved_at):,}"
    ends = str(final.found) if final.finished else f"{shown(final.last)} so far"
    return f"{ends}; {solved}"
