"""`sfp view`: look through recordings in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import tyro

from sfp.cli.console import show


def view(
    dataset: tyro.conf.Positional[str],
    *,
    episodes: int = 60,
    images: bool = False,
    drop_short: bool = False,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Write one HTML file about recordings: actions over time, spectra, noise, images.

    It needs no other file and no network:
        sfp view sfp/room/scripted-v0
        sfp view my/recordings --images --out recordings.html

    Args:
        dataset: a Minari id, or the path of a folder or file.
        episodes: shown at most; those that look like noise come first.
        images: show images too, if the recordings hold any.
        drop_short: leave out episodes of fewer than two actions.
        out: the file; by default figures/view-DATASET.html.
        json: print one JSON document.
    """
    from sfp.data.sources import load
    from sfp.errors import at_least
    from sfp.files import atomic_file
    from sfp.report.html.recordings import recordings_page

    at_least(1, episodes=episodes)
    columns = ("images",) if images else ()
    trajectories = load(dataset, columns=columns, drop_short=drop_short)
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", dataset).strip("-.")[-100:]
    target = out or Path("figures") / f"view-{slug}.html"
    page = recordings_page(trajectories, episodes=episodes)
    with atomic_file(target) as draft:
        draft.write_text(page, encoding="utf-8")
    row = {"page": str(target), "episodes": len(trajectories), "bytes": len(page)}
    show([row], json=json, notes=["Open it in a browser."])
