"""From a results folder to a report on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfp.files import atomic_file
from sfp.report.comparison import Comparison, compare
from sfp.report.curves import Walk, is_maze, play_walks
from sfp.report.experiment import Section, check_inside
from sfp.report.html.film import Filmed, can_film, play_film
from sfp.report.html.page import page
from sfp.report.html.panels import Replays
from sfp.report.records import RunRecord
from sfp.report.results import UNREADABLE, read_results, reason
from sfp.report.stats import PAPER, Protocol

EPISODES = 5
FILMS = 12
"""Films at most: each plays an episode, and takes some hundred kilobytes."""


@dataclass(frozen=True)
class Written:
    """The report's path, what every section shows, and what was left out or is odd."""

    path: Path
    compared: list[tuple[Section, Comparison]]
    warnings: list[str]


def write_report(
    root: Path,
    out: Path,
    *,
    protocol: Protocol = PAPER,
    replays: bool = True,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Written:
    """Write the report of a results folder, whole or not at all.

    Args:
        root: of `sfp reproduce`, or any folder with runs in it.
        out: the HTML file.
        protocol: smoothing and intervals.
        replays: play test episodes of solved tasks, to be watched.
        seed: of the bootstrap, which each section draws for itself: what else lies in
            the folder does not change its intervals.
        progress: hears how many replays are done, of how many.
    """
    results = read_results(root)
    warnings = list(results.warnings)
    compared = [
        (section, compare(section, np.random.default_rng(seed), protocol))
        for section in results.sections
    ]
    chosen = [_shown(found) if replays else [] for _, found in compared]
    wanted = {run.folder: run for runs in chosen for run in runs}
    played: dict[Path, list[Walk] | Filmed] = {}
    films = [folder for folder, run in wanted.items() if not is_maze(run)]
    if len(films) > FILMS:
        left = f"{len(films) - FILMS} of {len(films)} runs are not filmed"
        warnings.append(f"{left}: a report holds at most {FILMS} films.")
    for i, (folder, run) in enumerate(wanted.items()):
        progress(i, len(wanted))
        if folder in films[FILMS:]:
            continue
        try:
            policy = folder / "policy"
            check_inside(root, policy, *policy.rglob("*"))
            maze = folder not in films
            played[folder] = play_walks(run, EPISODES) if maze else play_film(run)
        except UNREADABLE as error:
            warnings.append(f"no replay of {reason(root, folder, error)}")
    seen: list[Replays] = [
        [(run, played[run.folder]) for run in runs if run.folder in played]
        for runs in chosen
    ]
    whole = [(*one, watched) for one, watched in zip(compared, seen, strict=True)]
    content = page(results, whole, warnings, protocol)
    with atomic_file(out) as draft:
        draft.write_bytes(content.encode(errors="replace"))
    return Written(out, compared, warnings)


def _shown(found: Comparison) -> list[RunRecord]:
    """The first run of each group that solved its task and can be played."""
    chosen = []
    for group in found.groups:
        solved = [run for run in group.runs if run.solved_at]
        chosen += [run for run in solved[:1] if is_maze(run) or can_film(run)]
    return chosen
