"""`sfp list`: every name that commands take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import tyro

from sfp.cli.console import show
from sfp.envs.registry import Task

Kind = Literal[
    "all",
    "tasks",
    "methods",
    "explorers",
    "models",
    "experiments",
    "priors",
    "datasets",
]


def list_known(
    kind: tyro.conf.Positional[Kind] = "all",
    *,
    json: bool = False,
) -> None:
    """List the names that other commands take: tasks, methods, models and so on.

    Args:
        kind: the kind of names to list.
        json: print one JSON document.
    """
    from sfp.agents.methods import METHODS, requirements
    from sfp.data.sources.minari import local_datasets
    from sfp.envs.registry import TASKS
    from sfp.experiments.grid import EXPERIMENTS
    from sfp.exploration.explorers import EXPLORERS
    from sfp.priors.models import known_models
    from sfp.priors.store import find_shipped, shipped

    tables = {
        "tasks": [(t.name, f"{t.summary} ({t.env_id})") for t in TASKS.values()],
        "methods": [(name, method.summary) for name, method in METHODS.items()],
        "explorers": [(name, entry.summary) for name, entry in EXPLORERS.items()],
        "models": [(name, entry.summary) for name, entry in known_models().items()],
        "experiments": [(name, entry.title) for name, entry in EXPERIMENTS.items()],
        "priors": [(name, _summary(find_shipped(name))) for name in shipped()],
        "datasets": [(name, "local Minari dataset") for name in local_datasets()],
    }
    if kind == "experiments":
        _list_experiments(json=json)
        return
    rows = [
        {"kind": table[:-1], "name": name, "summary": summary}
        for table in tables
        if kind in ("all", table)
        for name, summary in tables[table]
    ]
    notes = [] if rows else [f"There are no {kind} yet."]
    if kind == "all":
        notes = ["Tasks take parameters, as in maze:seed=3. See `sfp list tasks`."]
    extra: dict[str, Any] = {}
    if kind == "tasks":
        extra["parameters"] = _parameters(TASKS.values())
    show(rows, json=json, notes=notes, **extra)
    if kind == "tasks" and not json:
        head = "Parameters, as in maze:seed=3,size=small"
        show(extra["parameters"], json=False, title=head)
    if kind == "methods" and not json:
        show(requirements(), json=False, title="What each needs from recordings")


def _summary(folder: Path) -> str:
    """Of a prior that ships."""
    from sfp.priors.store import CONFIG, read_card

    card = read_card(folder / CONFIG)
    actions = f"actions of {card.dims} dimensions"
    return f"{card.model}, sees {card.conditioning}; {actions} ({card.data['source']})"


def _parameters(tasks: Iterable[Task]) -> list[dict[str, str]]:
    """One row for each parameter and the tasks, or whole suites, that take it alike."""
    suites, takers = defaultdict(list), defaultdict(lambda: defaultdict(list))
    for task in tasks:
        suites[task.suite].append(task.name)
        for key, given in (task.parameters or {}).items():
            told = key, given.expected, given.summary
            takers[told][task.suite].append(task.name)

    def named(of: dict[str, list[str]]) -> str:
        told = []
        for suite, names in of.items():
            whole = suite and names == suites[suite]
            told += [f"all of {suite}"] if whole else names
        return "all" if of == suites else ", ".join(told)

    return [
        {"parameter": key, "value": value, "meaning": meaning, "tasks": named(of)}
        for (key, value, meaning), of in takers.items()
    ]


def _list_experiments(*, json: bool) -> None:
    """Experiments on the first suite that can, with what each costs by itself."""
    from sfp.envs.suites import SUITES
    from sfp.experiments.costs import ASSUMED
    from sfp.experiments.grid import EXPERIMENTS
    from sfp.experiments.jobs import price
    from sfp.experiments.plan import make_plan

    rows = []
    for name, experiment in EXPERIMENTS.items():
        row = {"kind": "experiment", "name": name, "summary": experiment.title}
        suite = next(iter(experiment.suites or SUITES))
        for scale in ("small", "paper"):
            runs, hours = price(make_plan(name, suite, scale))
            row |= {f"{scale} runs": runs, f"{scale} hours": hours}
        rows.append(row)
    notes = [
        f"Hours of {ASSUMED}; what experiments share in one folder runs once.",
        "Run one: sfp reproduce transfer --workers 2",
    ]
    show(rows, json=json, notes=notes, assumed=ASSUMED)
