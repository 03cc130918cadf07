"""Sections as `sfp report --figures` saved them: tables, to be read and redone."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sfp.documents import read_json
from sfp.errors import SfpError
from sfp.files import write_json
from sfp.report.experiment import FORMAT, Section, check_inside, read_experiment
from sfp.report.records import RunRecord

SAVED = "section.json"
EVAL = {"return": "eval/mean_reward", "success": "eval/success_rate"}
MIXING = {f"mixing_{name}": f"mixing/{name}" for name in ("mean", "p10", "p90")}

Key = tuple[str, str, str]
"""Task, label and seed of a run."""


def save_section(section: Section, folder: Path) -> Path:
    """Write what the tables of a section do not say: its claims, and who made it."""
    words = ("name", "title", "claim", "command")
    about = {"format": FORMAT} | {word: getattr(section, word) for word in words}
    about["aggregate"] = list(section.tasks)
    about["claims"] = [asdict(claim) for claim in section.claims]
    if section.runs and all(run.until_solved for run in section.runs):
        about["until_solved"] = True
    return write_json(folder / SAVED, about)


def read_section(root: Path, path: Path, warnings: list[str]) -> Section:
    """Read a saved section; its runs are known by their label, not their settings."""
    section = read_experiment(root, path, {}, warnings)
    names = ("runs", "summary", "curves")
    files = {name: path.with_name(f"{name}.csv") for name in names}
    check_inside(root, *files.values())
    tables = {}
    for name, file in files.items():
        with file.open(newline="", encoding="utf-8") as text:
            tables[name] = list(csv.DictReader(text))
    try:
        ended = read_json(path, "").get("until_solved") is True
        settings = {"until_solved": True} if ended else {}
        runs = [replace(run, settings=settings) for run in _runs(path.parent, **tables)]
        return replace(section, runs=tuple(runs))
    except (KeyError, TypeError, ValueError) as error:
        raise SfpError(
            f"its tables are damaged ({error}): expected what `sfp report --figures` "
            "writes."
        ) from None


def _runs(
    folder: Path, runs: list[Any], summary: list[Any], curves: list[Any]
) -> list[RunRecord]:
    lines: dict[Key, dict[float, dict[str, float | None]]] = {}
    for row in curves:  # λ was logged more often than it was tested
        if row["metric"] == "mixing" and row["seed"] != "all":
            about: dict[str, float | None] = dict.fromkeys(MIXING.values())
            about |= {"step": float(row["step"]), "mixing/mean": float(row["value"])}
            lines.setdefault(_key(row), {})[float(row["step"])] = about
    tests: dict[Key, list[dict[str, float | None]]] = {}
    for row in runs:
        held = {"step": float(row["step"])} | _numbers(row, EVAL)
        tests.setdefault(_key(row), []).append(held)
        logged = lines.get(_key(row), {}).get(float(row["step"]))
        if logged is not None:
            logged |= _numbers(row, MIXING)
    found = []
    for row in summary:
        (task, label, seed), end = _key(row), {"step": int(row["steps"])}
        if row.get("first_reward"):
            end["first_reward"] = int(row["first_reward"])
        found.append(
            RunRecord(
                folder / f"{task}-{label}-s{seed}",
                task,
                label,
                int(seed),
                {},
                list(lines.get(_key(row), {}).values()),
                tests.get(_key(row), []),
                name=label,
                end=end if row["finished"] == "True" else None,
            )
        )
    return found


def _key(row: dict[str, str]) -> Key:
    return row["task"], row["method"], row["seed"]


def _numbers(row: dict[str, str], names: dict[str, str]) -> dict[str, float | None]:
    return {new: float(row[old]) if row[old] else None for old, new in names.items()}
