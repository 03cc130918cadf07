"""Results folders: what is there is read, what is damaged is named and left out."""

import json
import os
import re
from pathlib import Path

import pytest

from folders import make_experiment, make_grid, make_run
from sfp.errors import SfpError
from sfp.report.results import read_results, reason


def change(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_any_tree_of_runs_is_one_section_named_after_its_folder(tmp_path):
    make_run(tmp_path / "mine" / "deep" / "a")
    make_run(tmp_path / "mine" / "b", method="sac", finished=False)
    found = read_results(tmp_path / "mine")
    (section,) = found.sections
    assert (section.name, section.title) == ("mine", "mine")
    assert [run.method for run in section.runs] == ["sac", "sfp"]
    assert [run.end is None for run in section.runs] == [True, False]
    assert found.warnings == ()


def test_a_run_itself_may_be_given(tmp_path):
    (section,) = read_results(make_run(tmp_path / "a")).sections
    assert len(section.runs) == 1


@pytest.mark.slow
def test_policies_and_priors_are_no_runs(tmp_path):
    make_run(tmp_path / "a", policy=True)
    (tmp_path / "prior").mkdir()
    (tmp_path / "prior" / "config.json").write_text("{}")
    found = read_results(tmp_path)
    assert len(found.sections[0].runs) == 1
    assert found.warnings == ()


def damage_config(folder):
    (folder / "config.json").write_text('{"task": ')


def damage_types(folder):
    change(folder / "config.json", task=["maze"])


def damage_seed(folder):
    change(folder / "config.json", seed="0")


def damage_table(folder):
    (folder / "eval.csv").write_text("step,eval/mean_reward\n100,x\n")


def damage_columns(folder):
    (folder / "eval.csv").write_text("time,price\n100,1\n")


def damage_bytes(folder):
    (folder / "train.csv").write_bytes(b"\xff\xfe\x00")


def damage_field(folder):
    text = (folder / "eval.csv").read_text()
    (folder / "eval.csv").write_text(text + '"' + "1" * 200_000 + "\n")


def damage_length(folder):
    """The last evaluations of a run that ended are gone."""
    lines = (folder / "eval.csv").read_text().splitlines(keepends=True)
    (folder / "eval.csv").write_text("".join(lines[:-2]))


def damage_returns(folder):
    rows = (folder / "eval.csv").read_text().replace("eval/mean_reward,", "")
    (folder / "eval.csv").write_text(re.sub(r"(?m)^(\d+),[^,]*,", r"\1,", rows))


def damage_link(folder):
    (folder / "eval.csv").unlink()
    (folder / "eval.csv").symlink_to("eval.csv")


def damage_nesting(folder):
    (folder / "versions.json").write_text("[" * 100_000)


def damage_size(folder):
    config = json.loads((folder / "config.json").read_text()) | {"seed": 10**400}
    (folder / "config.json").write_text(json.dumps(config))


def damage_task(folder):
    config = json.loads((folder / "config.json").read_text()) | {"task": "\ud800"}
    (folder / "config.json").write_text(json.dumps(config))


def damage_order(folder):
    lines = (folder / "eval.csv").read_text().splitlines()
    (folder / "eval.csv").write_text("\n".join([*lines, lines[1], ""]))


def damage_depth(folder):
    (folder / "config.json").write_text("[" * 100_000)


def damage_end(folder):
    (folder / "finished.json").write_text("[]")


def damage_versions(folder):
    (folder / "versions.json").write_text("")


def lose_config(folder):
    (folder / "config.json").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        damage_config,
        damage_types,
        damage_seed,
        damage_table,
        damage_columns,
        damage_bytes,
        *(damage_field, damage_length, damage_returns, damage_link),
        *(damage_nesting, damage_size, damage_task),
        damage_order,
        damage_depth,
        damage_end,
        damage_versions,
        lose_config,
    ],
)
def test_a_damaged_run_is_named_and_left_out(tmp_path, damage):
    make_run(tmp_path / "good")
    damage(make_run(tmp_path / "bad"))
    found = read_results(tmp_path)
    assert [run.folder.name for run in found.sections[0].runs] == ["good"]
    (warning,) = found.warnings
    assert warning.startswith("left out bad: ")
    assert str(tmp_path) not in warning


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    make_run(tmp_path / "in" / "good")
    outside = make_run(tmp_path / "outside")
    (tmp_path / "in" / "linked").symlink_to(outside)
    half = tmp_path / "in" / "half"
    half.mkdir()
    for name in os.listdir(outside):
        (half / name).symlink_to(outside / name)
    found = read_results(tmp_path / "in")
    assert [run.folder.name for run in found.sections[0].runs] == ["good"]
    assert found.warnings == ("left out half: config.json leads out of the results.",)


