"""`sfp data`: look at recordings before learning from them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sfp.cli.console import show


def data(
    dataset: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET")],
    *,
    columns: tuple[Literal["observations", "goals", "images"], ...] = (),
    env: str | None = None,
    drop_short: bool = False,
    keep: float = 1.0,
    uniform: float = 0.0,
    seed: int = 0,
    out: Path = Path("figures"),
    json: bool = False,
) -> None:
    """Describe a dataset, and warn of what will hurt a density model.

    It reads Minari datasets, LeRobot v2 and v3 folders, files of HDF5 (D4RL,
    robomimic), npz, npy and CSV, and folders with one such file per episode:
        sfp data my/recordings

    Actions and episode boundaries are enough. Other columns are read only if you ask
    for them.

    Args:
        dataset: a Minari id, or the path of a folder or file.
        columns: columns to read besides the actions.
        env: take the action bounds from this environment (a task or a Gymnasium id), if
            the recordings do not state them.
        drop_short: leave out episodes of fewer than two actions.
        keep: keep only this share of the episodes (the paper: 0.75, 0.5, 0.25).
        uniform: replace this share of the episodes by uniform random actions.
        seed: decides which episodes --keep and --uniform choose.
        out: folder for the picture.
        json: print one JSON document.
    """
    import numpy as np

    from sfp.data.sources import load
    from sfp.envs.adapter import bounds_of
    from sfp.errors import at_least
    from sfp.exploration.description import describe
    from sfp.exploration.figures import data_figure, save

    at_least(0, seed=seed)
    trajectories = load(dataset, columns=columns, drop_short=drop_short)
    if env is not None:
        trajectories = trajectories.bounded(*bounds_of(env))
    rng = np.random.default_rng([seed, 3])  # as `sfp fit` draws
    if keep != 1.0:
        trajectories = trajectories.keep(keep, rng)
    if uniform:
        trajectories = trajectories.replace_by_uniform(uniform, rng)
    found = describe(trajectories)
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", dataset).strip("-.")[-100:]
    picture = save(data_figure(trajectories), out / f"data-{slug}.png")
    head = [f"{k:12} {'-' if v is None else v}" for k, v in found.summary.items()]
    warnings = [f"warning: {line}" for line in found.warnings]
    show(
        found.rows,
        json=json,
        title="actions, per dimension",
        head=head,
        notes=[*warnings, f"Picture: {picture}"],
        summary=found.summary,
        warnings=found.warnings,
        figures=[str(picture)],
    )
