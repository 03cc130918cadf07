"""The tables of docs/results/several.md, from the runs of results/several/mixtures.

    python benchmarks/mixtures.py

They are printed, and written as mixtures.md beside the tables of `sfp report`: runs of
`sfp-quick` with two priors, against those with the state-free prior alone
(results/sooner/runs.csv), by what a toss is for (results/several/learning), what does
and does not make them late on `corridor` (causes.csv), how long they wait for a reward
(waits.csv), what the last changes brought (before.csv, changes.csv), and what Λ loses
by less data (parts.csv, against before.csv). p is one-sided, of a permutation test on
Gehan's scores of the censored times, corrected for the rows of the table (Holm); in the
last table it is that of a sign test.
"""

import csv
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from sfp.report.markdown import table
from sfp.report.permutation import gehan_scores, judge, permutation_test
from sfp.report.times import Times, find_times

RESULTS = Path(__file__).parent.parent / "results"
SEVERAL = RESULTS / "several"
MADE = SEVERAL / "mixtures"
ALONE, LATE = "sfp-quick", 4_000
BESIDE = {
    "state-free and behavioural": "`room` and `room-state`",
    "state-free and uniform": "`room` and `uniform`",
    "state-free and pink": "`room` and `pink`",
}
TASKS = ("maze", "corridor")
EPISODE = "state-free and behavioural"
TOSSES = {
    EPISODE: "episode",
    f"{EPISODE}, 10 steps a toss": "10 steps",
    f"{EPISODE}, a step a toss": "step",
}


def main() -> None:
    text = tables()
    (MADE / "mixtures.md").write_text(text, encoding="utf-8")
    print(text, end="")


def tables() -> str:
    """All of them, in the order of the page."""
    solved = times(), weights(), changed(), isolated(), tosses()
    reasons = causes(), waits(), parts()
    return "\n\n".join([*solved, *reasons]) + "\n"


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


def changed() -> str:
    """When tasks were solved before exploring episodes were led, and since then."""
    old, new = (
        {(t.task, t.label): t for t in find_times(_read(path), "")}
        for path in (SEVERAL / "before.csv", MADE / "summary.csv")
    )
    rows, pairs = [], [(t, m) for t in TASKS for m in BESIDE if (t, m) in new]
    for task, label in pairs:
        both = old[task, label], new[task, label]
        medians = [f"{one.median:,.0f}" for one in both]
        rows.append([task, BESIDE[label], *medians, *(one.listed for one in both)])
    test = permutation_test(
        *gehan_scores([new[p].each for p in pairs], [old[p].each for p in pairs])
    )
    rows.append(["all", "", "", "", "", f"sooner than before: p {test.more:.2g}"])
    head = ["task", "priors", "before, median", "now, median"]
    said = "thousand steps, seed by seed"
    return table([*head, f"before, {said}", f"now, {said}"], rows)


def isolated() -> str:
    """When tasks were solved with each of the changes, all else being the same."""
    kin: dict[str, dict[str, list[str]]] = {}
    for row in _read(SEVERAL / "changes.csv"):
        of = kin.setdefault(row["variant"], {task: [] for task in TASKS})
        of[row["task"]].append(row["solved_at"])
    rows = [
        [variant]
        + [
            cell
            for solved in of.values()
            for cell in (
                f"{np.median([float(step) for step in solved]):,.0f}",
                ", ".join(f"{int(step) // 1000}" for step in solved),
            )
        ]
        for variant, of in kin.items()
    ]
    said = [f"`{task}`, {what}" for task in TASKS for what in ("median", "each")]
    return table(["`room` and `room-state`", *said], rows)


def tosses() -> str:
    """When tasks were solved, by what a toss is for."""
    rows = _read(MADE / "summary.csv") + _read(SEVERAL / "learning" / "summary.csv")
    found = {(t.task, t.label): t for t in find_times(rows, "")}
    kept = [found[task, EPISODE].each for task in TASKS]
    others = [label for label in TOSSES if label != EPISODE]
    tests = [
        permutation_test(*gehan_scores(kept, [found[t, label].each for t in TASKS]))
        for label in others
    ]
    ruled = dict(zip(others, zip(tests, judge(tests), strict=True), strict=True))
    made = []
    for label, said in TOSSES.items():
        p, verdict = "-", "-"
        if label in ruled:
            test, (verdict, corrected, _) = ruled[label]
            p = f"{test.more:.2g} ({corrected:.2g})"
        cells = [
            cell
            for task in TASKS
            for cell in (
                f"{found[task, label].solved} of {len(found[task, label].each)}",
                f"{found[task, label].median:,.0f}",
                found[task, label].listed,
            )
        ]
        made.append([said, *cells, p, verdict])
    head = [
        f"`{task}`, {what}"
        for task in TASKS
        for what in ("solved", "median", "thousand steps, seed by seed")
    ]
    return table(["a toss per", *head, "p (Holm)", "an episode is sooner"], made)


