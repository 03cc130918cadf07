"""`experiment.json`: what an experiment is made of, for the report and for others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfp.documents import read_json
from sfp.envs.parameters import Value, base, shows_images, split
from sfp.envs.suites import DISTURBED, PIXELS, get_suite
from sfp.errors import SfpError
from sfp.experiments.claims import CLAIMS, Where
from sfp.experiments.plan import Plan, is_disturbed
from sfp.experiments.schedule import Event
from sfp.files import write_json

FORMAT = 1
TABLES = {
    ".csv": "coverage, gyration and success of explorers",
    "-psd.csv": "power spectra",
}
FIGURES = {".png": "walks of explorers", "-psd.png": "power spectra of actions"}


def write_manifest(out: Path, plan: Plan, known: Mapping[str, Event]) -> Path:
    """Write `OUT/<experiment>/experiment.json`; paths in it are relative to OUT.

    `training` is the task that the recordings are from, and `aggregate` has the other
    tasks, which are averaged over. `known` has the last event of each job.
    """
    suite = get_suite(plan.suite)
    tasks = {entry.cell.task for entry in plan.entries}
    tasks -= set() if suite.experts else {plan.training}
    downstream = sorted(tasks, key=lambda task: (suite.tasks.index(base(task)), task))
    where: dict[Where, list[str]] = {
        "training": [plan.training],
        "downstream": downstream,
        "harder": [t for t in downstream if base(t) not in suite.easy],
        "out of reach": [t for t in downstream if base(t) in suite.hopeless],
        "disturbed": [t for t in downstream if is_disturbed(t)],
        "most disturbed": _most_disturbed(downstream),
        "undisturbed": [t for t in downstream if not is_disturbed(t)],
        "images": [t for t in downstream if shows_images(t)],
        "states": [t for t in sorted(tasks | {plan.training}) if not shows_images(t)],
    }
    about: dict[str, Any] = {
        "format": FORMAT,
        "name": plan.name,
        "title": plan.experiment.title,
        "claim": plan.experiment.claim,
        "suite": plan.suite,
        "scale": plan.scale,
        "training": plan.training,
        "aggregate": where["images"] or downstream,
        "claims": [
            {
                "text": claim.text,
                "better": plan.experiment.cells.get(claim.better, ""),
                "worse": plan.experiment.cells[claim.worse],
                "tasks": where[claim.where],
                **(
                    _elsewhere(where[claim.where], where[claim.against])
                    if claim.against
                    else {}
                ),
                "measure": claim.measure,
                "share": claim.share,
                **({"later": claim.later} if claim.later else {}),
            }
            for claim in CLAIMS.get(plan.name, ())
            if where[claim.where]
        ],
        "command": plan.command,
        "cells": [
            {
                "folder": f"runs/{entry.cell.slug}",
                "kind": "train",
                "label": entry.label,
                "task": entry.cell.task,
                "seed": entry.cell.seed,
                "group": entry.label,
                "name": entry.name,
                "steps": entry.cell.steps,
                **_state(known.get(entry.cell.slug), out),
            }
            for entry in plan.entries
        ],
        "tables": _files(plan, out, TABLES),
        "figures": _files(plan, out, FIGURES),
    }
    return write_json(out / plan.name / "experiment.json", about)


def check_suite(out: Path, plan: Plan) -> None:
    """A folder has an experiment on one suite: its manifest would be overwritten.

    Raises:
        SfpError: it is there on another suite. A damaged manifest is written anew.
    """
    try:
        suite = read_json(out / plan.name / "experiment.json").get("suite")
    except SfpError:
        return
    if suite != plan.suite:
        raise SfpError(
            f"expected a folder for {plan.name} on {plan.suite}, received {out}, which "
            f"has {plan.name} on {str(suite)[:40]}: give another --out."
        )


def _elsewhere(tasks: list[str], others: list[str]) -> dict[str, list[str]]:
    """The same tasks seen otherwise, in the order of `tasks`."""
    known = {_undisturbed(task): task for task in others}
    return {"against": [known.get(_undisturbed(task), "") for task in tasks]}


def _undisturbed(task: str) -> tuple[str, frozenset[tuple[str, Value]]]:
    """What the task is, however it is seen: without bias, inversion and images."""
    name, given = split(task)
    return name, frozenset((k, v) for k, v in given.items() if k not in PIXELS)


def _most_disturbed(tasks: list[str]) -> list[str]:
    """Of each task that of the largest bias, or with inverted actions."""
    most: dict[Any, str] = {}
    for task in filter(is_disturbed, tasks):
        known = most.setdefault(_undisturbed(task), task)
        if _disturbance(task) > _disturbance(known):
            most[_undisturbed(task)] = task
    return list(most.values())


def _disturbance(task: str) -> float:
    given = split(task)[1]
    return sum(abs(float(given[name])) for name in given.keys() & DISTURBED.keys())


def _state(event: Event | None, out: Path) -> dict[str, str]:
    """Done, failed or waiting: nothing runs when a manifest is written."""
    if event is None or event.state == "running":
        return {"state": "waiting"}
    found = {"state": event.state, "reason": event.reason}
    if event.log is not None:
        found["log"] = str(event.log.relative_to(out))
    return {name: word for name, word in found.items() if word}


def _files(plan: Plan, out: Path, titles: Mapping[str, str]) -> list[dict[str, str]]:
    """The files of all rollouts; of the experiment about spectra, these alone."""
    return [
        {
            "path": str(walk.file(out, ending).relative_to(out)),
            "title": f"{walk.task}: {title}",
        }
        for walk in plan.walks
        for ending, title in titles.items()
        if plan.experiment.walks != "psd" or "psd" in ending
    ]
