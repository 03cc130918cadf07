"""Returns over two parameters of tasks: what becomes a heat map, and what not."""

import csv

import numpy as np
import pytest

from folders import make_run
from sfp.cli import main
from sfp.report import plots
from sfp.report.comparison import compare
from sfp.report.heat import find_heats
from sfp.report.results import read_results

TASKS = {
    "hopper:threshold=1.0": 40.0,
    "hopper": 30.0,
    "hopper:bias=0.5,threshold=1.0": 20.0,
    "hopper:bias=0.5": 10.0,
}


def test_rows_and_columns_are_levels_in_their_order():
    (found,) = find_heats({(task, "SFP"): value for task, value in TASKS.items()})
    assert (found.task, found.label) == ("hopper", "SFP")
    assert found.axes == ("threshold", "bias")
    assert (found.rows, found.columns) == (("50%", "100%"), ("0", "0.5"))
    np.testing.assert_array_equal(found.values, [[40.0, 20.0], [30.0, 10.0]])
    assert found.cells()[1] == {
        "task": "hopper",
        "method": "SFP",
        "threshold": "50%",
        "bias": "0.5",
        "return": 20.0,
    }


def test_robots_are_averaged_at_the_same_share_of_what_is_far():
    far = {task.replace("hopper", "halfcheetah"): 3 * v for task, v in TASKS.items()}
    far = {task.replace("threshold=1.0", "threshold=6.0"): v for task, v in far.items()}
    returns = {(task, "SFP"): value for task, value in (TASKS | far).items()}
    del returns["halfcheetah", "SFP"]
    hopper, cheetah, over = find_heats(returns)
    assert (hopper.rows, cheetah.task, over.task) == (
        ("50%", "100%"),
        "halfcheetah",
        "all tasks",
    )
    np.testing.assert_array_equal(over.values, [[80.0, 40.0], [np.nan, 20.0]])
    assert len(over.cells()) == 3


def test_one_parameter_or_none_makes_no_map():
    assert find_heats({("maze", "a"): 1.0, ("corridor", "a"): 2.0}) == []
    assert find_heats({("hopper", "a"): 1.0, ("hopper:bias=0.5", "a"): 2.0}) == []
    assert find_heats({("my/Own-v0", "a"): 1.0, ("hopper", "a"): 2.0}) == []


@pytest.mark.slow
def test_figure_table_and_page_show_it(tmp_path, monkeypatch):
    for i, (task, level) in enumerate(TASKS.items()):
        make_run(tmp_path / "out" / f"run-{i}", task=task, level=level)
    found = compare(
        read_results(tmp_path / "out").sections[0], np.random.default_rng(0)
    )
    panel, *_ = plots.heat_figure(found).axes
    assert panel.get_title() == "sfp: hopper"
    assert [text.get_text() for text in panel.texts] == ["40", "20", "30", "10"]
    monkeypatch.setattr(plots, "save", lambda _, path: path)  # figures take long
    words = ["report", str(tmp_path / "out"), "--no-replays", "--figures"]
    main([*words, str(tmp_path / "figures")])
    with (tmp_path / "figures" / "out" / "heat.csv").open() as file:
        assert [row["return"] for row in csv.DictReader(file)] == [
            "40.0",
            "20.0",
            "30.0",
            "10.0",
        ]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Final return by threshold and bias" in page
    assert '<span style="--share:0.25">10</span>' in page
