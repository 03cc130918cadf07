"""The tables of docs/results/sooner.md, from the single runs of results/sooner.

    python benchmarks/sooner.py [RUNS.csv]

They are printed, and written as tables.md beside the file, with the share of runs that
have solved each maze as solved.png. A row of the file is a run of `sfp reproduce
sooner`: when it met its first reward, when it had solved its task, and λ on the way.
Every p is one-sided, of a permutation test on Gehan's scores of the censored times.
Those with a verdict are corrected (Holm), on the point-mazes for the rows of all three
tables of comparisons together.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from sfp.exploration.figures import COLOURS, save
from sfp.report.markdown import table, times_table
from sfp.report.permutation import Outcome, gehan_scores, judge, permutation_test
from sfp.report.times import Times, find_times

RUNS = Path(__file__).parent.parent / "results" / "sooner" / "runs.csv"
MAZES = ("room", "maze", "corridor")
ARM = ("reach", "drawer-close", "window-close", "window-open")
UNSEEN = ("maze", "corridor")
OURS, LATE = "sfp-quick", 4_000
RIVALS = {
    "sfp": "`sfp`, the paper's",
    "sac-warm": "`sac-warm`",
    "sac-warm-quick": "`sac-warm`, its schedule",
    "sac-kl-quick": "`sac-kl`, its schedule",
    "sac-pink-quick": "`sac-pink`, its schedule",
    "quick-all-goals-met": "`sfp-quick`, all goals",
}
PARTS = {
    "quick-no-wait": "no wait: a warm-up of 10,000 steps",
    "quick-no-frontier": "no frontier",
    "quick-early": "updates from step 1,000 on, one a step",
    "quick-no-head-start": "no head start",
    "quick-no-catch-up": "no head start, no catching up",
    "quick-no-norm": "no layer normalisation",
    "quick-sampled": "the target of SFP",
    "quick-no-her": "no hindsight",
    "quick-all-goals": "Λ from all goals",
}
SCHEDULED = "sac-warm-quick", "sac-kl-quick", "sac-pink-quick"
"""Whom the schedule of ours is given to."""

Found = dict[tuple[str, str], Times]
Row = tuple[str, str, tuple[str, ...]]
Said = dict[Row, tuple[str, str]]
"""By kind of comparison, cell and tasks: p and the verdict."""


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    text = tables(path)
    path.with_name("tables.md").write_text(text, encoding="utf-8")
    save(figure(read(path)), path.with_name("solved.png"))
    print(text, end="")


def read(path: Path) -> Found:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {(times.task, times.label): times for times in find_times(rows, OURS)}


def figure(found: Found) -> Figure:
    """The share of runs that have solved each maze, over steps."""
    drawn = Figure((11.5, 3.4), layout="constrained")
    cells = {OURS: "`sfp-quick`"} | RIVALS
    for axis, task in zip(drawn.subplots(1, len(MAZES)), MAZES, strict=True):
        for i, (cell, said) in enumerate(cells.items()):
            if (task, cell) not in found:
                continue
            each = found[task, cell].each
            times = np.sort(each[each[:, 1] == 1, 0])
            x = np.r_[0.0, times, each[:, 0].max()]
            y = np.r_[0.0, np.arange(1, len(times) + 1), len(times)] / len(each)
            label = said.replace("`", "")
            style = dict(color=COLOURS[i], lw=2.2 if cell == OURS else 1.3, label=label)
            axis.step(x, y, where="post", **style)
        axis.set(title=task, xlabel="environment steps", ylim=(-0.02, 1.04))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.grid(alpha=0.3)
    drawn.axes[0].set_ylabel("share of runs that have solved it")
    handles, labels = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return drawn


def tables(path: Path) -> str:
    """Point-mazes, who is sooner than whom there, the parts, Meta-World."""
    found = read(path)
    rows, tests = zip(*mazes_tests(found), strict=True)
    said = dict(zip(rows, judged(tests), strict=True))
    rivals = {OURS: "`sfp-quick`"} | RIVALS
    timed = [
        times_table(
            [
                replace(found[task, cell], label=said)
                for task in tasks
                for cell, said in rivals.items()
                if (task, cell) in found
            ]
        )
        for tasks in (MAZES, ARM)
    ]
    mazes, arm = timed
    made = [mazes, compared(found, said), as_soon(found, said), parts(found, said)]
    return "\n\n".join([*made, arm, not_later(found)]) + "\n"


def mazes_tests(found: Found) -> list[tuple[Row, Outcome]]:
    """All comparisons on the point-mazes: ours sooner, others hardly later."""
    tests = [
        (("sooner", cell, tasks), sooner(found, cell, tasks))
        for cell in (*RIVALS, *PARTS)
        for tasks in (UNSEEN, ("room",))
        if all((task, cell) in found for task in tasks)
    ]
    for cell in SCHEDULED:
        kept = [[found[t, name].each for t in UNSEEN] for name in (cell, OURS)]
        margin = [each - [LATE, 0] for each in kept[0]]
        test = permutation_test(*gehan_scores(margin, kept[1]))
        tests.append((("hardly later", cell, UNSEEN), test))
    return tests


def compared(found: Found, said: Said) -> str:
    """Whether ours is sooner than each on the unseen mazes, and on `room`."""
    rows = [
        [RIVALS[cell], ", ".join(tasks), runs(found, cell, tasks), *ruled]
        for (kind, cell, tasks), ruled in said.items()
        if kind == "sooner" and cell in RIVALS
    ]
    return table(["sooner than", "on", "runs a task", "p (Holm)", "verdict"], rows)


def as_soon(found: Found, said: Said) -> str:
    """Whether others with its schedule are later than ours by less than a margin."""
    rows = []
    for (kind, cell, tasks), ruled in said.items():
        if kind == "hardly later":
            kept = [f"{found[task, cell].median:,.0f}" for task in tasks]
            rows.append([RIVALS[cell], *kept, runs(found, cell, tasks), *ruled])
    head = ["", *(f"`{task}`, median" for task in UNSEEN), "runs a task", "p (Holm)"]
    return table([*head, f"later by less than {LATE:,}"], rows)


def not_later(found: Found) -> str:
    """Whether ours is not later than the paper's by more than so many steps."""
    tasks = [t for t in ARM if (t, "sfp") in found]
    ruled = judged(
        permutation_test(
            *gehan_scores([found[t, OURS].each - [LATE, 0]], [found[t, "sfp"].each])
        )
        for t in tasks
    )
    rows = []
    for task, said in zip(tasks, ruled, strict=True):
        middle = [f"{found[task, m].median:,.0f}" for m in (OURS, "sfp")]
        rows.append([task, *middle, runs(found, "sfp", [task]), *said])
    head = ["task", "`sfp-quick`, median", "`sfp`, median", "runs", "p (Holm)"]
    return table([*head, f"not later by more than {LATE:,}"], rows)


