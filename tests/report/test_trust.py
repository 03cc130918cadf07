"""The picture of whom a mixture of several priors trusts."""

import csv
import json

import numpy as np
from matplotlib.colors import to_hex

from folders import make_run, sign
from sfp.exploration.figures import COLOURS
from sfp.report.comparison import compare
from sfp.report.curves import runs_figure
from sfp.report.groups import title_of
from sfp.report.results import read_results
from sfp.report.trust import POLICY, trust_figure, weights_of


def make_mixture(folder, names, seed, weights, **run):
    """A run whose priors have these weights in every row."""
    make_run(folder, seed=seed, **run)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"priors": names}))
    with (folder / "train.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {f"mixing/{k + 1}": weight for k, weight in enumerate(weights)}
    with (folder / "train.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    sign(folder)


def found(root):
    (section,) = read_results(root).sections
    return compare(section, np.random.default_rng(0))


def test_areas_are_the_mean_weights_of_priors_and_the_rest_is_the_policys(tmp_path):
    for seed, weights in enumerate([(0.5, 0.25), (0.7, 0.05)]):
        make_mixture(tmp_path / f"run-{seed}", ["room", "pink"], seed, weights)
    (axis,) = trust_figure(found(tmp_path)).axes
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in axis.collections]
    np.testing.assert_allclose(tops, [0.6, 0.75, 1.0], rtol=1e-6)
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == ["room", "pink", "policy"]
    colours = [to_hex(area.get_facecolor()[0]) for area in axis.collections]
    assert colours == [to_hex(one) for one in (*COLOURS[:2], POLICY)]


def test_a_run_that_ends_sooner_stays_as_it_was(tmp_path):
    for seed, (steps, weights) in enumerate([(400, (0.5, 0.1)), (800, (0.3, 0.3))]):
        folder = tmp_path / f"run-{seed}"
        make_mixture(folder, ["a", "b"], seed, weights, steps=steps)
    (group,) = found(tmp_path).groups
    steps, weights = weights_of(group)
    assert steps.tolist() == list(range(100, 900, 100))
    np.testing.assert_allclose(weights, np.repeat([[0.4], [0.2]], 8, axis=1))


def test_panels_bear_the_priors_names_and_are_left_out_where_there_is_no_prior(
    tmp_path,
):
    make_mixture(tmp_path / "two", ["room", "pink"], 0, (0.5, 0.25))
    make_run(tmp_path / "one", task="corridor", method="sac")
    whole = found(tmp_path)
    assert title_of("prior-2", whole.groups) == "λ of pink"
    assert title_of("return", whole.groups) == "Test return"
    runs = [run for group in whole.groups for run in group.runs]
    axes = runs_figure(runs, {}).axes
    drawn = {axis.get_title() for axis in axes if axis.axison}
    maze = {title for title in drawn if title.startswith("maze")}
    assert {"maze: λ of room", "maze: λ of pink"} <= maze
    assert drawn - maze
    assert not any("λ of" in title for title in drawn - maze)


def test_there_is_none_of_a_single_prior(tmp_path):
    make_run(tmp_path / "run")
    assert trust_figure(found(tmp_path)) is None
