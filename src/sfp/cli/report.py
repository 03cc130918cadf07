"""`sfp report`: everything that runs show, in one file."""

from __future__ import annotations

import warnings as system
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sfp.cli.console import show
from sfp.progress import progress


def report(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
    *,
    out: Path | None = None,
    figures: Path | None = None,
    window: int = 5,
    interval: Literal["percentile", "basic"] = "percentile",
    replays: Annotated[
        bool,
        tyro.conf.arg(
            help="leave out the replays: play no test episodes.",
            help_behavior_hint="",
        ),
    ] = True,
    json: bool = False,
) -> None:
    """Write one HTML file about all runs in a folder; it opens without a network.

    The file has learning curves to hover over, final performance with 95 % intervals,
    λ, replays of trained policies, every configuration, and the numbers behind each
    figure as CSV:
        sfp report runs
        sfp report reproduced --figures reproduced/figures

    Args:
        folder: a folder with runs of `sfp train` or `sfp reproduce`, or with tables
            that an earlier report wrote with --figures.
        out: the HTML file; by default report.html in the folder.
        figures: also write the figures as PNG and SVG, for print, into this folder.
        window: number of evaluations that curves are smoothed over.
        interval: kind of bootstrap interval; the paper uses `basic`.
        json: print one JSON document.
    """
    from sfp.compute import keep_compiled, use_threads

    use_threads(1)
    keep_compiled()

    from sfp.files import check_writable
    from sfp.report.comparison import ends
    from sfp.report.html import write_report
    from sfp.report.plots import save_figures
    from sfp.report.saved import save_section
    from sfp.report.stats import Protocol

    if figures is not None:
        check_writable(figures)
    protocol = Protocol(window=window, kind=interval)
    path = out or folder / "report.html"
    with progress("reading runs", 100) as bar:

        def playing(done: int, total: int) -> None:
            bar(100 * done // total, label="playing test episodes")

        written = write_report(
            folder, path, protocol=protocol, replays=replays, progress=playing
        )
    for line in written.warnings:
        system.warn(line, stacklevel=1)
    files = [path]
    if figures is not None:
        for section, found in written.compared:
            files += save_figures(found, figures / section.name)
            files.append(save_section(section, figures / section.name))
    rows = [
        {
            "section": section.name,
            "task": final.task,
            "method": final.label,
            "return": float(final.found.value),
            **ends(final.found),
            "n": final.n,
            "solved": final.solved,
            "solved_at": None if final.solved_at is None else int(final.solved_at),
        }
        for section, found in written.compared
        for final in found.finals
    ]
    show(
        rows,
        json=json,
        notes=[f"Written: {file}" for file in files],
        files=[str(file) for file in files],
        warnings=written.warnings,
    )
