"""`sfp curves`: how runs went."""

from __future__ import annotations

from pathlib import Path

import tyro

from sfp.cli.console import show


def curves(
    runs: tyro.conf.Positional[tuple[Path, ...]],
    *,
    out: Path = Path("figures"),
    json: bool = False,
) -> None:
    """Draw return, success and λ of one or more runs, finished or still going.

        sfp curves runs/maze runs/maze-sac

    Args:
        runs: folders that `sfp train` wrote.
        out: folder for the picture.
        json: print one JSON document.
    """
    from sfp.analysis.curves import (
        curves_figure,
        is_maze,
        read_run,
        summarise,
        walks_of,
    )
    from sfp.analysis.figures import save
    from sfp.compute import keep_compiled, use_threads
    from sfp.errors import SfpError

    if not runs:
        raise SfpError("expected the folder of a run: sfp curves runs/...")
    use_threads(1)
    keep_compiled()
    records = [read_run(folder) for folder in dict.fromkeys(runs)]
    paths = {run.folder: walks_of(run) for run in records if is_maze(run)}
    file = save(curves_figure(records, paths), out / "curves.png")
    show(
        [summarise(run) for run in records],
        json=json,
        notes=[f"Written: {file}"],
        figure=str(file),
    )
