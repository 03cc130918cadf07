"""When tasks were solved: what runs measure that end there, as their returns do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfp.report.permutation import gehan_scores, permutation_test

MIXING = ("mixing_first", "mixing_solved", "mixing")
"""λ of a run at its first reward, when it was solved, and at its end."""


@dataclass(frozen=True)
class Times:
    """When the runs of a label solved a task; who did not counts as its last step.

    Attributes:
        each: every run's (step, 1) at which it was solved, or (end, 0).
        first: the median step of the first reward in training, of those who met one.
        after: the median number of steps from there until it was solved.
        mixing: λ at the first reward, when it was solved and at the end, each the
            median over solved runs; None without λ.
        p: that chance alone makes the reference so much sooner, one-sided and not
            corrected; None for the reference itself.
    """

    task: str
    label: str
    each: np.ndarray
    first: float | None
    after: float | None
    mixing: tuple[float, ...] | None
    p: float | None

    @property
    def solved(self) -> int:
        return int(self.each[:, 1].sum())

    @property
    def median(self) -> float:
        return float(np.median(self.each[:, 0]))

    @property
    def ninetieth(self) -> float:
        return float(np.percentile(self.each[:, 0], 90))

    @property
    def listed(self) -> str:
        """Run by run, in thousand steps: `8, 6, not`."""
        return ", ".join(f"{step / 1000:g}" if ok else "not" for step, ok in self.each)

    def row(self) -> dict[str, Any]:
        names = ("λ first reward", "λ solved", "λ end")
        return {
            "task": self.task,
            "method": self.label,
            "n": len(self.each),
            "solved": self.solved,
            "solved at": self.median,
            "90th percentile": self.ninetieth,
            "first reward": self.first,
            "from there": self.after,
            **dict(zip(names, self.mixing or (None,) * 3, strict=True)),
            "p": self.p,
            "each (thousand)": self.listed,
        }


def find_times(rows: Sequence[Mapping[str, Any]], reference: str) -> list[Times]:
    """The times of runs, given as rows of `summary.csv`, by task and method."""
    kin: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        kin.setdefault((row["task"], row["method"]), []).append(row)
    each = {key: _censored(members) for key, members in kin.items()}
    found = []
    for (task, label), members in kin.items():
        ours, p = each.get((task, reference)), None
        if ours is not None and label != reference:
            scores = gehan_scores([ours], [each[task, label]])
            p = permutation_test(*scores).more
        met = [row for row in members if row["first_reward"]]
        done = [row for row in met if row["solved_at"]]
        known = [row for row in done if row.get("mixing_first") not in (None, "")]
        lambdas = [[float(row[name]) for name in MIXING] for row in known]
        found.append(
            Times(
                task,
                label,
                each[task, label],
                _median([int(row["first_reward"]) for row in met]),
                _median([int(r["solved_at"]) - int(r["first_reward"]) for r in done]),
                tuple(map(float, np.median(lambdas, axis=0))) if lambdas else None,
                p,
            )
        )
    return found


def _censored(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    return np.array(
        [(int(r["solved_at"] or r["steps"]), bool(r["solved_at"])) for r in rows], float
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None
