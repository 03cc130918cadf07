"""Runs that differ in the seed only, and what they show together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfp.report.binomial import Count
from sfp.report.records import RunRecord, column
from sfp.report.stats import (
    Estimate,
    Protocol,
    Statistic,
    estimate,
    final,
    mean,
    smooth,
)
from sfp.training.log import AS_MIXTURE, MIXTURE_TEST
from sfp.training.verdict import as_mixture, solved_at

Line = tuple[np.ndarray, np.ndarray]
"""Steps and values of one run."""

NOTHING: Line = np.zeros(0), np.zeros(0)

DRAWN = range(1, 9)
"""The priors of a mixture, at most, that have a panel each."""

LARGEST = 1e100
"""A larger number counts as none: its squares and sums are not finite."""


@dataclass(frozen=True)
class Metric:
    """A column of a run's table; a metric without `unit` is not limited to [0, 1]."""

    table: str
    column: str
    title: str
    unit: bool = True


METRICS = {
    "return": Metric("eval", "eval/mean_reward", "Test return", unit=False),
    "success": Metric("eval", "eval/success_rate", "Test success"),
    "mixing": Metric("train", "mixing/mean", "λ over visited states"),
    "mixture": Metric("eval", MIXTURE_TEST, "Test return as the mixture", unit=False),
    "mixture-success": Metric(
        "eval", AS_MIXTURE["eval/success_rate"], "Test success as the mixture"
    ),
    **{f"prior-{k}": Metric("train", f"mixing/{k}", f"λ of prior {k}") for k in DRAWN},
    "solved": Metric("eval", "", "Share of runs that have solved it"),
}
"""What is drawn of runs that have it; a mixture is also tested as it acts. `solved` has
no column: it follows from the evaluations, and is for runs that end when solved."""


@dataclass(frozen=True)
class Group:
    """Runs of one task under one label, one per seed.

    `unfinished` are still going beside finished ones: they are drawn, not counted.
    """

    task: str
    label: str
    runs: tuple[RunRecord, ...]
    unfinished: tuple[RunRecord, ...] = ()

    @property
    def finished(self) -> bool:
        return all(run.end is not None for run in self.runs)

    def lines(self, metric: str, *, counted: bool = True) -> dict[int, Line]:
        runs = self.runs if counted else self.unfinished
        found = {run.seed: line(run, metric) for run in runs}
        return {seed: kept for seed, kept in found.items() if len(kept[0])}

    def shared(self, metric: str) -> Line:
        """The steps that all seeds have, and values as (seeds, steps)."""
        return share(list(self.lines(metric).values()))

    @property
    def scored(self) -> list[RunRecord]:
        """The runs that count and have evaluations."""
        held = self.lines("return")
        return [run for run in self.runs if run.seed in held]

    def finals(self) -> np.ndarray:
        """Every run's final return; the climb of one that ended solved is no part."""
        found = []
        for run in self.scored:
            steps, values = line(run, "return")
            if run.ended_solved:
                values = values[steps >= (run.solved_at or 0)]
            found.append(final(values))
        return np.array(found)

    def times(self) -> np.ndarray:
        """Every run's (step, 1) at which it was solved, or (end, 0) if it was not."""
        found = [
            (run.steps, 0) if run.solved_at is None else (run.solved_at, 1)
            for run in self.scored
        ]
        return np.array(found, float)

    def solved(self) -> Count:
        return int(self.times()[:, 1].sum()), len(self.scored)

    def at_once(self) -> np.ndarray:
        """1 for every run that solved the task at its first evaluation, else 0."""
        found = [run.solved_at == run.eval[0]["step"] for run in self.scored]
        return np.array(found, float)

    def mixture_at_once(self) -> np.ndarray:
        """The same as it acts, of a mixture that was tested so; else of the policy."""
        found = []
        for run in self.scored:
            rows = as_mixture(run.eval) or run.eval
            found.append(solved_at(rows, run.rule) == run.eval[0]["step"])
        return np.array(found, float)


