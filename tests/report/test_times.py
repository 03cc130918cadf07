"""When tasks were solved: medians, censored runs, λ, and what tables keep of it."""

import csv

import numpy as np
import pytest

from folders import make_run
from sfp.cli import main
from sfp.report import plots
from sfp.report.comparison import compare
from sfp.report.markdown import times_table
from sfp.report.results import read_results


def make_timed(root):
    """SFP solves the maze at 300, 400 and 500; SAC once at 700 and else not at all."""
    for seed in range(3):
        solves = 300 + 100 * seed
        make_run(
            root / "runs" / f"sfp-{seed}",
            seed=seed,
            solves_at=solves,
            steps=solves + 100,
            first_reward=150,
            until_solved=True,
        )
        make_run(
            root / "runs" / f"sac-{seed}",
            method="sac",
            seed=seed,
            solves_at=700 if seed == 0 else None,
            first_reward=250 if seed == 0 else None,
            until_solved=True,
        )
    return root


@pytest.fixture
def found(tmp_path):
    root = make_timed(tmp_path / "out")
    return compare(read_results(root).sections[0], np.random.default_rng(0))


def test_times_of_both_methods(found):
    ours, theirs = found.times
    assert (ours.label, ours.solved, ours.median, ours.listed) == (
        "sfp",
        3,
        400.0,
        "0.3, 0.4, 0.5",
    )
    assert (ours.first, ours.after, ours.p) == (150.0, 250.0, None)
    assert ours.ninetieth == pytest.approx(np.percentile([300, 400, 500], 90))
    assert ours.mixing == pytest.approx((0.951, 0.051, 0.051))
    assert (theirs.solved, theirs.median, theirs.listed) == (1, 800.0, "0.7, not, not")
    assert (theirs.first, theirs.after, theirs.mixing) == (250.0, 450.0, None)
    assert theirs.p == pytest.approx(1 / 20)  # of 20 relabellings none is as clear


def test_the_share_of_runs_that_have_solved_it(found):
    ours, theirs = found.panels["maze", "solved"]
    assert list(ours.x) == [100, 200, 300, 400, 500, 600]
    np.testing.assert_allclose(ours.found.value, np.array([0, 0, 1, 2, 3, 3]) / 3)
    np.testing.assert_allclose(theirs.found.value[-3:], [0, 1 / 3, 1 / 3])
    assert ours.found.low is None


def test_markdown_has_a_row_each(found):
    *_, ours, theirs = times_table(found.times).splitlines()
    assert ours == (
        "| maze | sfp | 3 of 3 | 400 | 480 | 150 | 250 | 0.95, 0.05, 0.05 | "
        "0.3, 0.4, 0.5 | - |"
    )
    assert theirs.endswith(
        "| 1 of 3 | 800 | 800 | 250 | 450 | - | 0.7, not, not | 0.05 |"
    )


def test_runs_of_fixed_length_have_none(tmp_path):
    make_run(tmp_path / "a")
    found = compare(read_results(tmp_path).sections[0], np.random.default_rng(0))
    assert found.times == []
    assert ("maze", "solved") not in found.panels


@pytest.mark.slow
def test_saved_tables_give_the_same_times(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "save", lambda _, path: path)  # figures take long
    make_timed(tmp_path / "out")
    for source, target in (("out", "saved"), ("saved", "again")):
        words = ["report", str(tmp_path / source), "--no-replays", "--figures"]
        main([*words, str(tmp_path / target)])
    saved, again = (tmp_path / name / "out" for name in ("saved", "again"))
    for name in ("times.csv", "tables.md", "summary.csv"):
        assert (again / name).read_text() == (saved / name).read_text()
    with (saved / "times.csv").open() as file:
        assert [row["solved"] for row in csv.DictReader(file)] == ["3", "1"]
    assert "Time until solved" in (tmp_path / "out" / "report.html").read_text()
