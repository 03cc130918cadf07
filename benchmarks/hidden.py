"""What it costs that a reward depends on a position that nobody sees: `swimmer`.

    python benchmarks/hidden.py

The tables of docs/results/gaits.md, from the runs of results/gym-mujoco: `swimmer` as
the paper has it, and `swimmer:positions=true`, which shows the position too. They are
printed, and written as hidden.md beside the runs. A final return is the mean over a
run's last tenth, of three evaluations at least. p is one-sided, of an exact permutation
test on runs, corrected for the rows of the table (Holm).
"""

import csv
from pathlib import Path

import numpy as np

from sfp.report.markdown import table
from sfp.report.permutation import judge, permutation_test
from sfp.report.stats import final

RESULTS = Path(__file__).parent.parent / "results" / "gym-mujoco"
HIDDEN, SEEN = "swimmer", "swimmer:positions=true"
QUICK, WARM = "SFP-quick, 10 actions", "SAC-warm, 10 actions, its schedule"
FOLDERS = {HIDDEN: RESULTS / "hidden" / "gaits", SEEN: RESULTS / "seen" / "gaits"}
CLAIMS = (
    ("what one sees is not lost", (SEEN, QUICK), (HIDDEN, QUICK)),
    ("what one sees is not lost", (SEEN, WARM), (HIDDEN, WARM)),
    ("the mixture adds to the prior's warm-up", (HIDDEN, QUICK), (HIDDEN, WARM)),
    ("the mixture adds to the prior's warm-up", (SEEN, QUICK), (SEEN, WARM)),
)


def main() -> None:
    text = tables()
    (RESULTS / "hidden" / "hidden.md").write_text(text, encoding="utf-8")
    print(text, end="")


def tables() -> str:
    """Both of them, in the order of the page."""
    return f"{_runs()}\n\n{_claims()}\n"


def _runs() -> str:
    rows = []
    for task in FOLDERS:
        for label in (QUICK, WARM):
            own = _read(task, label)
            finals = ", ".join(f"{final(run[:, 0]):.0f}" for run in own)
            mean = np.mean([final(run[:, 0]) for run in own])
            lost = sum(_losses(run[:, 1]) for run in own)
            after = sum(_after(run[:, 1]) for run in own)
            shown = f"{lost} of {after}"
            rows.append([f"`{task}`", label, f"{mean:.0f}", finals, shown])
    head = ["task", "method", "final return, mean", "seed by seed"]
    return table([*head, "tests below 50 % after one of 90 % or more"], rows)


def _claims() -> str:
    sides = [
        [[np.array([final(run[:, 0]) for run in _read(*cell)])] for cell in pair]
        for _, *pair in CLAIMS
    ]
    tests = [permutation_test(ours, theirs) for ours, theirs in sides]
    rows = []
    for claim, side, test, ruled in zip(
        CLAIMS, sides, tests, judge(tests), strict=True
    ):
        (ours,), (theirs,) = side
        verdict, corrected, _ = ruled
        tested = " > ".join(f"{label} on `{task}`" for task, label in claim[1:])
        gap = f"{ours.mean() - theirs.mean():.0f}"
        p = f"{test.more:.2g} ({corrected:.2g})"
        rows.append([claim[0], tested, gap, str(len(ours)), p, verdict])
    head = ["claim", "tested as", "difference of final returns", "n", "p (Holm)"]
    return table([*head, "verdict"], rows)


def _after(success: np.ndarray) -> int:
    """How many tests follow the first that nearly all episodes passed."""
    return len(success) - 1 - _first(success)


def _losses(success: np.ndarray) -> int:
    """How many of them are failed by more than half of the episodes."""
    return int((success[_first(success) + 1 :] < 0.5).sum())


def _first(success: np.ndarray) -> int:
    passed = np.flatnonzero(success >= 0.9)
    return int(passed[0]) if len(passed) else len(success) - 1


def _read(task: str, label: str) -> list[np.ndarray]:
    """Return and success of every evaluation, seed by seed."""
    seeds: dict[str, list[tuple[float, float]]] = {}
    with (FOLDERS[task] / "runs.csv").open() as file:
        for row in csv.DictReader(file):
            if (row["task"], row["method"]) == (task, label):
                told = float(row["return"]), float(row["success"])
                seeds.setdefault(row["seed"], []).append(told)
    return [np.array(run) for run in seeds.values()]


if __name__ == "__main__":
    main()
