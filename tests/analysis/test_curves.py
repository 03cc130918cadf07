"""Learning curves: runs of several tasks, finished or not, damaged or not."""

import json

import numpy as np
import pytest

from sfp.analysis.curves import curves_figure, is_maze, read_run, summarise
from sfp.errors import SfpError
from sfp.training.log import Log


def make(folder, *, task="maze", method="sfp", seed=0, steps=3, finished=False):
    folder.mkdir()
    config = {"task": task, "method": method, "seed": seed}
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


def test_a_line_for_each_run(tmp_path):
    runs = [
        read_run(make(tmp_path / "a", finished=True)),
        read_run(make(tmp_path / "b", task="room", finished=True)),
        read_run(make(tmp_path / "c", method="sac", steps=0)),
    ]
    assert [is_maze(run) for run in runs] == [True, True, False]
    assert summarise(runs[0]) == {
        "run": str(tmp_path / "a"),
        "task": "maze",
        "method": "sfp",
        "seed": 0,
        "steps": 300,
        "solved_at": 100,
        "return": 300.0,
        "success": 1.0,
        "mixing": 0.9,
    }
    empty = summarise(runs[2])
    assert (empty["steps"], empty["return"], empty["mixing"]) == (0, None, None)
    walk = [np.zeros((4, 2))]
    paths = {tmp_path / "a": walk, tmp_path / "b": walk * 2}
    figure = curves_figure(runs, paths)
    assert len(figure.axes) == 5
    assert len(figure.axes[0].lines) == len(figure.axes[2].lines) == 2
    titles = [axis.get_title() for axis in figure.axes[3:]]
    assert titles == [f"sfp on {t}, seed 0: test episodes" for t in ("maze", "room")]
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert len(set(labels)) == 2


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"task": "maze"}'])
def test_what_is_no_run(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(SfpError, match="is no run: expected what `sfp train` wrote"):
        read_run(tmp_path)


def test_a_damaged_table(tmp_path):
    folder = make(tmp_path / "a")
    path = folder / "eval.csv"
    path.write_text(path.read_text().replace("100,", "x,", 1))
    with pytest.raises(SfpError, match="is damaged"):
        read_run(folder)