@dataclass(frozen=True)
class Curve:
    """A label's smoothed learning curve with its interval, and the raw lines by seed.

    `x` are steps, or shares of the budget.
    """

    label: str
    x: np.ndarray
    found: Estimate
    seeds: dict[int, Line]

    @property
    def steps(self) -> bool:
        """Whether x are steps, not shares."""
        return bool(self.x[-1] > 1)

    @property
    def x_name(self) -> str:
        return "environment steps" if self.steps else "share of each task's steps"


def names_of(group: Group, count: int) -> list[str]:
    """What the priors are called, if all runs of a mixture agree."""
    told = {tuple(run.config.get("priors") or ()) for run in group.runs}
    names = told.pop() if len(told) == 1 else ()
    usual = [f"prior {k + 1}" for k in range(count)]
    return list(names) if len(names) == count else usual


def numbered(run: RunRecord, word: str) -> str:
    """Which of several priors has which number; empty with one prior."""
    names = run.settings.get("priors")
    if not isinstance(names, list) or len(names) < 2:
        return ""
    return ", ".join(f"{word}{k} is {name}" for k, name in enumerate(names, 1))


def title_of(metric: str, groups: Sequence[Group]) -> str:
    """What a panel is called; that of a prior by its name, if all groups agree."""
    if not metric.startswith("prior-"):
        return METRICS[metric].title
    number = int(metric.removeprefix("prior-"))
    told = {
        names_of(group, sum(bool(group.lines(f"prior-{k}")) for k in DRAWN))[number - 1]
        for group in groups
        if group.lines(metric)
    }
    return f"λ of {told.pop()}" if len(told) == 1 else METRICS[metric].title


def group_runs(runs: Sequence[RunRecord]) -> tuple[list[Group], list[str]]:
    """Group runs by task and label, and say what is odd about them."""
    kin: dict[tuple[str, str], dict[int, RunRecord]] = {}
    odd: list[str] = []
    for run in runs:
        same = kin.setdefault((run.task, run.label), {})
        other = same.get(run.seed)
        if other is None or _progress(run) > _progress(other):
            same[run.seed] = run
        if other is not None:
            odd.append(
                f"{run.folder.name} and {other.folder.name} are both {run.label} on "
                f"{run.task} with seed {run.seed}: only {same[run.seed].folder.name} "
                "counts."
            )
    groups = [_group(task, label, found) for (task, label), found in kin.items()]
    for group in groups:
        odd += _oddities(group)
    return groups, odd


def curve(
    group: Group, metric: str, rng: np.random.Generator, protocol: Protocol
) -> Curve | None:
    """A group's smoothed mean with its interval; None if it has no such metric."""
    if metric == "solved":
        return _solved_curve(group)
    steps, values = group.shared(metric)
    if not len(steps):
        return None
    every = group.lines(metric) | group.lines(metric, counted=False)
    if METRICS[metric].table == "eval":
        values = _smoothed(values, protocol)
    found = estimate([values], rng, protocol=protocol)
    return Curve(group.label, steps, found, dict(sorted(every.items())))


def _solved_curve(group: Group) -> Curve | None:
    """The share of runs that have solved the task; one that ended stays as it was."""
    lines = group.lines("solved")
    if not lines:
        return None
    steps = np.unique(np.concatenate([own for own, _ in lines.values()]))
    rows = [stay(line, steps) for line in lines.values()]
    found = Estimate(np.mean(rows, axis=0), None, None, len(rows))
    return Curve(group.label, steps, found, {})


def stay(line: Line, steps: np.ndarray) -> np.ndarray:
    """The values of a run at these steps; one that has ended stays as it was."""
    own, values = line
    return values[np.maximum(np.searchsorted(own, steps, side="right") - 1, 0)]


def _smoothed(values: np.ndarray, protocol: Protocol) -> np.ndarray:
    """Seeds by evaluations, smoothed; one seed alone is shown as it was measured."""
    return smooth(values, protocol.window) if len(values) > 1 else values


def find_budgets(groups: Sequence[Group]) -> dict[str, float] | None:
    """The steps of each task, the longest; None if all are evaluated at the same."""
    steps = [(group.task, group.shared("return")[0]) for group in groups]
    if all(np.array_equal(own, steps[0][1]) for _, own in steps):
        return None
    found: dict[str, float] = {}
    for task, own in steps:
        found[task] = max([found.get(task, 0.0), *own[-1:]])
    return found


