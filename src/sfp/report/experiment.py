"""Experiments on disk: what `experiment.json` says of runs, tables and figures."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from sfp.documents import read_json
from sfp.errors import SfpError, unknown
from sfp.report.claims import MEASURES, Claim, Measure
from sfp.report.records import RunRecord, tell_apart

EXPERIMENT = "experiment.json"
FORMAT = 1
WORDS = ("name", "title", "claim", "suite", "scale", "command")


@dataclass(frozen=True)
class Attachment:
    path: Path
    title: str


@dataclass(frozen=True)
class Section:
    """An experiment, or a folder of runs.

    Attributes:
        name: unique, for addresses and folders.
        claim: what the paper says, if the experiment names it.
        missing: folders of runs that are not there yet.
        tasks: the tasks that are averaged over; empty: all.
        claims: what the paper says, one by one.
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
    claims: tuple[Claim, ...] = ()
    tables: tuple[Attachment, ...] = ()
    figures: tuple[Attachment, ...] = ()


def read_experiment(
    root: Path, path: Path, runs: dict[Path, RunRecord], warnings: list[str]
) -> Section:
    check_inside(root, path)
    held = read_json(path, "Expected what `sfp reproduce` wrote.")
    if held.get("format") != FORMAT:
        raise SfpError(f'expected an object with "format": {FORMAT}.')
    words = {key: _word(held, key) for key in WORDS}
    found, missing = [], []
    for cell in _objects(held, "cells"):
        if _word(cell, "kind", "train") != "train":
            continue
        name = _word(cell, "folder")
        try:
            run = runs.get(_inside(root, name))
            if run is not None:
                label = _word(cell, "label") or _word(cell, "group")
                found.append(_checked(run, cell, label))
        except SfpError as error:
            warnings.append(f"{words['name']}: left out {name[:80]}: {error}")
        else:
            damaged = any(said.startswith(f"left out {name}:") for said in warnings)
            if run is None and not damaged:
                missing.append(name)
    if missing and not found and os.path.exists(root.parent / missing[0]):
        raise SfpError("its runs lie beside it: give the folder above.")
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
        _names(held, "aggregate"),
        tuple(_claim(entry) for entry in _objects(held, "claims")),
        _attachments(root, held, "tables", (".csv",), warnings),
        _attachments(root, held, "figures", (".png", ".svg"), warnings),
    )


def _checked(run: RunRecord, cell: dict[str, Any], name: str) -> RunRecord:
    """The run under its experiment's name, if it is the one that is meant."""
    for key in ("task", "seed"):
        if key in cell and cell[key] != getattr(run, key):
            raise SfpError(
                f"it holds {key} {getattr(run, key)!r}, the experiment says "
                f"{cell[key]!r}."
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
            warnings.append(f"{path.relative_to(root)} is not there (yet).")
    return tuple(found)


def _claim(entry: dict[str, Any]) -> Claim:
    named = _word(entry, "measure", "final")
    if named not in MEASURES:
        raise unknown("measure", named, MEASURES, "See docs/report.md.")
    text, better, worse = (_word(entry, key) for key in ("text", "better", "worse"))
    if not better and named != "solved":
        raise SfpError(f"expected a claim of one method as solved, received {named}.")
    tasks, share = _names(entry, "tasks"), entry.get("share", 1.0)
    if not isinstance(share, int | float) or not 0.0 < share < float("inf"):
        raise SfpError(f"expected share as a number above 0, received {share!r}.")
    against = _names(entry, "against")
    if against and len(against) != len(tasks):
        raise SfpError(
            f"expected a task in against for each of {len(tasks)}, received "
            f"{len(against)}."
        )
    later = entry.get("later", 0)
    if type(later) is not int or later < 0 or (later and named != "time"):
        raise SfpError(
            f"expected later as a number of steps, of time, received {later!r}."
        )
    how = cast(Measure, named), float(share), against, later
    return Claim(text, better, worse, tasks, *how)


def _names(held: dict[str, Any], key: str) -> tuple[str, ...]:
    value = held.get(key) or []
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise SfpError(f"expected {key} as a list of tasks, received {value!r}.")
    return tuple(value)


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
    check_inside(root, path)
    return path


def check_inside(root: Path, *paths: Path) -> None:
    """Refuse paths out of a folder, and links below it: they are not followed."""
    for path in paths:
        try:
            found, top = path.resolve(), root.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop, or no name of a file
            raise SfpError(f"{path.name!r} leads nowhere.") from None
        if not found.is_relative_to(top):
            raise SfpError(f"{path.name} leads out of the results.")
        if found != top / path.relative_to(root):
            raise SfpError(f"{path.name} is a link: expected the file itself.")