def test_folders_of_runs_without_one_are_named(tmp_path):
    make_grid(tmp_path, seeds=1)
    runs = tmp_path / "runs"
    (runs / "begun").mkdir()
    (runs / "begun" / "lock").touch()
    (runs / "stranger").mkdir()
    (runs / "stranger" / "params.yaml").write_text("{}")
    (runs / "figures").mkdir()
    (runs / "figures" / "curves.png").touch()
    make_run(runs / "deeper" / "here", seed=5)
    names = ("begun", "maze-sfp-s0", 300 * "x")
    make_experiment(tmp_path, cells=[{"folder": f"runs/{name}"} for name in names])
    found = read_results(tmp_path)
    assert found.warnings == (
        "left out runs/begun: it holds no run (yet).",
        "left out runs/stranger: it holds no run (yet).",
    )
    assert found.sections[0].missing == (f"runs/{names[2]}",)
    assert len(found.sections[0].runs) == 1


def test_one_name_for_two_methods_is_told_apart(tmp_path):
    make_run(tmp_path / "runs/a", method="sac", seed=0)
    make_run(tmp_path / "runs/b", method="sfp", seed=1)
    cells = [{"folder": f"runs/{name}", "label": "SFP"} for name in "ab"]
    make_experiment(tmp_path, cells=cells)
    (section,) = read_results(tmp_path).sections
    assert [run.label for run in section.runs] == ["SFP method=sac", "SFP method=sfp"]


def test_nothing_to_report(tmp_path):
    with pytest.raises(SfpError, match=r"there is no run in .*expected folders"):
        read_results(tmp_path)
    with pytest.raises(SfpError, match="is no folder"):
        read_results(tmp_path / "nowhere")
    damage_config(make_run(tmp_path / "bad"))
    with pytest.raises(SfpError, match="left out bad"):
        read_results(tmp_path)


def test_an_experiment_names_its_runs(tmp_path):
    make_grid(tmp_path, seeds=2)
    path = make_experiment(tmp_path)
    make_run(tmp_path / "runs" / "zz-extra-s0", method="pink")
    cells = json.loads(path.read_text())["cells"]
    cells.append({"folder": "runs/maze-bc-s0", "label": "BC", "kind": "train"})
    cells.append({"folder": "explore/room", "kind": "explore"})
    make_experiment(tmp_path, cells=cells, aggregate=["maze"])
    transfer, others = read_results(tmp_path).sections
    assert transfer.title == "Transfer to <unseen> tasks"
    assert {run.label for run in transfer.runs} == {"SFP", "SAC"}
    assert transfer.missing == ("runs/maze-bc-s0",)
    assert transfer.tasks == ("maze",)
    assert (others.title, len(others.runs)) == ("Other runs", 1)


def test_an_experiments_own_folder_lacks_the_runs(tmp_path):
    make_experiment(make_grid(tmp_path, seeds=1))
    with pytest.raises(
        SfpError, match=r"its runs lie beside it: give the folder above"
    ):
        read_results(tmp_path / "transfer")


def test_different_settings_under_one_name_are_told_apart(tmp_path):
    make_run(tmp_path / "runs" / "maze-sfp-s0", seed=0, bank=8)
    make_run(tmp_path / "runs" / "maze-sfp-s1", seed=1, bank=1)
    make_experiment(tmp_path)
    found = read_results(tmp_path)
    labels = [run.label for run in found.sections[0].runs]
    assert labels == ["SFP bank=8", "SFP bank=1"]
    assert "runs with different settings are called SFP" in found.warnings[0]


