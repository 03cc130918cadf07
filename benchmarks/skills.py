"""The tables of docs/results/spirl.md, from the runs of results/spirl.

    python benchmarks/skills.py

They are printed, and written as spirl.md beside the runs: SPiRL and PARROT-state beside
SFP and SAC of the same tasks and seeds (results/meta-world/transfer). A final return is
the mean over a run's last tenth, of three evaluations at least. p is one-sided, of an
exact permutation test on runs within tasks, corrected for the rows of the table (Holm).
"""

import csv
import itertools
from pathlib import Path

import numpy as np

from sfp.report.markdown import table
from sfp.report.permutation import judge, permutation_test
from sfp.report.stats import final

RESULTS = Path(__file__).parent.parent / "results"
MADE = RESULTS / "spirl"
SOURCES = {
    "SPiRL": (MADE, "spirl target_divergence=5.0"),
    "PARROT-state": (MADE, "parrot-state"),
    "SFP": (RESULTS / "meta-world" / "transfer", "SFP"),
    "SAC": (RESULTS / "meta-world" / "transfer", "SAC"),
}
TASKS = ("reach", "drawer-close", "window-close", "window-open")
UNSEEN = TASKS[1:]
CLAIMS = (
    ("SPiRL suffers on unseen tasks", "SFP", "SPiRL", UNSEEN),
    ("PARROT-state fails to guide on unseen tasks", "SFP", "PARROT-state", UNSEEN),
    ("SPiRL leaves the goal of `reach` again", "PARROT-state", "SPiRL", TASKS[:1]),
)
Run = list[tuple[int, float, float]]
"""Step, return and success of every evaluation."""


def main() -> None:
    text = tables()
    (MADE / "spirl.md").write_text(text, encoding="utf-8")
    print(text, end="")


def tables() -> str:
    """Both of them, in the order of the page."""
    runs = {
        (name, task): _runs(*where, task)
        for name, where in SOURCES.items()
        for task in TASKS
    }
    return f"{_returns(runs)}\n\n{_claims(runs)}\n"


def _returns(runs: dict[tuple[str, str], list[Run]]) -> str:
    rows = []
    for task in TASKS:
        cells = []
        for name in SOURCES:
            own = runs[name, task]
            last = ", ".join(f"{_final(run):.0f}" for run in own)
            solved = [_solved(run) for run in own]
            first = own[0][0][0]
            when = ", ".join("not" if at is None else f"{at:,}" for at in solved)
            if set(solved) == {first}:
                when = "at the first evaluation"
            elif set(solved) == {None}:
                when = "not"
            cells.append(f"{last}; {when}")
        rows.append([f"`{task}`", *cells])
    return table(["task", *SOURCES], rows)


def _claims(runs: dict[tuple[str, str], list[Run]]) -> str:
    sides = [
        [[np.array([_final(r) for r in runs[name, t]]) for t in where] for name in pair]
        for _, *pair, where in CLAIMS
    ]
    tests = [permutation_test(ours, theirs) for ours, theirs in sides]
    rows = []
    for claim, side, test, ruled in zip(
        CLAIMS, sides, tests, judge(tests), strict=True
    ):
        text, better, worse, where = claim
        ours, theirs = (np.mean([own.mean() for own in each]) for each in side)
        verdict, corrected, _ = ruled
        runs_each = str(len(side[0][0]))
        p = f"{test.more:.2g} ({corrected:.2g})"
        place = f"`{where[0]}`" if len(where) == 1 else f"{len(where)} unseen tasks"
        tested = f"{better} > {worse}"
        rows.append(
            [text, tested, place, f"{ours - theirs:.1f}", runs_each, p, verdict]
        )
    head = ["claim", "tested as", "on", "difference of final returns", "n"]
    return table([*head, "p (Holm)", "verdict"], rows)


def _final(run: Run) -> float:
    return final(np.array([value for _, value, _ in run]))


def _solved(run: Run) -> int | None:
    """The first of two evaluations in a row in which every episode succeeds."""
    for (step, _, one), (_, _, other) in itertools.pairwise(run):
        if one == other == 1.0:
            return step
    return None


def _runs(folder: Path, label: str, task: str) -> list[Run]:
    """Every seed's evaluations."""
    name = "curves.csv" if folder == MADE else "runs.csv"
    with (folder / name).open() as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["task"], row["method"]) == (task, label)
        ]
    seeds: dict[str, Run] = {}
    for row in rows:
        told = int(row["step"]), float(row["return"]), float(row["success"])
        seeds.setdefault(row["seed"], []).append(told)
    return list(seeds.values())


if __name__ == "__main__":
    main()
