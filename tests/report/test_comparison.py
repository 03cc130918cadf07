"""Runs in groups, and methods side by side."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from folders import make_grid, make_run, sign
from sfp.report.comparison import compare, points
from sfp.report.groups import aggregate, curve, find_budgets, group_runs
from sfp.report.records import read_runs
from sfp.report.results import read_results
from sfp.report.stats import PAPER


def rng():
    return np.random.default_rng(0)


def compared(root):
    return compare(read_results(root).sections[0], rng())


def test_everything_of_a_grid(tmp_path):
    found = compared(make_grid(tmp_path))
    assert found.tasks == ("corridor", "maze")
    assert found.labels == ("sfp", "sac")  # the reference first
    assert set(found.panels) == {
        (task, metric)
        for task in found.tasks
        for metric in ("return", "success", "mixing")
    }
    final = {(f.task, f.label): f for f in found.finals}
    ours, theirs = final["maze", "sfp"], final["maze", "sac"]
    assert (float(ours.found.value), ours.last) == (101.0, 101.0)
    assert (ours.solved, ours.solved_at, ours.success, ours.n) == (3, 300.0, 1.0, 3)
    assert (theirs.solved, theirs.solved_at, theirs.success) == (0, None, 0.0)
    assert float(found.totals["mean"]["sac"].value) == pytest.approx(61 / 2)
    assert float(found.totals["IQM"]["sac"].value) == pytest.approx((0 * 2 + 121) / 4)
    ((other, against),) = found.against.items()
    assert (other, against.verdict) == ("sac", "holds")
    assert float(against.pair.better.value) == 1.0
    assert float(against.pair.gap.value) == pytest.approx((40 + 101) / 2)
    assert found.notes == []


def test_the_default_of_training_is_compared_with_the_others(tmp_path):
    make_run(tmp_path / "a", method="sac", solves_at=None)
    make_run(tmp_path / "b", method="sfp-quick")
    assert compared(tmp_path).labels == ("sfp-quick", "sac")


def test_a_single_seed_decides_nothing(tmp_path):
    found = compared(make_grid(tmp_path, seeds=1))
    assert found.against["sac"].verdict == "too few runs: needs 3"
    assert all(final.found.low is None and final.n == 1 for final in found.finals)


def test_curves_are_smoothed_and_lambda_is_not(tmp_path):
    folders = [make_run(tmp_path / f"{i}", seed=i, solves_at=500) for i in range(2)]
    (group,), _ = group_runs(read_runs(folders))
    returned, mixing = (curve(group, m, rng(), PAPER) for m in ("return", "mixing"))
    assert returned is not None
    assert mixing is not None
    np.testing.assert_array_equal(returned.x, np.arange(100, 900, 100))
    expected = 100.5 * np.array([0, 0, 0, 0, 1, 2, 3, 4]) / 5
    np.testing.assert_allclose(returned.found.value, expected)
    np.testing.assert_allclose(mixing.found.value[3:5], [0.9505, 0.0505])
    np.testing.assert_array_equal(returned.seeds[1][1][-2:], [101.0, 101.0])
    (alone,), _ = group_runs(read_runs(folders[:1]))
    measured = curve(alone, "return", rng(), PAPER)
    np.testing.assert_allclose(measured.found.value, 100.0 * (np.arange(8) > 3))


def test_budgets_of_tasks_may_differ(tmp_path):
    one = make_run(tmp_path / "a", task="maze", steps=400, solves_at=100)
    two = make_run(tmp_path / "b", task="room", steps=1000, solves_at=100)
    groups, _ = group_runs(read_runs([one, two]))
    found = aggregate(groups, find_budgets(groups), rng(), PAPER)
    assert found is not None
    np.testing.assert_allclose(found.x, np.arange(3, 11) / 10)  # from 100 of 400 on
    np.testing.assert_allclose(found.found.value, 100.0)
    same, _ = group_runs(
        read_runs([two, make_run(tmp_path / "c", task="maze", steps=1000)])
    )
    assert find_budgets(same) is None
    assert aggregate(same, None, rng(), PAPER).x[-1] == 1000


def test_all_methods_share_one_axis_over_tasks(tmp_path):
    for task, method in itertools.product(("maze", "room"), ("sfp", "sac")):
        steps = 400 if (task, method) == ("maze", "sac") else 800
        folder = tmp_path / f"{task}-{method}"
        make_run(folder, task=task, method=method, steps=steps, solves_at=100)
    ours, theirs = compared(tmp_path).overall["mean"]
    np.testing.assert_allclose(ours.x, np.arange(1, 9) / 8)
    np.testing.assert_allclose(theirs.x, np.arange(1, 5) / 8)  # as far as it got
    np.testing.assert_allclose(theirs.found.value, 100.0)


def test_of_two_runs_alike_the_finished_one_counts(tmp_path):
    make_run(tmp_path / "a", steps=400, finished=False)
    make_run(tmp_path / "b", steps=300)
    make_run(tmp_path / "c", steps=800)
    found = compared(tmp_path)
    assert [run.folder.name for run in found.groups[0].runs] == ["c"]
    assert "b and a are both sfp on maze with seed 0: only b counts." in found.notes
    assert "c and b are both sfp on maze with seed 0: only c counts." in found.notes


def test_a_setting_that_an_earlier_version_did_not_have(tmp_path):
    make_run(tmp_path / "a", seed=0)
    make_run(tmp_path / "b", seed=1, bank=8)  # the default
    assert compared(tmp_path).labels == ("sfp",)
    make_run(tmp_path / "c", seed=2, bank=4)
    assert "sfp bank=4" in compared(tmp_path).labels


def test_what_readers_should_know(tmp_path):
    make_run(tmp_path / "a", seed=0)
    make_run(tmp_path / "b", seed=1, steps=600)
    make_run(tmp_path / "c", seed=2, steps=200, solves_at=None, finished=False)
    make_run(tmp_path / "d", seed=0)
    make_run(tmp_path / "e", task="room", finished=False)
    make_run(tmp_path / "f", task="room", method="sac", steps=50)
    found = compared(tmp_path)
    notes = " ".join(found.notes)
    assert "d and a are both sfp on maze with seed 0: only a counts." in notes
    assert "runs end at different steps (600, 800)" in notes
    assert "seed 2 was stopped at 200 steps; it is drawn but not counted" in notes
    assert "sfp on room: seed 0 was stopped at 800 steps; what is shown" in notes
    assert "sac on room: seed 0 has no evaluation yet" in notes
    assert "sac is not in the averages over tasks: no results on maze, room" in notes
    final = next(f for f in found.finals if f.task == "maze")
    assert (final.n, float(final.found.value)) == (2, (100 + 101) / 2)
    drawn = found.panels["maze", "return"][0]
    assert list(drawn.seeds) == [0, 1, 2]
    assert drawn.x[-1] == 600


def test_numbers_that_are_none_are_told(tmp_path):
    folder = make_run(tmp_path / "a")
    path = folder / "eval.csv"
    path.write_text(path.read_text().replace("800,100,", "800,nan,"))
    sign(folder)
    found = compared(tmp_path)
    assert "seed 0 holds numbers that are not finite" in found.notes[0]
    assert np.isnan(found.finals[0].found.value)


def test_the_rows_behind_a_chart(tmp_path):
    found = compared(make_grid(tmp_path, seeds=2))
    rows = points(found.panels["maze", "return"])
    assert rows[0] == {
        "method": "sfp",
        "seed": "all",
        "step": 100,
        "value": 0.0,
        "low": 0.0,
        "high": 0.0,
        "n": 2,
    }
    assert {row["seed"] for row in rows} == {"all", 0, 1}
    assert len(rows) == 2 * 8 * (1 + 2)


def test_other_tasks_may_be_left_out_of_averages(tmp_path):
    section = read_results(make_grid(tmp_path)).sections[0]
    found = compare(replace(section, tasks=("maze",)), rng())
    assert float(found.totals["mean"]["sac"].value) == 0.0
    assert found.overall == {}
    assert (found.averaged, found.everywhere) == (("maze",), "")


def test_averages_are_over_tasks_of_one_kind(tmp_path):
    make_run(tmp_path / "a", task="maze")
    make_run(tmp_path / "b", task="room")
    assert compared(tmp_path).everywhere == "all tasks"
    make_run(tmp_path / "c", task="Pendulum-v1", level=-100.0)
    found = compared(tmp_path)
    assert (found.everywhere, found.overall) == ("", {})
    assert "their rewards are of different kinds" in " ".join(found.notes)


def test_the_climb_is_no_part_of_a_final_return_that_ended_solved(tmp_path):
    given = dict(steps=400, solves_at=300, level=90.0)
    make_run(tmp_path / "a", **given)
    assert compared(tmp_path).finals[0].found.value == pytest.approx(60.0)
    make_run(tmp_path / "b", task="room", **given, until_solved=True)
    assert compared(tmp_path).finals[1].found.value == pytest.approx(90.0)


def test_a_return_solves_where_success_is_not_told(tmp_path):
    folder = make_run(tmp_path / "a", task="MountainCarContinuous-v0", level=93.6)
    rows = [line.split(",") for line in (folder / "eval.csv").read_text().splitlines()]
    rows[1:] = [[*row[:3], "", *row[4:]] for row in rows[1:]]  # no success
    (folder / "eval.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    sign(folder)
    found = compared(tmp_path)
    assert (found.finals[0].solved, found.finals[0].solved_at) == (1, 300.0)
    assert found.solving_return("MountainCarContinuous-v0") == 90.0