def parts(found: Found, said: Said) -> str:
    """Ours without each of its parts, on the unseen mazes."""
    rows = [["nothing: `sfp-quick`", *medians(found, OURS), "-", "-"]]
    for (_, cell, _), ruled in said.items():
        if cell in PARTS:
            rows.append([PARTS[cell], *medians(found, cell), *ruled])
    head = ["without"]
    for task in UNSEEN:
        head += [f"`{task}`, median", f"`{task}` (thousand steps; seeds 20, 21, ...)"]
    return table([*head, "p (Holm)", "sooner with it"], rows)


def judged(tests: Iterable[Outcome]) -> list[tuple[str, str]]:
    """p before and after the correction, and the verdict, of each."""
    tests = list(tests)
    return [
        (f"{test.more:.2g} ({adjusted:.2g})", verdict)
        for test, (verdict, adjusted, _) in zip(tests, judge(tests), strict=True)
    ]


def medians(found: Found, cell: str) -> list[str]:
    each = [found[task, cell] for task in UNSEEN]
    return [said for one in each for said in (f"{one.median:,.0f}", one.listed)]


def runs(found: Found, cell: str, tasks: Sequence[str]) -> str:
    counts = {(len(found[t, OURS].each), len(found[t, cell].each)) for t in tasks}
    return "; ".join(f"{ours} and {theirs}" for ours, theirs in sorted(counts))


def sooner(found: Found, cell: str, tasks: Sequence[str]) -> Outcome:
    sides = [[found[task, name].each for task in tasks] for name in (OURS, cell)]
    return permutation_test(*gehan_scores(*sides))


if __name__ == "__main__":
    main()
