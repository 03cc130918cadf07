"""Claims: read from experiments, weighed by runs, shown and written."""

import csv

import numpy as np
import pytest

from folders import make_experiment, make_grid, make_run
from sfp.report.claims import Claim, check
from sfp.report.comparison import claim_rows, compare
from sfp.report.groups import group_runs
from sfp.report.html import write_report
from sfp.report.markdown import claims, table
from sfp.report.plots import save_figures
from sfp.report.records import read_runs
from sfp.report.results import read_results

CLAIM = {"text": "SFP beats <SAC>", "better": "SFP", "worse": "SAC"}


def compared(root):
    (section,) = read_results(root).sections
    return compare(section, np.random.default_rng(0))


def claims_of(root, *claims):
    make_experiment(root, claims=list(claims))
    return compared(root).claims


def test_verdicts_follow_the_runs(tmp_path):
    make_grid(tmp_path)
    right, wrong, absent, elsewhere = claims_of(
        tmp_path,
        CLAIM | {"tasks": ["maze", "corridor"]},
        CLAIM | {"better": "SAC", "worse": "SFP", "tasks": ["maze", "corridor"]},
        CLAIM | {"worse": "BC", "tasks": ["maze"]},
        CLAIM | {"tasks": ["room"]},
    )
    assert (right.verdict, wrong.verdict) == ("holds", "does not")
    assert (absent.verdict, elsewhere.verdict) == ("not run", "not run")
    assert float(right.pair.gap.value) == pytest.approx((40 + 101) / 2)
    assert float(wrong.pair.gap.value) == pytest.approx(-(40 + 101) / 2)
    assert right.pair.test.more == wrong.pair.test.less == 1 / 400
    assert right.more == wrong.less == 2 / 400  # of two claims that have runs
    assert (right.p, wrong.p) == ("0.0025 (0.005)", "opposite 0.0025 (0.005)")
    assert wrong.pair.tasks == ("corridor", "maze")


@pytest.mark.slow
def test_equal_runs_and_single_seeds_decide_nothing(tmp_path):
    make_grid(tmp_path / "one", seeds=1)
    (single,) = claims_of(tmp_path / "one", CLAIM | {"tasks": ["maze"]})
    assert (single.verdict, single.pair.gap.low) == ("too few runs: needs 4", None)
    make_grid(tmp_path / "same", seeds=4)
    same = CLAIM | {"worse": "SFP", "tasks": ["maze"]}
    (equal,) = claims_of(tmp_path / "same", same)
    assert (equal.verdict, float(equal.pair.better.value)) == ("undecided", 0.5)


def test_who_learns_sooner_shows_in_the_time_only(tmp_path):
    folders = []
    for seed in range(4):
        same = {"seed": seed, "level": 100.0 - seed}  # `make_run` adds the seed
        for method, step in (("sfp", 200), ("sac", 400)):
            folder = tmp_path / f"{method}-{seed}"
            folders.append(make_run(folder, method=method, solves_at=step, **same))
    groups, _ = group_runs(read_runs(folders))
    claims = [Claim("", "sfp", "sac", ("maze",), m) for m in ("final", "time")]
    final, time = (check([one], groups, np.random.default_rng(0))[0] for one in claims)
    assert (final.verdict, float(final.pair.gap.value)) == ("undecided", 0.0)
    assert (time.verdict, float(time.pair.gap.value)) == ("holds", 1.0)
    assert time.pair.test.more == 1 / 70


def test_hardly_later_has_a_margin_of_steps(tmp_path):
    for seed in range(4):
        for method, step in (("sfp", 300), ("sac", 200)):
            folder = tmp_path / "runs" / f"{method}-{seed}"
            make_run(folder, method=method, solves_at=step, seed=seed)
    groups, _ = group_runs(read_runs(sorted((tmp_path / "runs").iterdir())))
    claims = [
        Claim("", "sfp", "sac", ("maze",), "time", later=later)
        for later in (0, 100, 101)
    ]
    found = [check([one], groups, np.random.default_rng(0))[0] for one in claims]
    assert [one.verdict for one in found] == ["does not", "undecided", "holds"]
    assert [float(one.pair.gap.value) for one in found] == [-1.0, 0.0, 1.0]
    assert claims[1].tested == "sfp sooner than sac + 100 steps"