def aggregate(
    groups: Sequence[Group],
    budgets: dict[str, float] | None,
    rng: np.random.Generator,
    protocol: Protocol,
    statistic: Statistic = mean,
) -> Curve | None:
    """One label's return over several tasks.

    Tasks with the same evaluations are averaged step by step. Where budgets differ, x
    is the share of each task's budget, between evaluations interpolated, as far as all
    tasks got.
    """
    lines = [group.shared("return") for group in groups]
    if any(not len(steps) for steps, _ in lines):
        return None
    smoothed = [(steps, _smoothed(values, protocol)) for steps, values in lines]
    if budgets is None:
        x, strata = lines[0][0], [values for _, values in smoothed]
    else:
        shares = [
            steps / budgets[group.task]
            for group, (steps, _) in zip(groups, lines, strict=True)
        ]
        count = max(len(own) for own in shares)
        x = np.arange(1, count + 1) / count
        x = x[x >= max(own[0] for own in shares) - 1e-9]
        x = x[x <= min(own[-1] for own in shares) + 1e-9]
        if not len(x):
            return None
        strata = [
            np.stack([np.interp(x, own, row) for row in values])
            for own, (_, values) in zip(shares, smoothed, strict=True)
        ]
    found = estimate(strata, rng, statistic=statistic, protocol=protocol)
    return Curve(groups[0].label, x, found, {})


def line(run: RunRecord, metric: str) -> Line:
    if metric == "solved":
        steps = np.array([row["step"] or 0 for row in run.eval], float)
        when = np.inf if run.solved_at is None else run.solved_at
        return (steps, (steps >= when) * 1.0) if run.until_solved else NOTHING
    chosen = METRICS[metric]
    rows = run.eval if chosen.table == "eval" else run.train
    steps, found = column(rows, chosen.column)
    values = np.array(found)
    return np.array(steps), np.where(np.abs(values) < LARGEST, values, np.nan)


def share(lines: Sequence[Line]) -> Line:
    """The steps that all lines have, and their values there, one row per line."""
    if not lines:
        return np.zeros(0), np.zeros((0, 0))
    steps = lines[0][0]
    for other, _ in lines[1:]:
        steps = np.intersect1d(steps, other)
    rows = [values[np.isin(own, steps)] for own, values in lines]
    return steps, np.stack(rows)


def _progress(run: RunRecord) -> tuple[bool, int]:
    """Who counts of two runs alike: one that is finished, then the longer one."""
    return run.end is not None, run.steps


def _group(task: str, label: str, found: dict[int, RunRecord]) -> Group:
    runs = [found[seed] for seed in sorted(found)]
    ended = tuple(run for run in runs if run.end is not None)
    if not ended:
        return Group(task, label, tuple(runs))
    return Group(task, label, ended, tuple(run for run in runs if run.end is None))


def _oddities(group: Group) -> list[str]:
    name, found = f"{group.label} on {group.task}", []
    lengths = sorted({run.steps for run in group.runs})
    if len(lengths) > 1 and group.finished:
        listed = ", ".join(f"{steps:,}" for steps in lengths)
        found.append(
            f"{name}: runs end at different steps ({listed}); curves show the steps "
            "that all have, final values are each run's own."
        )
    if not group.finished:
        found += [
            f"{name}: seed {run.seed} {run.state} at {run.steps:,} steps; what is "
            "shown of it is not final."
            for run in group.runs
        ]
    for run in group.unfinished:
        found.append(
            f"{name}: seed {run.seed} {run.state} at {run.steps:,} steps; it is drawn "
            "but not counted."
        )
    if told := numbered(group.runs[0], "prior "):
        found.append(f"{name}: {told}.")
    for run in group.runs:
        if not all(np.isfinite(line(run, metric)[1]).all() for metric in METRICS):
            found.append(f"{name}: seed {run.seed} holds numbers that are not finite.")
        if not run.eval:
            found.append(f"{name}: seed {run.seed} has no evaluation yet.")
    return found
