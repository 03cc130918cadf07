"""Methods side by side: curves, final performance, who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfp.envs.registry import get_task
from sfp.errors import SfpError
from sfp.report.binomial import limits
from sfp.report.claims import MEASURES, Checked, Claim, check
from sfp.report.experiment import Section
from sfp.report.groups import (
    METRICS,
    Curve,
    Group,
    aggregate,
    curve,
    find_budgets,
    group_runs,
)
from sfp.report.heat import Heat, find_heats
from sfp.report.records import RunRecord, summarise
from sfp.report.stats import PAPER, Estimate, Protocol, estimate, iqm, mean
from sfp.report.times import Times, find_times

STATISTICS = {"mean": mean, "IQM": iqm}
OURS = ("sfp", "sfp-quick")
"""Others are compared with the first of these that is there."""

NAMED = 3
"""Tasks that are named one by one; more are counted."""

TRIFLE = 0.05
"""A panel below this share of the highest one is not magnified to full height."""


Bars = list[tuple[str, Estimate]]
"""Labels and what was found of each, one below the other."""


@dataclass(frozen=True)
class Final:
    """How the runs of a label ended on a task.

    Attributes:
        found: mean final return, with its interval.
        last: mean return of the last evaluation.
        success: mean success of the last evaluation, if the task tells it.
        solved_at: the median step of the runs that solved it.
        steps: where the shortest run ended.
    """

    task: str
    label: str
    found: Estimate
    last: float
    success: float | None
    solved: int
    solved_at: float | None
    steps: int
    finished: bool

    @property
    def n(self) -> int:
        return self.found.n

    @property
    def limits(self) -> tuple[float, float]:
        """The shares of solved runs that are not excluded (Clopper and Pearson)."""
        return limits((self.solved, self.n))

    @property
    def tally(self) -> str:
        """How many runs solved it; of all or none also what share is not excluded."""
        said, (low, high) = f"{self.solved} of {self.n}", self.limits
        if self.solved == 0:
            return f"{said} (at most {100 * high:.0f} %)"
        return f"{said} (at least {100 * low:.0f} %)" if self.solved == self.n else said


@dataclass(frozen=True)
class Comparison:
    """Everything that a section's runs show.

    Attributes:
        labels: the reference first; the index decides colour and style.
        panels: curves by task and metric.
        averaged: the tasks that are averaged over.
        overall: curves over those tasks, by statistic; empty for a single one.
        times: when tasks were solved, of runs that were to end there.
        totals: final return over those tasks, by statistic, then label.
        reference: the label that others are compared with.
        against: the result of that comparison, by label.
        claims: what the paper says, and what came of it.
        notes: what readers should know.
    """

    groups: tuple[Group, ...]
    tasks: tuple[str, ...]
    labels: tuple[str, ...]
    panels: dict[tuple[str, str], list[Curve]]
    averaged: tuple[str, ...]
    overall: dict[str, list[Curve]]
    finals: list[Final]
    times: list[Times]
    totals: dict[str, dict[str, Estimate]]
    reference: str
    against: dict[str, Checked]
    claims: list[Checked]
    notes: list[str]

    @property
    def everywhere(self) -> str:
        """What is averaged over, in words; empty for a single task."""
        if len(self.averaged) < 2:
            return ""
        whole = set(self.averaged) == set(self.tasks)
        return "all tasks" if whole else listed(self.averaged)

    @property
    def bars(self) -> dict[str, Bars]:
        found: dict[str, Bars] = {}
        for final in self.finals:
            found.setdefault(final.task, []).append((final.label, final.found))
        for name, totals in self.totals.items():
            if self.everywhere and totals:
                found[f"{name} over {self.everywhere}"] = list(totals.items())
        return found

    @property
    def heats(self) -> list[Heat]:
        """Returns over two parameters of the tasks, if just two were varied."""
        ends = self.finals
        return find_heats({(f.task, f.label): float(f.found.value) for f in ends})

    @property
    def beaten(self) -> Bars:
        """Probability that a run of the reference beats one of each other method."""
        pairs = [(label, one.pair) for label, one in self.against.items()]
        return [(label, p.better) for label, p in pairs if p and p.better is not None]

    def solving_return(self, task: str) -> float | None:
        """The return that counts as solved on a task; None if success does."""
        lines = {run.line for g in self.groups if g.task == task for run in g.runs}
        return lines.pop() if len(lines) == 1 else None

    def least_height(self, task: str, metric: str) -> float:
        """How high a panel must reach: as the highest, if its own is a trifle to it."""
        heights = {t: _height(c) for (t, m), c in self.panels.items() if m == metric}
        highest = max(heights.values())
        return highest if heights[task] < TRIFLE * highest else 0.0


def _height(curves: Sequence[Curve]) -> float:
    values = [np.zeros(1)]
    for one in curves:
        values += [one.found.value, *(held for _, held in one.seeds.values())]
    joined = np.abs(np.concatenate(values))
    return float(np.max(joined, where=np.isfinite(joined), initial=0.0))


def listed(tasks: Sequence[str]) -> str:
    return ", ".join(tasks) if len(tasks) <= NAMED else f"{len(tasks)} tasks"


def compare(
    section: Section, rng: np.random.Generator, protocol: Protocol = PAPER
) -> Comparison:
    """Compare the runs of a section; `rng` is for the bootstrap."""
    groups, notes = group_runs(section.runs)
    tasks = tuple(dict.fromkeys(group.task for group in groups))
    reference = _reference(groups)
    others = (group.label for group in groups)
    labels = tuple(dict.fromkeys([reference, *others])) if groups else ()
    groups.sort(key=lambda group: (tasks.index(group.task), labels.index(group.label)))
    panels: dict[tuple[str, str], list[Curve]] = {}
    for task in tasks:
        for metric in METRICS:
            kin = [group for group in groups if group.task == task]
            drawn = [curve(group, metric, rng, protocol) for group in kin]
            if kept := [one for one in drawn if one is not None]:
                panels[task, metric] = kept
    averaged = section.tasks or (tasks if _alike(tasks) else tasks[:1])
    whole, gaps = _whole(groups, averaged, labels)
    if not section.tasks and len(tasks) > 1 and not _alike(tasks):
        gaps = [
            "There are no averages over tasks: their rewards are of different kinds."
        ]
    against = _against(groups, labels, rng, protocol)
    claims = check(section.claims, groups, rng, protocol)
    return Comparison(
        groups=tuple(groups),
        tasks=tasks,
        labels=labels,
        panels=panels,
        averaged=averaged,
        overall=_overall(whole, rng, protocol),
        finals=[_final(group, rng, protocol) for group in groups if group.scored],
        times=find_times([summarise(run) for run in _timed(groups)], reference),
        totals={
            name: {
                label: estimate(
                    [group.finals() for group in kin],
                    rng,
                    statistic=statistic,
                    protocol=protocol,
                )
                for label, kin in whole.items()
            }
            for name, statistic in STATISTICS.items()
        },
        reference=reference,
        against=against,
        claims=claims,
        notes=notes + gaps + _uneven([*against.values(), *claims]),
    )


def points(found: Sequence[Curve], x: str = "step") -> list[dict[str, Any]]:
    """The rows behind a chart: the curve of each method, then its seeds."""
    rows = []
    for one in found:
        ends = one.found.low, one.found.high
        for i, step in enumerate(one.x):
            low, high = (None if end is None else float(end[i]) for end in ends)
            row = {"method": one.label, "seed": "all", x: _plain(step)}
            row |= {"value": float(one.found.value[i]), "low": low, "high": high}
            rows.append(row | {"n": one.found.n})
        for seed, (steps, values) in one.seeds.items():
            rows += [
                {"method": one.label, "seed": seed, x: _plain(step), "value": float(v)}
                | {"low": None, "high": None, "n": 1}
                for step, v in zip(steps, values, strict=True)
            ]
    return rows


def final_rows(found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "task": final.task,
            "method": final.label,
            "final return": float(final.found.value),
            **ends(final.found),
            "last": final.last,
            "success": final.success,
            "solved": final.solved,
            "n": final.n,
            **dict(zip(("share low", "share high"), final.limits, strict=True)),
            "solved at": final.solved_at,
            "steps": final.steps,
            "finished": final.finished,
        }
        for final in found.finals
    ]


def claim_rows(found: Comparison) -> list[dict[str, Any]]:
    rows = []
    for one in found.claims:
        claim, pair = one.claim, one.pair
        test = pair.test if pair and one.more is not None else None
        rows.append(
            {
                "claim": claim.text,
                "better": claim.better,
                "worse": claim.worse,
                "share": claim.share,
                **({"later": claim.later} if claim.later else {}),
                "tasks": " ".join(pair.tasks if pair else claim.tasks),
                "measure": MEASURES[claim.measure],
                "difference": None if pair is None else float(pair.gap.value),
                **ends(pair.gap if pair else None),
                "n": pair.gap.n if pair else 0,
                "verdict": one.verdict,
                "p": test and test.more,
                "p holm": one.more,
                "opposite p": test and test.less,
                "opposite p holm": one.less,
            }
        )
    return rows


def ends(found: Estimate | None) -> dict[str, float | None]:
    pair = (None, None) if found is None else (found.low, found.high)
    low, high = (None if end is None else float(end) for end in pair)
    return {"low": low, "high": high}


def _plain(x: float) -> int | float:
    return int(x) if float(x).is_integer() else float(x)


def _final(group: Group, rng: np.random.Generator, protocol: Protocol) -> Final:
    times = group.times()
    when = times[times[:, 1] == 1, 0]
    last = {
        metric: [values[-1] for _, values in group.lines(metric).values()]
        for metric in ("return", "success")
    }
    return Final(
        group.task,
        group.label,
        estimate([group.finals()], rng, protocol=protocol),
        float(np.mean(last["return"])),
        float(np.mean(last["success"])) if last["success"] else None,
        len(when),
        float(np.median(when)) if len(when) else None,
        min(run.steps for run in group.runs),
        group.finished,
    )


def _timed(groups: Sequence[Group]) -> list[RunRecord]:
    """Runs that were to end when they had solved their task, where all were."""
    return [r for g in groups if all(r.until_solved for r in g.runs) for r in g.scored]


def _whole(
    groups: Sequence[Group], tasks: Sequence[str], labels: Sequence[str]
) -> tuple[dict[str, list[Group]], list[str]]:
    """The groups of each label that has evaluations on every task, and who has not."""
    found, notes = {}, []
    for label in labels:
        kin = [g for g in groups if g.label == label and g.task in tasks]
        kin = [group for group in kin if group.scored]
        lacking = [task for task in tasks if task not in {g.task for g in kin}]
        if not lacking:
            found[label] = kin
        elif len(tasks) > 1:
            notes.append(
                f"{label} is not in the averages over tasks: no results on "
                f"{', '.join(lacking)}."
            )
    return found, notes


def _overall(
    whole: dict[str, list[Group]], rng: np.random.Generator, protocol: Protocol
) -> dict[str, list[Curve]]:
    overall: dict[str, list[Curve]] = {}
    several = [kin for kin in whole.values() if len(kin) > 1]
    budgets = find_budgets([group for kin in several for group in kin])
    for name, statistic in STATISTICS.items():
        found = [aggregate(kin, budgets, rng, protocol, statistic) for kin in several]
        if kept := [one for one in found if one is not None]:
            overall[name] = kept
    return overall


def _alike(tasks: Sequence[str]) -> bool:
    """Whether returns can be averaged: all tasks are of one suite of ours."""
    suites = set()
    for task in tasks:
        try:
            suites.add(get_task(task).suite or task)
        except SfpError:  # an environment made in Python, or a map that is not here
            suites.add(task)
    return len(suites) <= 1


def _reference(groups: Sequence[Group]) -> str:
    ours = [g.label for name in OURS for g in groups if g.runs[0].method == name]
    return next(iter(ours), groups[0].label if groups else "")


def _against(
    groups: Sequence[Group],
    labels: Sequence[str],
    rng: np.random.Generator,
    protocol: Protocol,
) -> dict[str, Checked]:
    """Check that the reference ends with more return than each of the others."""
    tasks = tuple(group.task for group in groups)
    claims = [Claim("", labels[0], label, tasks) for label in labels[1:]]
    found = check(claims, groups, rng, protocol)
    return {one.claim.worse: one for one in found if one.pair is not None}


def _uneven(checked: Sequence[Checked]) -> list[str]:
    """Which comparisons decide nothing, as one side had more time."""
    sides = [
        frozenset(filter(None, (one.claim.better, one.claim.worse)))
        for one in checked
        if one.pair is not None and not one.pair.even
    ]
    return [
        f"{' and '.join(sorted(both))}: their runs are not all finished, or end at "
        "different steps, so nothing is decided between them."
        for both in dict.fromkeys(sides)
    ]
