"""The command line: tables, one JSON document, and errors of one line."""

import csv
import ctypes.util
import importlib.metadata
import json
import math
import os
import shutil
import subprocess
import sys
import warnings
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image, ImageSequence

import sfp
from probes import linear_prior
from sfp.cli import COMMANDS, main
from sfp.cli.console import show
from sfp.exploration import figures
from sfp.training.trained import Trained

SFP = Path(sys.executable).with_name("sfp")
MAP = "#######\n#S...G#\n#######"
SMALL = ("--episodes", "4", "--steps", "30")
WALK = ("--trajectories", "2", "--steps", "10", "--repetitions", "2")
NAME = "sfp/room/scripted-v0"
Result = namedtuple("Result", "code out err")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder; returns exit code, stdout and stderr."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*args):
        capsys.readouterr()
        code = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def blank(monkeypatch):
    """Figures are saved without their content, which is quicker."""
    save = figures.save
    monkeypatch.setattr(
        figures, "save", lambda figure, path: save(Figure((1, 1)), path)
    )


@pytest.fixture
def collected(run):
    assert run("collect", "room", *SMALL).code == 0
    return NAME


def document(result):
    """The one JSON document on stdout, without NaN or infinity."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    assert (result.code, result.err) == (0, "")
    return json.loads(result.out, parse_constant=refuse)


def one_line(result, *words):
    """One line on stderr that begins with `sfp: `, nothing else, exit code 2."""
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("sfp: ")
    assert result.err.count("\n") == 1
    assert result.err.endswith("\n")
    for word in words:
        assert word in result.err
    return True


# --- tables and documents -----------------------------------------------------------

COMMAND_LINES = {
    "collect": ("collect", "room", *SMALL, "--force"),
    "data": ("data", NAME),
    "explore": ("explore", "room", *WALK),
    "list": ("list",),
    "doctor": ("doctor",),
}


@pytest.mark.slow
@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("command", COMMAND_LINES)
def test_json_has_the_rows_and_columns_of_the_table(run, collected, command):
    line = COMMAND_LINES[command]
    table, rows = run(*line), document(run(*line, "--json"))["rows"]
    assert (table.code, table.err) == (0, "")
    header = [text.split() for text in table.out.splitlines()]
    assert list(rows[0]) in header
    first = header.index(list(rows[0])) + 2
    printed = [cells[0] for cells in header[first : first + len(rows)]]
    assert printed == [str(next(iter(row.values()))).split()[0] for row in rows]
    assert all(list(row) == list(rows[0]) for row in rows)


@pytest.mark.parametrize("columns", [2, 30])
def test_a_table_too_wide_for_the_terminal_is_turned(capsys, monkeypatch, columns):
    monkeypatch.setenv("TERM", "dumb")  # 80 characters wide
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    values = {f"value_{i}": 1 / (i + 3) for i in range(columns)}
    rows = [{"explorer": name, **values} for name in ("uniform", "scripted")]
    show(rows, json=False, title="a title")
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    if columns == 2:
        assert lines[1] == ["explorer", "value_0", "value_1"]
        assert lines[3] == ["uniform", "0.3333", "0.25"]
    else:
        assert lines[1] == ["explorer", "uniform", "scripted"]
        assert lines[3] == ["value_0", "0.3333", "0.3333"]
        assert len(lines) == 3 + columns


def test_rows_that_lack_a_column_stay_under_the_right_heads(capsys):
    rows = [{"a": 1, "b": 2, "end": "x"}, {"a": 3, "end": "y", "more": 4}]
    show(rows, json=False)
    head, first, second = (
        line.split()
        for line in capsys.readouterr().out.splitlines()
        if line.split()[1:]
    )
    assert head == ["a", "b", "end", "more"]
    assert (first, second) == (["1", "2", "x", "-"], ["3", "-", "y", "4"])
    show(rows, json=True)
    assert json.loads(capsys.readouterr().out)["rows"][1] == {
        "a": 3,
        "b": None,
        "end": "y",
        "more": 4,
    }


def test_json_has_no_nan(capsys):
    show([{"a": math.nan, "b": [1.5, -math.inf]}], json=True, more=(math.inf,))
    held = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert held == {"more": [None], "rows": [{"a": None, "b": [1.5, None]}]}


def test_a_table_in_a_pipe_is_never_cut(capsys):
    show([{"path": "x" * 300, **{f"v{i}": i for i in range(99)}}], json=False)
    assert "x" * 300 in capsys.readouterr().out


def test_collect(run, datasets):
    result = run("collect", "room", *SMALL, "--seed", "3", "--json")
    data = sfp.load(NAME)
    assert document(result)["rows"] == [
        {
            "dataset": NAME,
            "episodes": 4,
            "steps": 120,
            "fingerprint": data.fingerprint[:16],
            "path": str(datasets / NAME),
        }
    ]
    again = run("collect", "room", *SMALL, "--seed", "3", "--force", "--json")
    assert again.out == result.out
    other = run("collect", "room", *SMALL, "--name", "me/other-v1", "--json")
    row = document(other)["rows"][0]
    assert row["dataset"] == "me/other-v1"
    assert row["fingerprint"] != data.fingerprint[:16]  # of seed 0
    assert f"sfp data {NAME}" in run("collect", "room", *SMALL, "--force").out


@pytest.mark.slow
def test_data(run, collected):
    result = document(run("data", collected, "--json"))
    assert [row["dimension"] for row in result["rows"]] == [0, 1]
    assert result["summary"]["episodes"] == 4
    assert result["summary"]["columns"] == "actions"
    assert result["warnings"] == ["only 120 steps: a prior wants tens of thousands."]
    assert result["figures"] == ["figures/data-sfp-room-scripted-v0.png"]
    assert Path(result["figures"][0]).read_bytes().startswith(b"\x89PNG")
    text = run("data", collected, "--out", "deep/er").out
    assert Path("deep/er/data-sfp-room-scripted-v0.png").is_file()
    assert "warning: only 120 steps" in text
    assert "fingerprint  " + result["summary"]["fingerprint"] in text


@pytest.mark.slow
@pytest.mark.usefixtures("blank")
def test_data_options(run, collected):
    def summary(*options):
        return document(run("data", collected, "--json", *options))["summary"]

    columns = summary("--columns", "observations", "goals")["columns"]
    assert columns == "actions, observations, goals"
    whole, half = summary(), summary("--keep", "0.5")
    assert (whole["episodes"], half["episodes"]) == (4, 2)
    noisy = summary("--uniform", "0.5")
    assert noisy["episodes"] == 4
    prints = {s["fingerprint"] for s in (whole, half, noisy)}
    assert len(prints) == 3
    assert summary("--uniform", "0.5") == noisy
    assert summary("--uniform", "0.5", "--seed", "1") != noisy


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize(
    ("given", "name"),
    [("a.npz", "data-a.npz.png"), ("./a.npz", "data-a.npz.png"), ("a b.npz", None)],
)
def test_data_of_a_file(run, given, name):
    np.savez(given, actions=np.random.default_rng(0).random((5, 9, 2)))
    result = document(run("data", given, "--json"))
    assert result["figures"] == [f"figures/{name or 'data-a-b.npz.png'}"]
    assert result["summary"]["source"] == str(Path(given))


@pytest.mark.usefixtures("blank")
def test_data_of_a_path_longer_than_a_file_name(run):
    folder = Path(*["x" * 60] * 6)
    folder.mkdir(parents=True)
    np.savez(folder / "a.npz", actions=np.random.default_rng(0).random((5, 9, 2)))
    (figure,) = document(run("data", folder / "a.npz", "--json"))["figures"]
    assert Path(figure).is_file()


@pytest.mark.usefixtures("blank")
def test_data_drops_short_episodes_when_asked(run):
    actions = np.random.default_rng(0).random((9, 2))
    np.savez("a.npz", actions=actions, episode_lengths=[5, 1, 3])
    one_line(run("data", "a.npz"), "episode 1 has 1 action(s)", "--drop-short")
    found = document(run("data", "a.npz", "--drop-short", "--json"))
    assert found["summary"]["episodes"] == 2


@pytest.mark.slow
def test_explore(run):
    line = ("explore", "room", *WALK, "--explorer", "uniform", "--explorer", "scripted")
    result = document(run(*line, "--json"))
    assert list(result["rows"][0])[:4] == [
        *("explorer", "coverage", "coverage_std", "gyration")
    ]
    assert [row["explorer"] for row in result["rows"]] == ["uniform", "scripted"]
    assert result["task"] == "room"
    assert result["figures"] == [
        *("figures/explore-room.png", "figures/explore-room-psd.png"),
        *("figures/explore-room-psd.csv", "figures/explore-room.csv"),
    ]
    for figure in result["figures"][:2]:
        assert Path(figure).read_bytes().startswith(b"\x89PNG")
    with Path(result["figures"][3]).open() as file:
        saved = list(csv.DictReader(file))
    for row, line_of in zip(result["rows"], saved, strict=True):
        assert {k: str(v) for k, v in row.items()} == line_of
    assert document(run(*line, "--json")) == result
    assert document(run(*line, "--seed", "1", "--json"))["rows"] != result["rows"]
    one = document(run("explore", "room", *WALK, "--explorer", "scripted", "--json"))
    assert one["rows"] == result["rows"][1:]


@pytest.mark.slow
@pytest.mark.usefixtures("blank")
def test_explorers_are_filmed_or_refused_before_anything_is_written(run):
    line = ("explore", "room", *WALK, "--out", "pictures")
    for words, said in [
        (("--video", "film.avi"), "expected a .mp4, .gif or .webp, received film.avi"),
        (("--explorer", "scripted", "--video", "film.gif"), "besides the scripted one"),
    ]:
        refused = run(*line, *words)
        assert (refused.code, refused.out) == (2, "")
        assert said in refused.err
        assert not Path("pictures").exists()
    words = ("--explorer", "uniform", "--explorer", "scripted", "--video", "film.gif")
    made = document(run(*line, *words, "--json"))
    assert made["figures"][-1] == "film.gif"
    with Image.open("film.gif") as film:
        assert len(list(ImageSequence.Iterator(film))) > 1


@pytest.mark.slow
@pytest.mark.usefixtures("blank")
def test_explored_priors_are_called_by_their_last_name(run, blank, monkeypatch):
    prior = linear_prior(deviation=0.5, k=1, dims=2)
    monkeypatch.setattr("sfp.priors.store.load_prior", lambda name: prior)
    line = ("explore", "room", *WALK, "--explorer", "uniform", "--json")

    def rows(*priors):
        words = [word for prior in priors for word in ("--prior", prior)]
        return document(run(*line, *words))["rows"]

    here, there = rows("one/mine"), rows("/other/mine")
    assert here == there
    assert here[1]["explorer"] == "prior mine"
    both = [row["explorer"] for row in rows("one/mine", "other/mine")]
    assert both == ["uniform", "prior one/mine", "prior other/mine"]


@pytest.mark.slow
def test_a_map_of_ones_own(run):
    Path("mine.txt").write_text(MAP)
    row = document(run("collect", "mine.txt", *SMALL, "--json"))["rows"][0]
    assert row["dataset"] == "sfp/mine/scripted-v0"
    result = document(run("explore", "mine.txt", *WALK, "--json"))
    assert result["task"] == "mine"
    assert Path("figures/explore-mine.png").is_file()
    Path("my map.txt").write_text(MAP)
    row = document(run("collect", "my map.txt", *SMALL, "--json"))["rows"][0]
    assert row["dataset"] == "sfp/my-map/scripted-v0"
    assert run("collect", "my map.txt", *SMALL, "--name", "me/map-v0").code == 0


@pytest.mark.slow
def test_a_generated_maze_everywhere_under_one_name(run):
    name = "maze:size=small,seed=7"
    row = document(run("collect", name, *SMALL, "--json"))["rows"][0]
    assert row["dataset"] == "sfp/maze-seed-7-size-small/scripted-v0"
    result = document(run("explore", name, *WALK, "--json"))
    assert result["task"] == "maze-seed-7-size-small"
    one_line(run("explore", "maze:seed=7,size=tiny", *WALK), "small or medium or large")


@pytest.mark.slow
def test_a_trained_policy_records(run):
    given = (
        "--method",
        "sac",
        "--warmup",
        "50",
        "--update-after",
        "50",
        "--batch",
        "8",
    )
    given += ("--steps", "100", "--eval-every", "100", "--eval-episodes", "1")
    name = "maze:size=small,seed=7"
    assert run("train", name, *given, "--out", "runs/mine").code == 0
    config = json.loads(Path("runs/mine/config.json").read_text())
    assert config["task"] == "maze:seed=7,size=small"
    assert config["env"].startswith("map ")
    line = ("collect", name, *SMALL, "--policy", "runs/mine", "--json")
    row = document(run(*line))["rows"][0]
    assert row["dataset"] == "sfp/maze-seed-7-size-small/mine-v0"
    policy = Trained.load("runs/mine")
    again = sfp.record(name, policy, episodes=4, steps=30, name="me/again-v0")
    assert again.fingerprint[:16] == row["fingerprint"]
    held = sfp.load("me/again-v0", columns=("observations", "goals"))
    obs = {"observation": held.observations, "desired_goal": held.goals}
    np.testing.assert_allclose(policy.predict(obs), held.actions, atol=1e-6)
    one_line(run(*line[:-2], "nowhere", "--json"), "no trained policy in nowhere")


@pytest.mark.slow
def test_expert_is_an_old_word_for_a_policy(run):
    pytest.importorskip("metaworld")
    line = ("collect", "window-close", "--episodes", "1", "--steps", "5")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        old = run(*line, "--expert")
    assert old.code == 0
    assert old.err == (
        "sfp: warning: --expert (expert=True) is old: write --policy expert "
        "(policy='expert').\n"
    )
    new = document(run(*line, "--policy", "expert", "--force", "--json"))["rows"][0]
    assert new["dataset"] == "sfp/window-close/expert-v0"


def test_list(run, collected):
    rows = document(run("list", "--json"))["rows"]
    names = {(row["kind"], row["name"]) for row in rows}
    assert {("task", t) for t in ("room", "corridor", "maze", "room-large")} <= names
    assert {("explorer", "uniform"), ("explorer", "scripted")} <= names
    assert ("dataset", NAME) in names
    for kind in ("tasks", "explorers", "datasets"):
        only = document(run("list", kind, "--json"))["rows"]
        assert only == [row for row in rows if row["kind"] == kind[:-1]]


def test_tasks_are_listed_with_their_parameters(run):
    rows = document(run("list", "tasks", "--json"))["parameters"]
    told = {(row["parameter"], row["tasks"]) for row in rows}
    assert {("bias", "all"), ("seed", "maze")} <= told
    assert ("pixels", "all of point-maze, all of meta-world") in told
    assert ("threshold", "ant, hopper, swimmer") in told
    shown = run("list", "tasks").out
    assert "a whole number from 1 to 16" in shown
    assert max(map(len, shown.splitlines())) < 150


def test_list_of_nothing(run):
    result = run("list", "datasets")
    assert (result.code, result.out) == (0, "There are no datasets yet.\n")
    assert document(run("list", "datasets", "--json")) == {"rows": []}


@pytest.mark.slow
def test_no_arguments_print_help(run):
    result = run()
    assert result.code == 0
    assert result.out == run("--help").out
    for command in COMMANDS:
        assert command in result.out
        assert run(command, "--help").code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, shell):
    result = run("--print-completion", shell)
    assert (result.code or 0, result.err) == (0, "")
    assert "--past-actions" in result.out
    one_line(run("--print-completion", "cmd"), "received cmd", shell)


@pytest.mark.slow
def test_help_names_values_as_people_do(run):
    for command in COMMANDS:
        text = run(command, "--help").out
        assert "None}" not in text.replace("(default: None", "")
        assert "STR" not in text
    assert "--no-replays  leave out the replays" in run("report", "--help").out
    wide = run("train", "--help").out
    assert "[TRAIN OPTIONS] TASK" in wide
    assert "--track {wandb,trackio}" in wide
    one_line(run("train", "maze", "--out", "x", "--warmup-by", "me"), "'uniform'")


@pytest.mark.slow
def test_an_option_that_may_be_left_out_takes_none(run):
    line = ("explore", "room", *WALK, "--explorer", "uniform", "--json")
    rows = document(run(*line, "--solved-at", "None"))["rows"]
    assert [row["explorer"] for row in rows] == ["uniform"]


def test_version(run):
    result = run("--version")
    assert (result.code, result.out) == (0, f"sfp {sfp.__version__}\n")


# --- doctor -------------------------------------------------------------------------


def checks(result):
    return {row["check"]: row for row in json.loads(result.out)["rows"]}


def test_doctor_finds_all(run):
    result = run("doctor", "--json")
    rows = checks(result)
    assert result.code == 0
    assert rows["numpy"]["found"] == np.__version__
    assert rows["cores"]["found"].endswith(f"usable of {os.cpu_count()}")
    assert "cpu" in rows["jax device"]["found"]
    assert {"python", "sfp", "jax", "minari", "rendering", "datasets"} <= set(rows)
    assert all(row["status"] in ("ok", "optional") for row in rows.values())
    assert "All that is needed is there." in run("doctor").out


def test_doctor_names_a_missing_package(run, monkeypatch):
    found = importlib.metadata.version

    def version(name):
        if name == "pyarrow":
            raise importlib.metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    result = run("doctor", "--json")
    assert result.code == 1
    assert checks(result)["pyarrow"] == {
        "check": "pyarrow",
        "status": "missing",
        "found": "-",
        "remedy": "pip install pyarrow",
    }
    text = run("doctor")
    assert text.code == 1
    assert "All that is needed" not in text.out


@pytest.mark.parametrize("module", ["jax", "sfp.data.sources.minari"])
def test_doctor_survives_what_cannot_be_imported(run, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    result = run("doctor", "--json")
    assert result.code == 1
    missing = [r for r in checks(result).values() if r["status"] == "missing"]
    assert [row["check"] for row in missing] == [
        "jax device" if module == "jax" else "datasets"
    ]
    assert missing[0]["remedy"]


def test_doctor_sees_a_folder_that_may_not_be_written(run, datasets, monkeypatch):
    remedy = "set MINARI_DATASETS_PATH to a folder that you may write to"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("doctor", "--json")
    assert result.code == 1
    assert checks(result)["datasets"]["remedy"] == remedy
    monkeypatch.undo()


def test_doctor_sees_a_file_in_the_place_of_the_datasets(run, datasets):
    datasets.write_text("not a folder")
    result = run("doctor", "--json")
    assert result.code == 1
    assert checks(result)["datasets"]["found"] == f"{datasets} is not writable"


def test_doctor_mentions_little_space_and_no_opengl(run, monkeypatch):
    usage = namedtuple("usage", "total used free")(2**40, 2**40, 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    result = run("doctor", "--json")
    rows = checks(result)
    assert result.code == 0
    assert rows["datasets"]["status"] == rows["rendering"]["status"] == "optional"
    assert "0.0 GiB free" in rows["datasets"]["found"]
    assert "apt-get install" in rows["rendering"]["remedy"]


# --- errors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("collect rooom", "unknown task 'rooom': did you mean room"),
        ("collect nowhere.txt", "there is no map at nowhere.txt"),
        ("collect room --episodes 0", "episodes of at least 1, received 0"),
        ("collect room --steps 1", "steps of at least 2, received 1"),
        ("collect room --seed -1", "seed of at least 0, received -1"),
        ("collect room --name nonsense", "'nonsense' is no Minari dataset id"),
        ("collect no-start.txt", "has no start"),
        ("collect no-goal.txt", "has no goal"),
        ("collect walled.txt", "cannot be reached"),
        ("collect letters.txt", "line 1, column 2"),
        ("collect empty.txt", "is empty"),
        ("collect binary.txt", "cannot read the map"),
        ("data sfp/room/scriptd-v0", "unknown dataset"),
        ("data empty.txt", "cannot tell the format"),
        ("data truncated.npz", "cannot read truncated.npz"),
        ("data truncated.hdf5", "cannot read truncated.hdf5"),
        ("data nan.npz", "episode 1, step 2 is NaN or infinite"),
        ("data pickled.npz", "holds pickled Python objects"),
        ("data good.npz --keep 0", "share to keep in (0, 1], received 0"),
        ("data good.npz --keep nan", "share to keep in (0, 1], received nan"),
        ("data good.npz --uniform 1.5", "share to replace in [0, 1], received 1.5"),
        ("data good.npz --seed -1", "seed of at least 0, received -1"),
        ("data good.npz --columns images", "lacks 'images'"),
        ("data good.npz --out empty.txt", "cannot write empty.txt/data-good.npz.png"),
        ("explore rooom", "unknown task 'rooom'"),
        ("explore room --explorer unifrom", "unknown explorer 'unifrom': did you mean"),
        ("explore room --steps 0", "steps of at least 1, received 0"),
        ("explore room --trajectories 0", "trajectories of at least 1"),
        ("explore room --repetitions -2", "repetitions of at least 1, received -2"),
        ("explore room --seed -1", "seed of at least 0, received -1"),
        (
            "explore room --steps 2 --repetitions 1 --out empty.txt",
            "cannot write empty.txt/explore-room.png",
        ),
        ("explore no-goal.txt", "has no goal"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
def test_errors_are_one_line(run, datasets, line, words, options):
    maps = {
        "no-start": "#..G#",
        "no-goal": "#S..#",
        "walled": "S#G",
        "letters": "SxG",
        "empty": "",
    }
    for name, text in maps.items():
        Path(f"{name}.txt").write_text(text)
    Path("binary.txt").write_bytes(b"\xff\xfe\x00")
    actions = np.random.default_rng(0).random((3, 5, 2))
    np.savez("good.npz", actions=actions)
    actions[1, 2, 0] = np.nan
    np.savez("nan.npz", actions=actions)
    np.savez("pickled.npz", actions=np.array([{}], object))
    Path("truncated.npz").write_bytes(Path("good.npz").read_bytes()[:300])
    Path("truncated.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n")
    assert one_line(run(*line.split(), *options), words)
    assert not datasets.exists()
    assert not Path("figures").exists()


def test_an_existing_dataset_asks_for_force(run, collected):
    one_line(run("collect", "room", *SMALL), "exists already", "--force")
    assert run("collect", "room", *SMALL, "--force").code == 0


def test_a_damaged_dataset_of_ours(run, collected, datasets):
    path = datasets / NAME / "data" / "main_data.hdf5"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    one_line(run("data", NAME), "data/main_data.hdf5 is not what was written")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "collct room",
        "collect",
        "collect room maze",
        "collect room --episodes many",
        "collect room --episode 3 --nonsense",
        "data",
        "data x --columns pictures",
        "explore",
        "list cheese",
    ],
)
def test_misuse_is_explained_on_stderr(run, line):
    result = run(*line.split())
    assert (result.code, result.out) == (2, "")
    assert result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt, 130, "sfp: interrupted; nothing half-written was left"),
        (
            MemoryError("Unable to allocate 74 GiB"),
            2,
            "sfp: out of memory: Unable",
        ),
        (MemoryError, 2, "sfp: out of memory: ask for less at a time."),
    ],
)
def test_what_may_happen_in_the_middle_is_one_line(
    run, datasets, monkeypatch, error, code, words
):
    def stop(*args):
        raise error

    monkeypatch.setattr(sys.modules["sfp.data.collect"], "Scripted", stop)
    result = run("collect", "room", *SMALL)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(words)
    assert result.err.count("\n") == 1
    assert [path for path in datasets.rglob("*") if path.is_file()] == []


# --- the program itself -------------------------------------------------------------


def program(*args, **streams):
    """Run the installed program, its output buffered as it is for users."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    run = subprocess.run([SFP, *args], env=env, text=True, **streams)
    return Result(run.returncode, run.stdout, run.stderr)