def causes() -> str:
    """What `corridor` takes with one prior and with two, and with which changes."""
    kin: dict[str, list[dict[str, str]]] = {}
    for row in _read(SEVERAL / "causes.csv"):
        kin.setdefault(row["variant"], []).append(row)
    rows = []
    for variant, runs in kin.items():
        first, solved = (
            ", ".join(f"{int(run[name]):,}" for run in runs)
            for name in ("first_reward", "solved_at")
        )
        after = (int(run["solved_at"]) - int(run["first_reward"]) for run in runs)
        rows.append([variant, first, solved, f"{np.median(list(after)):,.0f}"])
    head = ["priors", "first reward", "solved at", "from there to solved, median"]
    return table(head, rows)


def waits() -> str:
    """How long priors wait for their first reward, without learning."""
    kin: dict[tuple[str, str], list[tuple[int, bool]]] = {}
    for row in _read(SEVERAL / "waits.csv"):
        met = int(row["first_reward"] or row["limit"]), bool(row["first_reward"])
        kin.setdefault((row["task"], row["explorer"]), []).append(met)
    each = {key: np.array(steps, float) for key, steps in kin.items()}
    (one, two), tasks = (
        dict.fromkeys(e for _, e in each),
        dict.fromkeys(t for t, _ in each),
    )
    tests = [
        permutation_test(*gehan_scores([each[t, one]], [each[t, two]])) for t in tasks
    ]
    ruled = dict(zip(tasks, zip(tests, judge(tests), strict=True), strict=True))
    rows = []
    for (task, said), steps in each.items():
        test, (verdict, corrected, _) = ruled[task]
        middle, late = np.percentile(steps[:, 0], (50, 90))
        told = [task, said, str(len(steps)), f"{middle:,.0f}", f"{late:,.0f}"]
        longer = [f"{test.more:.2g} ({corrected:.2g})", verdict]
        rows.append([*told, *(longer if said == two else "--")])
    head = ["task", "priors", "runs", "median", "90th percentile"]
    return table([*head, "p (Holm)", "waits longer"], rows)


def parts() -> str:
    """How much later tasks are solved if Λ's loss takes a K-th of each batch.

    Pairs of runs of one seed whose first rewards came at the same step: up to there
    they are the same.
    """
    whole = _read(SEVERAL / "before.csv")
    known = {(r["task"], r["method"], r["seed"]): r for r in whole}
    kin: dict[tuple[str, str], list[float]] = {}
    for row in _read(SEVERAL / "parts.csv"):
        other = known[row["task"], row["method"], row["seed"]]
        if row["first_reward"] == other["first_reward"]:
            ends = (float(r["solved_at"] or r["steps"]) for r in (row, other))
            first, second = ends
            kin.setdefault((row["method"], row["task"]), []).append(first - second)
    said = BESIDE | {f"{EPISODE}, 10 steps a toss": f"{BESIDE[EPISODE]}, 10 steps"}
    rows = [
        [task, said[method], ", ".join(f"{gap / 1000:+.0f}" for gap in gaps)]
        for (method, task), gaps in kin.items()
    ]
    every = [gap for gaps in kin.values() for gap in gaps]
    later, sooner = (sum(sign * gap > 0 for gap in every) for sign in (1, -1))
    p = binomtest(later, later + sooner, alternative="greater").pvalue
    told = f"{later} later, {sooner} sooner, {len(every)} in all; p {p:.2g}"
    rows.append(["all", "", told])
    return table(["task", "priors", "later by (thousand steps), pair by pair"], rows)


def _told(found: Times) -> list[str]:
    solved = f"{found.solved} of {len(found.each)}"
    first = "-" if found.first is None else f"{found.first:,.0f}"
    return [solved, f"{found.median:,.0f}", first, found.listed]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
