"""`sfp curves`: how runs went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from sfp.cli.console import show


def curves(
    runs: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")
    ],
    *,
    out: Path = Path("figures"),
    json: bool = False,
) -> None:
    """Draw the learning curves of one or more runs: return, success and λ.

    The runs may be finished or still running:
        sfp curves runs/maze runs/maze-sac

    Args:
        runs: folders that `sfp train` wrote.
        out: folder for the figure, the curves as CSV, and a summary as CSV.
        json: print one JSON document.
    """
    from sfp.compute import keep_compiled, use_threads
    from sfp.errors import SfpError

    if not runs:
        raise SfpError("expected the folder of a run: sfp curves runs/...")
    use_threads(1)
    keep_compiled()

    from sfp.exploration.figures import save
    from sfp.report.curves import is_maze, play_walks, runs_figure
    from sfp.report.groups import numbered
    from sfp.report.records import read_runs, summarise, tidy
    from sfp.report.tables import save_csv

    records = read_runs(runs)
    walks = {run.folder: play_walks(run) for run in records if is_maze(run)}
    rows = [summarise(run) for run in records]
    points = [point for run in records for point in tidy(run)]
    files = [
        save(runs_figure(records, walks), out / "curves.png"),
        save_csv(rows, out / "summary.csv"),
        *([save_csv(points, out / "curves.csv")] if points else []),
    ]
    told = {run.label: numbered(run, "mixing_") for run in records}
    show(
        rows,
        json=json,
        notes=[
            *(f"{label}: {which}." for label, which in told.items() if which),
            *(f"Written: {file}" for file in files),
        ],
        figures=[str(file) for file in files],
    )
