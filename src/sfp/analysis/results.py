"""What a results folder holds: experiments and their runs, or just runs.

Nothing outside the folder is read, and what cannot be read is named and left out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfp.analysis.records import RunRecord, read_run, tell_apart
from sfp.errors import SfpError
from sfp.training.folder import CONFIG, FINISHED, VERSIONS

EXPERIMENT = "experiment.json"
FORMAT = 1
RUN_FILES = {CONFIG, VERSIONS, FINISHED, "train.csv", "eval.csv"}
"""Two of them make a folder a run's, perhaps a damaged one."""

RESERVED = ("summary", "runs", "reading", "warnings")
"""Names that every report has for itself."""

WORDS = ("name", "title", "claim", "suite", "scale", "command")


@dataclass(frozen=True)
class Attachment:
    """A table or a picture that was made elsewhere: its file and its title."""

    path: Path
    title: str


@dataclass(frozen=True)
class Section:
    """An experiment, or a folder of runs.

    Attributes:
        name: short and its own, for addresses and folders.
        title: for people.
        claim: what the paper says, if the experiment names it.
        command: that made it.
        runs: those that could be read.
        missing: folders of runs that are not there yet.
        tasks: that are averaged over; empty: all.
        tables: CSV files to show.
        figures: PNG or SVG files to show.
    """

    name: str
    title: str
    claim: str = ""
    command: str = ""
    runs: tuple[RunRecord, ...] = ()
    missing: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    tables: tuple[Attachment, ...] = ()
    figures: tuple[Attachment, ...] = ()


@dataclass(frozen=True)
class Results:
    """All sections of a folder, and what was left out of them."""

    root: Path
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]


def read_results(root: Path) -> Results:
    """Read experiments and runs below a folder; damaged ones become warnings."""
    if not root.is_dir():
        raise SfpError(f"{root} is no folder: expected one with runs of `sfp train`.")
    warnings: list[str] = []
    folders, experiments, explored = _search(root, warnings)
    runs: dict[Path, RunRecord] = {}
    for folder in folders:
        try:
            _check_inside(root, *(folder / name for name in sorted(RUN_FILES)))
            runs[folder] = read_run(folder)
        except (SfpError, OSError, UnicodeDecodeError) as error:
            warnings.append(f"left out {_reason(root, folder, error)}")
    sections, claimed = [], set()
    for path in experiments:
        try:
            section = _read_experiment(root, path, runs, warnings)
        except (SfpError, RecursionError) as error:
            warnings.append(f"left out {_reason(root, path, error)}")
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
) -> tuple[list[Path], list[Path], list[Path]]:
    """Run folders, experiments and explorations below a folder, in order."""
    runs, experiments, explored = [], [], []

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
        names = [name for name in sorted(files) if name.startswith("explore-")]
        explored += [here / name for name in names if not (here / name).is_symlink()]
    return runs, experiments, explored


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


def _read_experiment(
    root: Path, path: Path, runs: dict[Path, RunRecord], warnings: list[str]
) -> Section:
    """The section that an `experiment.json` describes."""
    _check_inside(root, path)
    try:
        held = json.loads(path.read_text())
    except (OSError, ValueError):
        raise SfpError("it is no JSON file.") from None
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise SfpError(f'expected an object with "format": {FORMAT}.')
    words = {key: _word(held, key) for key in WORDS}
    found, missing = [], []
    for cell in _objects(held, "cells"):
        if _word(cell, "kind", "train") != "train":
            continue
        folder = _inside(root, _word(cell, "folder"))
        if folder in runs:
            name = _word(cell, "label") or _word(cell, "group")
            try:
                found.append(_checked(runs[folder], cell, name))
            except SfpError as error:
                warnings.append(f"{words['name']}: left out {error}")
        elif not folder.exists():
            missing.append(_word(cell, "folder"))
    labelled = tell_apart(found)
    for label in sorted({run.name for run in labelled if run.variant}):
        warnings.append(
            f"{words['name']}: runs with different settings are called {label}; "
            "they are told apart."
        )
    return Section(
        words["name"] or path.parent.name,
        words["title"] or words["name"] or path.parent.name,
        words["claim"],
        words["command"],
        tuple(labelled),
        tuple(missing),
        tuple(str(task) for task in held.get("aggregate") or ()),
        _attachments(root, held, "tables", (".csv",), warnings),
        _attachments(root, held, "figures", (".png", ".svg"), warnings),
    )


def _checked(run: RunRecord, cell: dict[str, Any], name: str) -> RunRecord:
    """The run under its experiment's name, if it is the one that is meant."""
    for key in ("task", "seed"):
        if key in cell and cell[key] != getattr(run, key):
            raise SfpError(
                f"{cell['folder']} holds {key} {getattr(run, key)!r}, the experiment "
                f"says {cell[key]!r}."
            )
    return replace(run, name=name)


def _attachments(
    root: Path,
    held: dict[str, Any],
    key: str,
    suffixes: tuple[str, ...],
    warnings: list[str],
) -> tuple[Attachment, ...]:
    found = []
    for entry in _objects(held, key):
        path = _inside(root, _word(entry, "path"))
        if path.suffix not in suffixes:
            raise SfpError(f"expected {key} as {' or '.join(suffixes)}, not {path}.")
        if path.is_file():
            found.append(Attachment(path, _word(entry, "title") or path.stem))
        else:
            warnings.append(f"{_short(root, path)} is not there (yet).")
    return tuple(found)


def _objects(held: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = held.get(key) or []
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise SfpError(f"expected {key} as a list of objects.")
    return value


def _word(held: dict[str, Any], key: str, default: str = "") -> str:
    value = held.get(key, default)
    if not isinstance(value, str):
        raise SfpError(f"expected {key} as text, received {value!r}.")
    return value


def _inside(root: Path, name: str) -> Path:
    """A path below the folder; one that leads elsewhere is refused."""
    path = root / name
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise SfpError(f"it names {name!r}: expected a path inside the results.")
    _check_inside(root, path)
    return path


def _check_inside(root: Path, *paths: Path) -> None:
    for path in paths:
        if not path.resolve().is_relative_to(root.resolve()):
            raise SfpError(f"{path.name} leads out of the results.")


def _unique(name: str, taken: Sequence[str]) -> str:
    """A name that can stand in an address, and stands for nothing else there."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "section"
    count, made = 1, stem
    while made in (*taken, *RESERVED):
        count += 1
        made = f"{stem}-{count}"
    return made


def _short(root: Path, path: Path) -> str:
    return str(path.relative_to(root)) if path != root else path.name


def _reason(root: Path, path: Path, error: Exception) -> str:
    """Which file, and why, without telling where the results lie."""
    said = str(error) if isinstance(error, SfpError) else "it cannot be read."
    said = said.replace(f"{path} ", "it ").replace(f"{root}{os.sep}", "")
    return f"{_short(root, path)}: {said}"
