"""What a results folder holds: experiments and their runs, or just runs.

Nothing outside the folder is read, and what cannot be read is named and left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sfp.errors import SfpError
from sfp.files import CHECKSUMS
from sfp.report.experiment import (
    EXPERIMENT,
    Attachment,
    Section,
    check_inside,
    read_experiment,
)
from sfp.report.records import RunRecord, read_run, tell_apart
from sfp.report.saved import SAVED, read_section
from sfp.training.folder import CONFIG, FINISHED, VERSIONS

RUN_FILES = {CONFIG, VERSIONS, FINISHED, "train.csv", "eval.csv"}
"""Two of them make a folder a run's, perhaps a damaged one."""

DRAWN = {".png", ".svg", ".csv", ".json", ".html", ".mp4", ".gif", ".webp"}
"""Files that a folder of figures has; a run that has hardly begun has others."""

UNREADABLE = (SfpError, OSError, ValueError, ArithmeticError, RecursionError)
"""What reading a damaged or foreign folder may raise."""


@dataclass(frozen=True)
class Results:
    """The sections of a folder, and warnings about what was left out."""

    root: Path
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]


def read_results(root: Path) -> Results:
    """Read experiments and runs below a folder; damaged ones become warnings."""
    if not root.is_dir():
        raise SfpError(f"{root} is no folder: expected one with runs of `sfp train`.")
    warnings: list[str] = []
    folders, experiments, explored, saved = _search(root, warnings)
    runs: dict[Path, RunRecord] = {}
    held = (*sorted(RUN_FILES), "timing.csv", CHECKSUMS)
    for folder in folders:
        try:
            check_inside(root, *(folder / name for name in held))
            runs[folder] = read_run(folder)
        except UNREADABLE as error:
            warnings.append(f"left out {reason(root, folder, error)}")
    unverified = [run for run in runs.values() if not run.verified]
    if unverified:
        warnings.append(
            f"{len(unverified)} of {len(runs)} runs are unverified: an earlier version "
            f"wrote them without {CHECKSUMS}."
        )
    sections, claimed = [], set()
    for path in experiments or ([] if folders else saved):
        try:
            if path.name == SAVED:
                section = read_section(root, path, warnings)
            else:
                section = read_experiment(root, path, runs, warnings)
        except UNREADABLE as error:
            warnings.append(f"left out {reason(root, path, error)}")
            continue
        name = _unique(section.name, [other.name for other in sections])
        sections.append(replace(section, name=name))
        claimed |= {run.folder for run in section.runs}
    others = [run for folder, run in runs.items() if folder not in claimed]
    if others or (explored and not sections):
        title = "Other runs" if sections else root.resolve().name or "Runs"
        attached = [] if sections else explored
        sections.append(
            Section(
                name=_unique(title, [section.name for section in sections]),
                title=title,
                runs=tuple(tell_apart(others)),
                tables=_attach(attached, ".csv"),
                figures=_attach(attached, ".png"),
            )
        )
    if not sections:
        left = f" ({warnings[0]})" if warnings else ""
        raise SfpError(
            f"there is no run in {root}{left}: expected folders that `sfp train` or "
            "`sfp reproduce` wrote."
        )
    return Results(root, tuple(sections), tuple(warnings))


def _search(
    root: Path, warnings: list[str]
) -> tuple[list[Path], list[Path], list[Path], list[Path]]:
    """Runs, experiments, explorations and saved sections below a folder, in order."""
    runs, experiments, explored, saved, inside = [], [], [], [], []
    drawn: set[Path] = set()

    def closed(error: OSError) -> None:
        warnings.append(f"left out {_short(root, Path(error.filename))}: no access.")

    for place, folders, files in os.walk(root, onerror=closed):
        folders.sort()
        here = Path(place)
        if len(RUN_FILES & set(files)) > 1:
            runs.append(here)
            folders.clear()  # a run holds no other
            continue
        if EXPERIMENT in files:
            experiments.append(here / EXPERIMENT)
        if SAVED in files:
            saved.append(here / SAVED)
        if here.name == "runs":
            inside += [here / name for name in folders]
        if files and all(Path(name).suffix in DRAWN for name in files):
            drawn.add(here)  # as `sfp explore` and `sfp curves` leave them
        names = [name for name in sorted(files) if name.startswith("explore-")]
        explored += [here / name for name in names if not (here / name).is_symlink()]
    held = {above for run in runs for above in (run, *run.parents)} | drawn
    for folder in (folder for folder in inside if folder not in held):
        warnings.append(f"left out {_short(root, folder)}: it holds no run (yet).")
    return runs, experiments, explored, saved


def _attach(files: Sequence[Path], suffix: str) -> tuple[Attachment, ...]:
    """What `sfp explore` left, under names for people."""
    found = []
    named = sorted(files, key=lambda file: (file.parent, file.stem))
    for path in (file for file in named if file.suffix == suffix):
        task = path.stem.removeprefix("explore-")
        title = f"Explorers in {task}"
        if task.endswith("-psd"):
            title = f"Power spectra of their actions in {task.removesuffix('-psd')}"
        found.append(Attachment(path, title))
    return tuple(found)


def _unique(name: str, taken: Sequence[str]) -> str:
    """A name that can stand in an address, and stands for nothing else there.

    What every report has for itself begins with an underscore.
    """
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "section"
    count, made = 1, stem
    while made in taken:
        count += 1
        made = f"{stem}-{count}"
    return made


def _short(root: Path, path: Path) -> str:
    name = str(path.relative_to(root)) if path != root else path.name
    return name.encode(errors="replace").decode()


def reason(root: Path, path: Path, error: Exception) -> str:
    """Which file, and why, without telling where the results lie."""
    said = str(error) if isinstance(error, SfpError) else "it cannot be read."
    named = f"{path} "  # alone, it may be a word of the sentence: "run"
    if os.sep in named or said.startswith(named):
        said = said.replace(named, "it ", -1 if os.sep in named else 1)
    said = said.replace(f"{root}{os.sep}", "")
    return f"{_short(root, path)}: {said}"