def test_what_an_earlier_version_does_not_tell_is_no_difference(tmp_path):
    before = {"beside": "one", "scout": 0}  # which meant nothing
    for seed, told in enumerate(({}, {"beside": "one"}, before)):
        make_run(tmp_path / "runs" / f"maze-sfp-s{seed}", seed=seed, **told)
    make_experiment(tmp_path)
    found = read_results(tmp_path)
    assert {run.label for run in found.sections[0].runs} == {"SFP"}
    assert not found.warnings


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": 2}, 'expected an object with "format": 1'),
        ({"title": 3}, "expected title as text"),
        ({"cells": "x"}, "expected cells as a list of objects"),
        ({"cells": [{"folder": "../elsewhere"}]}, "expected a path inside the results"),
        ({"cells": [{"folder": "/etc"}]}, "expected a path inside the results"),
        ({"cells": [{"folder": ""}]}, "expected a path inside the results"),
        ({"cells": [{"folder": "link/a"}]}, "leads out of the results"),
        ({"cells": [{"folder": "a\0b"}]}, "leads nowhere"),
        ({"title": "\udfff"}, "surrogates not allowed"),
        ({"aggregate": "maze"}, "expected aggregate as a list of tasks"),
        ({"figures": [{"path": "x.exe"}]}, "expected figures as .png or .svg"),
        ({"tables": [{"path": "../x.csv"}]}, "expected a path inside the results"),
    ],
)
def test_a_forged_experiment_is_named_and_its_runs_stay(tmp_path, changes, reason):
    root = tmp_path / "in"
    make_run(root / "runs" / "a")
    (tmp_path / "out" / "a").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path / "out")
    held = {"format": 1, "name": "x", "cells": []} | changes
    (root / "x").mkdir()
    (root / "x" / "experiment.json").write_text(json.dumps(held))
    found = read_results(root)
    assert [run.folder.name for run in found.sections[-1].runs] == ["a"]
    (warning,) = found.warnings
    one = "cells" in changes and isinstance(changes["cells"], list)
    assert warning.startswith("x: left out " if one else "left out x/experiment.json: ")
    assert reason in warning


def test_a_run_that_is_not_the_one_that_is_meant(tmp_path):
    make_run(tmp_path / "runs" / "maze-sfp-s0")
    cell = {"folder": "runs/maze-sfp-s0", "label": "SFP", "seed": 7}
    make_experiment(tmp_path, cells=[cell])
    found = read_results(tmp_path)
    said = "left out runs/maze-sfp-s0: it holds seed 0, the experiment says 7."
    assert found.warnings == (f"transfer: {said}",)
    assert [len(section.runs) for section in found.sections] == [0, 1]


def test_names_stand_for_one_section_each(tmp_path):
    make_run(tmp_path / "runs" / "maze-sfp-s0")
    for folder, name in (("a", "Runs"), ("b", "x y"), ("c", "x-y"), ("d", "../..")):
        make_experiment(tmp_path, folder, name=name)
    names = [section.name for section in read_results(tmp_path).sections]
    assert names == ["runs", "x-y", "x-y-2", "section"]


def test_a_folder_may_be_called_like_a_word():
    """`run` is one in "run `pip install ...`"."""
    run, kept = Path("run"), SfpError("pygame is missing, run `pip`: see run/policy.")
    assert reason(run, run, kept) == "run: pygame is missing, run `pip`: see policy."
    said = SfpError("run holds no policy.")
    assert reason(run, run, said) == "run: it holds no policy."
    deep = Path("results/run")
    said = SfpError("the file of results/run is damaged.")
    assert reason(deep.parent, deep, said) == "run: the file of it is damaged."


def test_explorations_join_the_runs(tmp_path):
    make_run(tmp_path / "a")
    for name in ("explore-room.csv", "explore-room.png", "explore-room-psd.png"):
        (tmp_path / name).write_text("")
    (section,) = read_results(tmp_path).sections
    assert [table.title for table in section.tables] == ["Explorers in room"]
    assert [figure.title for figure in section.figures] == [
        "Explorers in room",
        "Power spectra of their actions in room",
    ]
    assert all(isinstance(figure.path, Path) for figure in section.figures)