def test_runs_that_stop_when_they_are_solved_have_times_all_the_same(tmp_path):
    folders = []
    for seed in range(4):
        solved = {"seed": seed, "solves_at": 200, "steps": 300}
        folders.append(make_run(tmp_path / f"sfp-{seed}", **solved))
        never = {"method": "sac", "seed": seed, "solves_at": None}
        folders.append(make_run(tmp_path / f"sac-{seed}", **never))
    groups, _ = group_runs(read_runs(folders))
    claims = [Claim("", "sfp", "sac", ("maze",), m) for m in ("final", "time")]
    final, time = check(claims, groups, np.random.default_rng(0))
    assert (final.verdict, time.verdict) == ("undecided", "holds")


def test_at_once_is_at_the_first_evaluation(tmp_path):
    folders = []
    for seed in range(4):
        for method, step in (("parrot-state", 100), ("sfp", 200)):
            folder = tmp_path / f"{method}-{seed}"
            folders.append(make_run(folder, method=method, seed=seed, solves_at=step))
    groups, _ = group_runs(read_runs(folders))
    claim = Claim("", "parrot-state", "sfp", ("maze",), "at once")
    (found,) = check([claim], groups, np.random.default_rng(0))
    assert (found.verdict, float(found.pair.gap.value)) == ("holds", 1.0)
    apart = 1 - 2 * (1 - 0.0125 ** (1 / 4))  # Clopper and Pearson's limits, each way
    assert float(found.pair.gap.low) == pytest.approx(apart)
    assert float(found.pair.gap.high) == 1.0


@pytest.mark.parametrize(
    ("seeds", "solvers", "verdict"),
    [
        (6, 0, "holds"),
        (5, 0, "too few runs: needs 6"),
        (6, 1, "does not"),
        (1, 1, "does not"),
    ],
)
def test_one_solved_run_refutes_that_there_is_none(seeds, solvers, verdict, tmp_path):
    folders = [
        make_run(tmp_path / f"{i}", seed=i, solves_at=300 if i < solvers else None)
        for i in range(seeds)
    ]
    groups, _ = group_runs(read_runs(folders))
    claim = Claim("", "", "sfp", ("maze",), "solved")
    (found,) = check([claim], groups, np.random.default_rng(0))
    assert found.verdict == verdict
    assert float(found.pair.gap.value) == solvers / seeds
    assert found.pair.test.more == (1.0 if solvers else 0.5**seeds)
    if not solvers:
        assert float(found.pair.gap.high) == pytest.approx(1 - 0.025 ** (1 / seeds))


@pytest.mark.slow
def test_a_share_is_of_what_the_other_has(tmp_path):
    """SAC ends at 61 in `corridor` where SFP has 101: six tenths, not seven."""
    make_grid(tmp_path, seeds=9)
    asked = CLAIM | {"better": "SAC", "worse": "SFP", "tasks": ["corridor"]}
    shares = (0.5, 0.6, 0.7, 1.0)
    found = claims_of(tmp_path, *(asked | {"share": share} for share in shares))
    for share, one in zip(shares, found, strict=True):
        assert float(one.pair.gap.value) == pytest.approx(64 - share * 104)
    # All runs are solved: returns alone say "holds" and "does not".
    assert found[0].pair.test.more == pytest.approx(2 * 0.5**9, rel=1e-6)
    assert [one.verdict for one in found] == ["holds", *2 * ["undecided"], "does not"]
    lines = claims(compared(tmp_path)).splitlines()[2:]
    tested = [line.split(" | ")[1] for line in lines]
    assert tested == [*(f"SAC > {share} x SFP" for share in shares[:3]), "SAC > SFP"]


@pytest.mark.parametrize("cut", [{"finished": False}, {"steps": 400}])
def test_runs_that_had_less_time_decide_nothing(cut, tmp_path):
    for seed in range(2):
        make_run(tmp_path / f"runs/maze-sfp-s{seed}", seed=seed)
        folder = tmp_path / f"runs/maze-sac-s{seed}"
        make_run(folder, method="sac", seed=seed, solves_at=None, **cut)
    (claim,) = claims_of(tmp_path, CLAIM | {"tasks": ["maze"]})
    assert (claim.verdict, float(claim.pair.gap.value)) == ("undecided", 100.5)
    assert (claim.more, claim.less, claim.p) == (None, None, "-")
    found = compared(tmp_path)
    assert found.against["SAC"].verdict == "undecided"
    (note,) = [note for note in found.notes if "nothing is decided" in note]
    assert note.startswith("SAC and SFP: their runs are not all finished, or end at")