@pytest.mark.slow
def test_the_program_runs_and_says_what_went_wrong():
    assert document(program("list", "tasks", "--json"))["rows"]
    assert one_line(program("collect", "romo"), "did you mean room")


@pytest.mark.slow
@pytest.mark.parametrize("args", [["list"], ["list", "--json"], ["--help"]])
def test_a_reader_that_has_seen_enough_hears_nothing(args):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        assert program(*args, stdout=pipe) == (0, None, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_output_to_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        result = program("list", "--json", stdout=full)
    assert result == (2, None, "sfp: [Errno 28] No space left on device.\n")


@pytest.mark.slow
def test_output_that_is_closed_is_no_error():
    run = subprocess.run(
        ["sh", "-c", f"exec '{SFP}' list >&-"], stderr=subprocess.PIPE, check=False
    )
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["trian", "maze"], "unknown command 'trian': did you mean train?"),
        (["train", "maze", "--out", "x", "--stepz", "3"], "did you mean --steps?"),
        (["train", "maze", "--out", "x", "--steps", "abc"], "parsing --steps"),
        (["train"], "expected TASK a task"),
        (["train", "maze"], "expected --out PATH folder of the run"),
        (["train", "maze", "--out"], "missing value for argument '--out'"),
        (["prior", "shw", "room"], "invalid choice 'shw'"),
        (["--halp"], "unrecognized options: --halp. See `sfp --help`"),
    ],
)
@pytest.mark.parametrize("width", ["40", "200"])
def test_a_wrong_word_is_one_line_too(run, monkeypatch, width, args, words):
    monkeypatch.setenv("COLUMNS", width)
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("sfp: ")
    assert err.count("\n") == 1
    assert words in err
    assert err.endswith("--help`.\n")
    assert not set(err) & set("│╭─╰")
    assert not any(Path().iterdir())


def test_a_complaint_that_we_do_not_know_is_still_one_line(capsys, monkeypatch):
    from sfp.cli import usage

    def complain(*args, **options):
        print("\x1b[1mNew words\x1b[0m\n  of a parser", file=sys.stderr)
        raise SystemExit(2)

    monkeypatch.setattr(usage.tyro.extras, "subcommand_cli_from_dict", complain)
    with pytest.raises(sfp.SfpError, match=r"^New words of a parser\. See `sfp train"):
        usage.parse(COMMANDS, ["train"], "")
