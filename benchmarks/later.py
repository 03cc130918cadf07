"""Whether some runs solve their tasks later than others by more than so many steps.

    python benchmarks/later.py OURS.csv THEIRS.csv [--by 4000]

The files are summaries of runs that `sfp curves` writes. Each row of what is printed is
one task and label of the first file beside all runs of the task in the second: when
every seed solved it, the medians (a run that did not counts as later than any), and p
of "not later by more than that": an exact test over all relabellings, on Gehan's scores
of the censored times, ours taken to be that much sooner. Verdicts are after Holm's
correction over the rows.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from sfp.report.permutation import gehan_scores, judge, permutation_test


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ours", type=Path)
    parser.add_argument("theirs", type=Path)
    parser.add_argument("--by", type=int, default=4000)
    given = parser.parse_args()
    theirs = {task: times for (task, _), times in read(given.theirs).items()}
    ours = {key: times for key, times in read(given.ours).items() if key[0] in theirs}
    tests = [
        permutation_test(*gehan_scores([times - [given.by, 0]], [theirs[task]]))
        for (task, _), times in ours.items()
    ]
    verdicts = judge(tests)
    for (key, times), test, verdict in zip(ours.items(), tests, verdicts, strict=True):
        others = theirs[key[0]]
        print(", ".join(key))
        print(f"  solved at {told(times)}; the others at {told(others)}")
        print(f"  n = {len(times)} and {len(others)}, p = {test.more:.3g}", end=" ")
        print(f"({verdict[1]:.3g}), later by more: p = {test.less:.3g}; {verdict[0]}")


def read(path: Path) -> dict[tuple[str, str], np.ndarray]:
    """(step, whether it was solved then) of every run, by task and label."""
    found = defaultdict(list)
    with path.open() as file:
        for row in csv.DictReader(file):
            when = row["solved_at"]
            time = float(when or row["steps"]), float(bool(when))
            found[row["task"], row["method"]].append(time)
    return {key: np.array(times) for key, times in found.items()}


def told(times: np.ndarray) -> str:
    listed = "; ".join(f"{step:,.0f}" if solved else "not" for step, solved in times)
    middle = np.median(np.where(times[:, 1] == 1, times[:, 0], np.inf))
    return f"{listed} (median {middle:,.0f})"


if __name__ == "__main__":
    main()