@pytest.mark.slow
def test_claims_are_in_the_report_and_on_disk(tmp_path):
    make_grid(tmp_path, seeds=4)
    make_experiment(tmp_path, claims=[CLAIM | {"tasks": ["maze"], "measure": "time"}])
    out = tmp_path / "report.html"
    (_, found), *_ = write_report(tmp_path, out, replays=False).compared
    page = out.read_text()
    assert "Claim by claim" in page
    assert "SFP beats &lt;SAC&gt;" in page
    files = {path.name: path for path in save_figures(found, tmp_path / "figures")}
    with files["claims.csv"].open() as file:
        (row,) = csv.DictReader(file)
    assert (row["verdict"], row["n"]) == ("holds", "4")
    assert row["measure"] == "sooner less later"
    assert (float(row["p"]), float(row["p holm"])) == (1 / 70, 1 / 70)
    assert (row["opposite p"], row["opposite p holm"]) == ("1.0", "1.0")
    assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
    assert {"final.csv", "runs.csv", "summary.csv", "curves.csv"} <= set(files)
    with files["summary.csv"].open() as file:
        assert {row["seed"] for row in csv.DictReader(file)} == set("0123")
    assert claim_rows(found)[0]["claim"] == "SFP beats <SAC>"
    tables = files["tables.md"].read_text()
    assert "| method | corridor | maze | mean over all tasks |" in tables
    solved = "4 of 4 (at least 40 %) at 300 | 0 [0, 0]; 0 of 4 (at most 60 %)"
    assert f"; {solved} | 30.75 [30" in tables
    (line,) = [line for line in tables.splitlines() if "SFP beats" in line]
    tested = "SFP > SAC | maze | sooner less later | 1 [1, 1] | 4 | 0.014 (0.014) | "
    assert line.startswith(f"| SFP beats <SAC> | {tested}")
    assert line.endswith(" | holds |")


def test_a_bar_in_a_name_does_not_break_a_table():
    lines = table(["a|b"], [["one\ntwo"]]).splitlines()
    assert lines == ["| a\\|b |", "| --- |", "| one two |"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"measure": "best"}, "unknown measure 'best'"),
        ({"later": True, "measure": "time"}, "expected later as a number of steps"),
        ({"later": 10}, "expected later as a number of steps, of time, received 10"),
        ({"later": -1, "measure": "time"}, "expected later as a number of steps"),
        ({"better": ""}, "expected a claim of one method as solved, received final"),
        ({"tasks": "maze"}, "expected tasks as a list of tasks"),
        ({"better": 3}, "expected better as text"),
        ({"share": "half"}, "expected share as a number above 0"),
        ({"share": -1}, "expected share as a number above 0"),
    ],
)
def test_a_damaged_claim_is_named(tmp_path, wrong, words):
    make_grid(tmp_path, seeds=1)
    make_experiment(tmp_path, claims=[CLAIM | wrong])
    (warning,) = read_results(tmp_path).warnings
    assert words in warning


def test_many_tasks_are_counted_and_what_was_not_run_is_left_out(tmp_path):
    for task in "abcd":
        for method in ("sfp", "sac"):
            make_run(
                tmp_path / "runs" / f"{task}-{method}-s0", task=task, method=method
            )
    tasks = {"tasks": list("abcd")}
    make_experiment(
        tmp_path,
        claims=[CLAIM | tasks, CLAIM | tasks | {"worse": "BC"}],
        aggregate=list("bcd"),
    )
    found = compared(tmp_path)
    assert found.everywhere == "b, c, d"
    assert claims(found).splitlines()[2:] == [
        "| SFP beats <SAC> | SFP > SAC | 4 tasks | final return | 0 (n = 1) | 1 | "
        "1 (1) | too few runs: needs 2 |"
    ]
