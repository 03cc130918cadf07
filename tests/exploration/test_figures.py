"""Figures are written, and the same bits each time."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from sfp.data.trajectories import assemble
from sfp.envs.maze import get_layout
from sfp.errors import SfpError
from sfp.exploration.explorers import explore
from sfp.exploration.figures import (
    data_figure,
    distance_figure,
    save,
    spectrum_figure,
    trajectory_figure,
)
from sfp.report.tables import save_csv


def walks(task, count=2, **options):
    """Walks of as many explorers, named as the first ones are."""
    size = {"trajectories": 3, "steps": 20, "repetitions": 2, **options}
    return (explore(task, ["uniform", "scripted"], **size) * 2)[:count]


def recordings(dims=2, lengths=(30, 20, 40), **options):
    rng = np.random.default_rng(0)
    values = [rng.uniform(-1, 1, (n, dims)).astype(np.float32) for n in lengths]
    return assemble([{"actions": v} for v in values], source="here", **options)


def size_of(figure, tmp_path):
    """Save a figure, see that something is drawn, and return its width and height."""
    with Image.open(save(figure, tmp_path / "figure.png")) as picture:
        assert len(picture.convert("RGB").getcolors(10**6)) > 5
        return picture.size


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_same_figure_same_bits(suffix, tmp_path):
    walk = walks("room", 1)
    for name, draw in {
        "paths": lambda: trajectory_figure(get_layout("room"), walk),
        "data": lambda: data_figure(recordings()),
    }.items():
        files = [tmp_path / name / f"{number}.{suffix}" for number in (1, 2)]
        one, two = (save(draw(), file).read_bytes() for file in files)
        assert one == two
        assert one.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[suffix])
        assert sorted((tmp_path / name).iterdir()) == files  # and no draft


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_trajectories_side_by_side(count, tmp_path):
    found = walks("room", count)
    width, height = size_of(trajectory_figure(get_layout("room"), found), tmp_path)
    assert width / height == pytest.approx(count, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["corridor", "maze"])
def test_trajectories_among_walls(task, tmp_path):
    found = walks(task, 2)
    width, height = size_of(trajectory_figure(get_layout(task), found), tmp_path)
    if task == "corridor":  # one above the other
        assert width > 2 * height


def test_distances_are_drawn_as_they_were():
    far = np.maximum.accumulate(np.random.default_rng(0).uniform(size=(3, 50)), axis=1)
    found = [
        replace(one, distance=far * scale, success=np.array([scale]))
        for scale, one in zip((1.0, 0.5), walks("room", 2), strict=True)
    ]
    figure = distance_figure(found, 0.9, shown=2)
    for axis, exploration in zip(figure.axes, found, strict=True):
        (lines,), (mean, threshold) = axis.collections, axis.lines
        drawn = np.array(lines.get_segments())
        np.testing.assert_array_equal(drawn[:, :, 1], exploration.distance[:2])
        np.testing.assert_array_equal(drawn[0, :, 0], np.arange(50))
        np.testing.assert_allclose(mean.get_ydata(), exploration.distance.mean(axis=0))
        assert list(threshold.get_ydata()) == [0.9, 0.9]
        assert axis.get_title().endswith(f"success {exploration.success[0]:.2f}")


def test_the_lowest_panel_of_every_column_has_an_axis():
    far = np.linspace(0.0, 156.7, 50)[None]
    found = [
        replace(one, distance=far, success=np.array([1.0])) for one in walks("room", 2)
    ]
    figure = distance_figure(found * 3, 12.0)  # four above, two below
    used = [axis for axis in figure.axes if axis.axison]
    assert [axis.get_xlabel() for axis in used] == ["", "", *["step"] * 4]
    assert "156.7 m" in used[0].get_title()


def test_trajectories_are_drawn_where_they_went():
    found = walks("room", 1)
    (axis,) = trajectory_figure(get_layout("room"), found, shown=2).axes
    (lines,) = axis.collections
    for drawn, path in zip(lines.get_segments(), found[0].paths[:2], strict=True):
        np.testing.assert_array_equal(drawn, path)
    assert axis.get_title().startswith("uniform: coverage 0.")


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2, 3, 50])
def test_spectra(steps, tmp_path):
    actions = {w.name: w.actions for w in walks("room", 2, steps=steps)}
    size_of(spectrum_figure(actions), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "found",
    [
        recordings(),
        recordings(dims=1, lengths=(2,)),
        recordings(dims=9),
        recordings(lengths=(2, 2, 2, 2)),
        recordings(low=np.full(2, 5.0), high=np.full(2, 6.0)),
        recordings(low=np.full(2, -3.4e38), high=np.full(2, 3.4e38)),
        assemble([{"actions": np.ones((9, 2), np.float32)}], source="constant"),
        assemble([{"actions": np.full((9, 1), 1e9)}], source="large"),
    ],
    ids=["plain", "tiny", "nine", "short", "outside", "huge", "constant", "large"],
)
def test_recordings(found):
    figure = data_figure(found)
    figure.draw_without_rendering()
    values, excerpt, spectra = figure.axes
    assert len(values.patches) == found.dims
    assert len(excerpt.lines) == found.dims * min(3, len(found))
    assert len(spectra.lines) == 2


def test_histogram_shows_all_values_also_those_outside():
    found = recordings(dims=1, low=np.full(1, 0.5), high=np.full(1, 0.6))
    (patch,) = data_figure(found).axes[0].patches
    x = patch.get_xy()[:, 0]
    assert x.min() <= found.actions.min()
    assert x.max() >= found.actions.max()


def test_a_folder_in_the_way_is_one_line(tmp_path):
    (tmp_path / "a.png").mkdir()
    with pytest.raises(SfpError, match="is a folder: expected the name of a file"):
        save(spectrum_figure({"x": np.zeros((1, 9, 1))}), tmp_path / "a.png")


def test_csv_is_tidy_and_exact(tmp_path):
    rows = [{"name": "a, b", "value": 0.1}, {"name": "c", "value": 1 / 3, "more": 2}]
    path = save_csv(rows, tmp_path / "deep" / "table.csv")
    assert path.read_text().splitlines()[:2] == ["name,value,more", '"a, b",0.1,']
    with path.open() as file:
        read = list(csv.DictReader(file))
    assert [row["name"] for row in read] == ["a, b", "c"]
    assert [float(row["value"]) for row in read] == [0.1, 1 / 3]
