"""Learning curves: runs of several tasks, finished or not, damaged or not."""

import json

import numpy as np
import pytest

from sfp.errors import SfpError
from sfp.report.curves import Walk, is_maze, runs_figure
from sfp.report.records import read_runs, summarise, tidy
from sfp.training.log import Log


def make(folder, *, task="maze", method="sfp", seed=0, steps=3, finished=False, **more):
    folder.mkdir()
    config = {"task": task, "method": method, "seed": seed, "mixture": more}
    (folder / "config.json").write_text(json.dumps(config))
    log = Log(folder)
    log.open(0)
    for step in range(100, 100 * steps + 1, 100):
        mixing = {f"mixing/{p}": 0.9 for p in ("mean", "p10", "p90")}
        log.write("train", step, mixing if method == "sfp" else {"losses/q": 0.5})
        values = {"eval/mean_reward": float(step), "eval/success_rate": 1.0}
        log.write("eval", step, values)
    log.close()
    if finished:
        (folder / "policy").mkdir()
    return folder


def test_a_row_for_each_task_and_a_line_for_each_method(tmp_path):
    runs = read_runs(
        [
            make(tmp_path / "a", finished=True),
            make(tmp_path / "b", task="room", finished=True),
            make(tmp_path / "c", method="sac", steps=0),
            tmp_path / "a",
        ]
    )
    assert [is_maze(run) for run in runs] == [True, True, False]
    assert summarise(runs[0]) == {
        "task": "maze",
        "method": "sfp",
        "seed": 0,
        "steps": 300,
        "first_reward": None,
        "solved_at": 100,
        "return": 300.0,
        "success": 1.0,
        "mixing": 0.9,
        "finished": False,
        "seconds": None,
    }
    empty = summarise(runs[2])
    assert (empty["steps"], empty["return"], empty["mixing"]) == (0, None, None)
    walk = [Walk(np.zeros((4, 2)), np.zeros(2), None)]
    figure = runs_figure(runs, {tmp_path / "a": walk, tmp_path / "b": walk * 2})
    assert len(figure.axes) == 8
    assert [axis.get_title() for axis in figure.axes[3::4]] == [
        "sfp: test episodes"
    ] * 2
    assert len(figure.axes[0].lines) == len(figure.axes[4].lines) == 1
    only_sac = runs_figure(read_runs([make(tmp_path / "d", method="sac")]), {})
    titles = [axis.get_title() for axis in only_sac.axes]
    assert titles == ["maze: Test return", "maze: Test success"]


def test_seeds_are_thin_lines_and_their_mean_a_thick_one(tmp_path):
    folders = [
        make(tmp_path / f"{i}", seed=i, steps=3 + i, context="executed")
        for i in range(3)
    ]
    folders += [make(tmp_path / "s", context="stream", bank=4)]
    runs = read_runs(folders)
    assert {run.label for run in runs[:3]} == {"sfp context=executed"}
    assert runs[3].label == "sfp context=stream, bank=4"
    figure = runs_figure(runs, {})
    lines = figure.axes[0].lines
    widths = [line.get_linewidth() for line in lines]
    assert sorted(widths) == [0.6, 0.6, 0.6, 1.9, 1.9]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["sfp context=executed", "sfp context=stream, bank=4"]
    mean = lines[widths.index(1.9)]
    np.testing.assert_array_equal(mean.get_xdata(), [100, 200, 300])
    np.testing.assert_array_equal(mean.get_ydata(), [100, 200, 300])


def test_tidy_rows_carry_lambda_beside_the_evaluation(tmp_path):
    with_prior, without = read_runs(
        [make(tmp_path / "a", steps=2), make(tmp_path / "b", method="sac", steps=1)]
    )
    assert tidy(with_prior)[1] == {
        "task": "maze",
        "method": "sfp",
        "seed": 0,
        "step": 200,
        "return": 200.0,
        "success": 1.0,
        "mixing_mean": 0.9,
        "mixing_p10": 0.9,
        "mixing_p90": 0.9,
    }
    assert tidy(without)[0]["mixing_mean"] is None


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"task": "maze"}'])
def test_what_is_no_run(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(SfpError, match="is no run: expected what `sfp train` wrote"):
        read_runs([tmp_path])


def test_a_damaged_table(tmp_path):
    folder = make(tmp_path / "a")
    path = folder / "eval.csv"
    path.write_text(path.read_text().replace("100,", "x,", 1))
    with pytest.raises(SfpError, match="is damaged"):
        read_runs([folder])
