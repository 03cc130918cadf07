"""Figures for print: what is drawn, and how it is written."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from folders import make_grid, make_run
from sfp.exploration.figures import COLOURS, save
from sfp.report import plots
from sfp.report.comparison import compare
from sfp.report.plots import (
    curves_figure,
    final_figure,
    improvement_figure,
    mixing_figure,
    overall_figure,
    save_figures,
)
from sfp.report.results import read_results


def compared(root):
    return compare(read_results(root).sections[0], np.random.default_rng(0))


@pytest.fixture
def found(tmp_path):
    return compared(make_grid(tmp_path / "grid"))


@pytest.mark.slow
def test_curves_have_bands_and_a_legend(found):
    figure = curves_figure(found, "return")
    first, second, *_ = figure.axes
    assert [first.get_title(), second.get_title()] == ["corridor", "maze"]
    assert [line.get_color() for line in first.lines] == list(COLOURS[:2])
    assert len(first.collections) == 2
    np.testing.assert_allclose(first.lines[0].get_ydata()[-1], 101.0)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["sfp", "sac"]


def test_the_legend_shows_the_styles_that_are_drawn(tmp_path):
    make_run(tmp_path / "a", method="sac")
    make_run(tmp_path / "b", method="sfp", bank=1)
    make_run(tmp_path / "c", method="sfp", bank=8)
    figure = mixing_figure(compared(tmp_path))
    shown = {line.get_label(): line for line in figure.legends[0].get_lines()}
    assert "sac" not in shown
    drawn = {line.get_color() for line in figure.axes[0].lines}
    assert {line.get_color() for line in shown.values()} == drawn


def test_bars_and_points_have_whiskers(found):
    bars = final_figure(found)
    titles = [axis.get_title() for axis in bars.axes if axis.has_data()]
    assert titles == [
        "corridor",
        "maze",
        "mean over all tasks",
        "IQM over all tasks",
    ]
    assert [patch.get_width() for patch in bars.axes[1].patches] == [101.0, 0.0]
    assert len(bars.axes[0].containers) == 4  # two bars, two whiskers
    beats = improvement_figure(found)
    assert [t.get_text() for t in beats.axes[0].get_yticklabels()] == ["sac\n1"]


def test_over_all_tasks(found):
    figure = overall_figure(found)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["mean over all tasks", "IQM over all tasks"]


def test_a_single_seed_says_so(tmp_path):
    found = compared(make_grid(tmp_path, seeds=1))
    labels = [t.get_text() for t in final_figure(found).axes[0].get_yticklabels()]
    assert labels[0].endswith("(n = 1)")
    assert not curves_figure(found, "return").axes[0].collections


@pytest.mark.slow
def test_png_and_svg(found, tmp_path, monkeypatch):
    blank = Figure((1, 1))  # drawing them all would take long
    monkeypatch.setattr(plots, "save", lambda figure, path: save(blank, path))
    files = save_figures(found, tmp_path / "figures")
    assert {file.suffix for file in files} == {".png", ".svg", ".csv", ".md"}
    assert len(files) == 2 * 7 + 4 + 1  # there are no claims
    assert all(file.is_file() for file in files)


def test_nothing_to_draw(tmp_path):
    make_run(tmp_path / "a", method="sac", steps=50)
    found = compared(tmp_path)
    (only,) = save_figures(found, tmp_path / "figures")
    assert only.name == "summary.csv"


def test_tasks_of_different_length_share_an_axis_in_percent(tmp_path):
    make_run(tmp_path / "a", task="maze", steps=400)
    make_run(tmp_path / "b", task="corridor", steps=800)
    axis, *_ = overall_figure(compared(tmp_path)).axes
    assert axis.get_xlabel() == "share of each task's steps"
    assert axis.xaxis.get_major_formatter()(0.5) == "50%"


def test_nothing_is_not_magnified(tmp_path):
    make_run(tmp_path / "a", solves_at=None)
    axis, *_ = curves_figure(compared(tmp_path), "return").axes
    assert axis.get_ylim() == (-0.05, 1.05)


def test_a_trifle_is_not_magnified(tmp_path):
    make_run(tmp_path / "a", task="maze")
    make_run(tmp_path / "b", task="corridor", solves_at=None)
    found = compared(tmp_path)
    assert found.least_height("maze", "return") == 0
    assert (
        found.least_height("corridor", "return")
        == found.panels["maze", "return"][0].found.value.max()
    )
    tall, flat = (axis.get_ylim()[1] for axis in curves_figure(found, "return").axes)
    assert flat == pytest.approx(tall, rel=0.1)
