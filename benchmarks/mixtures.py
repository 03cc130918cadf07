"""The tables of docs/results/several.md, from the runs of results/several/mixtures.

    python benchmarks/mixtures.py

They are printed, and written as mixtures.md beside the tables of `sfp report`: runs of
`sfp-quick` with two priors, against those with the state-free prior alone
(results/sooner/runs.csv). p is one-sided, of a permutation test on Gehan's scores of
the censored times, corrected for the rows of the table (Holm).
"""

import csv
from pathlib import Path

import numpy as np

from sfp.report.markdown import table
from sfp.report.permutation import gehan_scores, judge, permutation_test
from sfp.report.times import Times, find_times

RESULTS = Path(__file__).parent.parent / "results"
MADE = RESULTS / "several" / "mixtures"
ALONE, LATE = "sfp-quick", 4_000
BESIDE = {
    "state-free and behavioural": "`room` and `room-state`",
    "state-free and uniform": "`room` and `uniform`",
    "state-free and pink": "`room` and `pink`",
}
TASKS = ("maze", "corridor")


def main() -> None:
    text = f"{times()}\n\n{weights()}\n"
    (MADE / "mixtures.md").write_text(text, encoding="utf-8")
    print(text, end="")


def times() -> str:
    """When tasks were solved, beside the state-free prior alone."""
    alone = {
        t.task: t
        for t in find_times(_read(RESULTS / "sooner" / "runs.csv"), "")
        if t.label == ALONE
    }
    mixed = {(t.task, t.label): t for t in find_times(_read(MADE / "summary.csv"), "")}
    pairs = [(t, m) for t in TASKS for m in BESIDE if (t, m) in mixed]
    tests = [
        permutation_test(
            *gehan_scores([mixed[pair].each - [LATE, 0]], [alone[pair[0]].each])
        )
        for pair in pairs
    ]
    ruled = dict(zip(pairs, zip(tests, judge(tests), strict=True), strict=True))
    rows = []
    for task in TASKS:
        rows.append([task, "`room` alone", *_told(alone[task]), "-", "-"])
        for pair in (pair for pair in pairs if pair[0] == task):
            test, (verdict, corrected, _) = ruled[pair]
            p = f"{test.more:.2g} ({corrected:.2g})"
            rows.append([task, BESIDE[pair[1]], *_told(mixed[pair]), p, verdict])
    head = ["task", "priors", "solved", "solved at, median", "first reward, median"]
    head += ["solved at (thousand steps), seed by seed", "p (Holm)"]
    return table([*head, f"sooner than `room` alone + {LATE:,} steps"], rows)


def weights() -> str:
    """What the second prior weighs beside the first, over training."""
    at = {
        (r["task"], r["method"], r["seed"], r["step"]): r
        for r in _read(MADE / "runs.csv")
    }
    rows = []
    for task in TASKS:
        for method, said in BESIDE.items():
            runs = [
                r
                for r in _read(MADE / "summary.csv")
                if (r["task"], r["method"]) == (task, method) and r["solved_at"]
            ]
            if not runs:
                continue
            keys = [(task, method, run["seed"], run["solved_at"]) for run in runs]
            shares = [float(at[k]["mixing_2"]) / float(at[k]["mixing_1"]) for k in keys]
            each = ", ".join(f"{share:.2f}" for share in shares)
            below = sum(share < 0.25 for share in shares)
            middle = f"{np.median(shares):.2f}"
            rows.append([task, said, middle, each, f"{below} of {len(shares)}"])
    head = ["task", "priors", "weight of the second / of `room` when solved, median"]
    return table([*head, "seed by seed", "below a quarter"], rows)


def _told(found: Times) -> list[str]:
    solved = f"{found.solved} of {len(found.each)}"
    first = "-" if found.first is None else f"{found.first:,.0f}"
    return [solved, f"{found.median:,.0f}", first, found.listed]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
