"""`sfp reproduce`: real runs, killed and gone on with; and what users get wrong."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import sfp
from faults import outcome, whole
from sfp.cli import main
from sfp.errors import SfpError
from sfp.experiments.jobs import make_jobs, price
from sfp.experiments.plan import Overrides, make_plan
from sfp.experiments.recipes import PriorRecipe, Recording
from sfp.priors.store import find_prior, find_shipped, read_fingerprint

pytestmark = pytest.mark.slow

CACHE = Path(__file__).parent.parent.parent / ".venv" / "xla"
SMALL = {
    **{"width": 8, "depth": 1, "batch": 16, "warmup": 200, "update_after": 100},
    **{"eval_every": 600, "eval_episodes": 1, "log_every": 100},
    **{"checkpoint_every": 100, "capacity": 1000},
}
GRID = ["transfer", "--methods", "sac", "--tasks", "room", "maze", "--seeds", "0"]
GRID += ["--steps", "1200", "--workers", "2"]
GRID += [word for item in SMALL.items() for word in ("--set", "{}={}".format(*item))]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder; returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(CACHE))
    monkeypatch.setenv("PYTHONPATH", str(Path(sfp.__file__).parent.parent))

    def run(*args):
        capsys.readouterr()
        code = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run


def begin(*args):
    command = [sys.executable, "-m", "sfp", "reproduce", *map(str, args)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)


def until(condition, runner):
    deadline = time.monotonic() + 120.0
    while not condition():
        assert runner.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


def checkpoints(out):
    """How many steps all runs together have saved, and how many runs are done."""
    folders = list((out / "runs").glob("*"))
    steps = [int(p.name[5:]) for f in folders for p in f.glob("checkpoint/step-*")]
    return sum(steps), sum((f / "finished.json").exists() for f in folders)


def test_killed_it_ends_with_the_same_bits(run, tmp_path):
    """Killed once; `make soak` does it at many moments."""
    code, text, _ = run("reproduce", *GRID, "--out", "calm", "--json")
    rows = {row["run"]: row for row in json.loads(text)["rows"]}
    assert (code, len(rows)) == (0, 2)
    assert {(row["state"], row["done"]) for row in rows.values()} == {("done", 1200)}
    out = tmp_path / "killed"
    runner = begin(*GRID, "--out", out)
    until(lambda: checkpoints(out)[0] > 0, runner)
    runner.kill()
    runner.communicate()
    assert checkpoints(out)[1] < 2
    code, _, err = run("reproduce", *GRID, "--out", out)
    assert code == 0
    assert "2 done" in err
    for name in rows:
        assert outcome(out / "runs" / name) == outcome(tmp_path / "calm/runs" / name)
        whole(out / "runs" / name)
    code, _, err = run("reproduce", *GRID, "--out", out)
    assert (code, "running" in err) == (0, False)


def test_a_signal_stops_it_with_a_line(run, tmp_path):
    runner = begin("psd", "--out", tmp_path / "out")
    until(lambda: list((tmp_path / "out").glob("logs/*")), runner)
    runner.terminate()
    _, err = runner.communicate()
    assert runner.returncode == 130
    last = err.decode().splitlines()[-1]
    assert last == "sfp: stopped, 0 of 1 done; the same command goes on."
    assert (tmp_path / "out" / "psd" / "experiment.json").is_file()


def test_walks_and_their_manifest(run, tmp_path):
    grid = ("reproduce", "psd", "--repetitions", 2, "--methods", "uniform", "scripted")
    code, text, _ = run(*grid, "--out", "out", "--json")
    assert (code, json.loads(text)["rows"][0]["state"]) == (0, "done")
    about = json.loads((tmp_path / "out/psd/experiment.json").read_text())
    for entry in (*about["tables"], *about["figures"]):
        assert (tmp_path / "out" / entry["path"]).stat().st_size > 100
    (table,) = about["tables"]
    rows = (tmp_path / "out" / table["path"]).read_text().splitlines()
    assert rows[0] == "explorer,frequency,power"
    assert {row.split(",")[0] for row in rows[1:]} == {"uniform", "scripted"}
    assert about["cells"] == []


def test_a_failing_run_is_reported_with_its_log(run, tmp_path):
    folder = tmp_path / "out" / "runs" / "maze-sac-20000-s0"
    folder.mkdir(parents=True)
    (folder / "photo.txt").touch()
    grid = ("--methods", "sac", "--tasks", "maze", "--seeds", 0, "--steps", 20000)
    code, text, err = run("reproduce", "transfer", *grid, "--out", "out", "--json")
    assert code == 2
    *lines, last = err.splitlines()
    assert [line.split()[0] for line in lines] == [
        *("running", "waiting"),
        *("running", "failed"),
    ]
    log = "out/logs/maze-sac-20000-s0.log"
    assert last.startswith("sfp: 1 of 1 failed, maze-sac-20000-s0 for one: out/runs/")
    assert "holds something else: choose another --out" in last
    assert log in last
    document = json.loads(text)
    assert [(row["run"], row["log"]) for row in document["failed"]] == [
        ("maze-sac-20000-s0", log)
    ]
    (cell,) = json.loads((tmp_path / "out/transfer/experiment.json").read_text())[
        "cells"
    ]
    assert (cell["state"], cell["log"]) == ("failed", "logs/maze-sac-20000-s0.log")
    assert (tmp_path / "out" / cell["folder"]) == folder


def test_a_dry_run_writes_nothing(run, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    grid = ("reproduce", "transfer", "integration", "--seeds", 0, "--dry-run")
    code, text, err = run(*grid, "--json")
    assert (code, err) == (0, "")
    rows = json.loads(text)["rows"]
    assert len(rows) == len({row["run"] for row in rows})
    assert {row["state"] for row in rows} == {"waiting"}
    names = [row["run"] for row in rows]
    assert names.index("data-room") < names.index("prior-room-gaussian-a1")
    assert sum(name.startswith("maze-") for name in names) == 5 + 2
    code, text, _ = run(*grid)
    assert "hours of one core at 300 steps/s" in text
    assert sorted(tmp_path.rglob("*")) == before


def test_a_second_suite_needs_a_folder_of_its_own(run, tmp_path):
    from sfp.experiments.manifest import write_manifest

    given = Overrides(methods=("sac",), tasks=("maze",), seeds=(4,))
    path = write_manifest(tmp_path, make_plan("transfer", overrides=given), {})
    written, there = path.read_bytes(), sorted(tmp_path.rglob("*"))
    words = ["--suite", "meta-world", "--tasks", "reach", "--methods", "sac"]
    code, _, said = run("reproduce", "transfer", *words, "--out", tmp_path)
    assert code == 2
    assert "has transfer on point-maze: give another --out." in said
    assert path.read_bytes() == written
    assert sorted(tmp_path.rglob("*")) == there


def test_the_manifest_says_what_the_report_needs(run, tmp_path):
    from sfp.experiments.manifest import write_manifest

    given = Overrides(methods=("sac-kl-state",), tasks=("maze",), seeds=(4,))
    path = write_manifest(tmp_path, make_plan("transfer", overrides=given), {})
    about = json.loads(path.read_text())
    assert path == tmp_path / "transfer" / "experiment.json"
    (cell,) = about.pop("cells")
    assert cell == {
        "folder": "runs/maze-sac-kl-room-gaussian-s-40000-s4",
        **{"kind": "train", "label": "SAC+KL-state", "task": "maze", "seed": 4},
        **{"group": "SAC+KL-state", "name": "sac-kl-state", "steps": 40_000},
        "state": "waiting",
    }
    command = about.pop("command")
    assert command.startswith("sfp reproduce transfer --suite point-maze --scale small")
    assert command.endswith("--methods sac-kl-state --tasks maze --seeds 4")
    assert about.pop("claim").startswith("SFP learns unseen tasks faster")
    assert about.pop("title").startswith("Transfer")
    claims = about.pop("claims")
    first, second, third, *_ = claims
    assert (first["better"], first["worse"]) == ("PARROT-state", "SFP")
    assert (first["tasks"], first["measure"]) == (["room"], "at once")
    assert (second["tasks"], second["share"]) == (["room"], 0.75)
    assert (third["tasks"], third["measure"], third["share"]) == (["maze"], "final", 1)
    alone = [(c["worse"], c["tasks"]) for c in claims if not c["better"]]
    assert alone == [("SAC", ["maze"]), ("SAC-PolyRL", ["maze"])]
    assert about == {
        **{"format": 1, "name": "transfer", "suite": "point-maze", "scale": "small"},
        **{"training": "room", "aggregate": ["maze"]},
        **{"tables": [], "figures": []},
    }


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["transfr"], "unknown experiment 'transfr': did you mean transfer "),
        ([], "expected an experiment: see `sfp list experiments`"),
        (["psd", "--suite", "metaworld"], "unknown suite 'metaworld'"),
        (["psd", "--workers", "0"], "expected workers of at least 1"),
        (["transfer", "--set", "batch"], "expected name=value after --set"),
        (["transfer", "--set", "steps=3"], "expected steps as --steps"),
        (["transfer", "--set", "bach=3"], "did you mean batch"),
        (["transfer", "--steps", "9", "8"], "expected --steps as one whole number"),
        (["transfer", "--steps", "maze=x"], "or TASK=NUMBER, or both, received 'maze"),
        (["transfer", "--steps", "mase=900"], "did you mean maze"),
        (["transfer", "--out", "file"], "cannot write file/runs: Not a directory"),
        (["transfer", "--out", "/proc/here"], "cannot write /proc/here/runs"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(run, tmp_path, args, words):
    (tmp_path / "file").touch()
    code, out, err = run("reproduce", *args)
    assert (code, out) == (2, "")
    assert err.startswith("sfp: ")
    assert err.count("\n") == 1
    assert words in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_another_dataset_in_its_place_is_refused_at_once(run, tmp_path, datasets):
    assert run("collect", "room", "--episodes", 4, "--steps", 30)[0] == 0
    code, _, err = run("reproduce", "transfer", "--methods", "sac-bc")
    assert code == 2
    assert "sfp: dataset sfp/room/scripted-v0 is not 4000 x 500 steps" in err
    assert err.count("\n") == 1
    small = Recording("room", episodes=4, steps=30)
    assert small.dataset == "sfp/room/scripted-4x30-v0"
    assert run(*small.words)[0] == 0
    small.check()
    other = Recording("room", episodes=4, steps=30, seed=1)
    os.rename(datasets / small.dataset, datasets / other.dataset)
    with pytest.raises(SfpError, match="with seed 1"):
        other.check()


def test_data_and_priors_are_made_once(tmp_path):
    plans = [make_plan(name) for name in ("conditioning", "data", "transfer")]
    jobs = make_jobs(plans, tmp_path)
    kinds = [job.kind for job in jobs]
    assert (kinds.count("data"), kinds.count("prior")) == (1, 5 + 6 + 1)
    place = {job.name: i for i, job in enumerate(jobs)}
    assert len(place) == len(jobs)
    assert all(place[need] < place[job.name] for job in jobs for need in job.needs)
    noisy = next(job for job in jobs if job.name == "prior-room-realnvp-a1-uniform25")
    assert noisy.words[:2] == ("fit", "sfp/room/scripted-v0")
    assert "--uniform 0.25" in " ".join(noisy.words)
    runs, hours = price(plans[2])
    assert runs == 45
    assert 1.0 < hours < 4.0


def test_another_prior_in_its_place_is_refused(tmp_path):
    recipe = PriorRecipe(Recording("room"), model="vae")
    folder = recipe.folder(tmp_path)
    folder.mkdir(parents=True)
    card = {"model": "vae", "past_actions": 1, "state": False, "format": 2}
    card |= {"dims": 2, "state_size": 0, "seeds": 4}
    card |= {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
    card |= {"fit": {"seed": 0, "epochs": 80}, "data": {"episodes": 4000}}
    (folder / "config.json").write_text(json.dumps(card))
    recipe.check(tmp_path)
    for change in (
        *({"model": "lscde"}, {"past_actions": 2}, {"fit": {}}),
        *({"fit": {"seed": 0, "epochs": 20}}, {"data": {"episodes": 3000}}),
        *({"fit": {"seed": 0, "epochs": 80, "preset": "paper"}}, {"fit": []}),
    ):
        (folder / "config.json").write_text(json.dumps(card | change))
        with pytest.raises(SfpError, match="holds another prior, or a damaged one"):
            recipe.check(tmp_path)


def test_another_run_in_its_place_is_refused(tmp_path):
    given = Overrides(methods=("sac",), tasks=("maze",), seeds=(0,), settings=SMALL)
    cell = make_plan("transfer", overrides=given).entries[0].cell
    folder = cell.folder(tmp_path)
    folder.mkdir(parents=True)
    config = {"task": "maze", "method": "sac", "seed": 0, "schedule": {"steps": 40_000}}
    config["networks"] = dict(cell.settings)
    (folder / "config.json").write_text(json.dumps(config))
    cell.check(tmp_path)
    changes = [{"seed": 1}, {"schedule": {"steps": 9}}, {"rivals": {"bc_epochs": 3}}]
    for change in (*changes, {"networks": {"width": 9}}):
        (folder / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(SfpError, match="holds another run, or a damaged one"):
            cell.check(tmp_path)


def test_a_run_of_another_prior_is_refused(tmp_path):
    given = Overrides(methods=("sfp",), tasks=("maze",), seeds=(0,))
    (shipped,) = make_plan("transfer", overrides=given).entries
    given = replace(given, methods=("gaussian",))
    (fitted,) = make_plan("models", overrides=given).entries
    for cell, prior in ((shipped.cell, "room"), (fitted.cell, "reach")):
        folder = cell.folder(tmp_path)
        folder.mkdir(parents=True)
        config = {"task": "maze", "method": "sfp", "seed": 0, "prior": "of old"}
        config["schedule"] = {"steps": 40_000}
        (folder / "config.json").write_text(json.dumps(config))
        if cell is fitted.cell:
            cell.check(tmp_path)  # the prior is not there (yet)
            shutil.copytree(find_prior("reach"), cell.prior.folder(tmp_path))
        with pytest.raises(
            SfpError, match=r"trained with another prior than .* is now"
        ):
            cell.check(tmp_path)
        config["prior"] = read_fingerprint(prior)
        (folder / "config.json").write_text(json.dumps(config))
        cell.check(tmp_path)


def test_a_run_of_other_recordings_is_refused(tmp_path):
    given = Overrides(methods=("rlpd",), tasks=("maze",), seeds=(0,), episodes=3)
    (entry,) = make_plan("transfer", overrides=given).entries
    cell = entry.cell
    folder = cell.folder(tmp_path)
    folder.mkdir(parents=True)
    config = {"task": "maze", "method": "rlpd", "seed": 0, "data": "of old"}
    config["schedule"] = {"steps": 40_000}
    (folder / "config.json").write_text(json.dumps(config))
    cell.check(tmp_path)  # they are not there (yet)
    data = sfp.collect("room", episodes=3, steps=500, name=cell.data.dataset)
    with pytest.raises(
        SfpError, match=r"with other recordings than sfp/room.* are now"
    ):
        cell.check(tmp_path)
    (folder / "config.json").write_text(
        json.dumps(config | {"data": data.fingerprint[:16]})
    )
    cell.check(tmp_path)


def test_walks_of_another_prior_are_refused(run, tmp_path):
    given = Overrides(methods=("sfp", "uniform"), repetitions=1)
    plan = make_plan("coverage", overrides=given)
    (walk,) = plan.walks
    walk = replace(walk, task="room", trajectories=1, steps=5)
    plan = replace(plan, walks=(walk,))
    assert run(*walk.words(tmp_path))[0] == 0
    walk.check(tmp_path)
    about = walk.file(tmp_path, ".json")
    made = json.loads(about.read_text())
    assert made["explorers"] == ["uniform"]
    assert made["steps"] == 5
    assert list(made["priors"].values()) == [read_fingerprint("room")]
    for text in (json.dumps({"priors": {"prior room": "of old"}}), "{}", "[]", "\0"):
        about.write_text(text)
        with pytest.raises(SfpError, match=r"walks of another prior than .* is now"):
            walk.check(tmp_path)
        with pytest.raises(SfpError, match="walks of another prior"):
            make_jobs([plan], tmp_path)[0].is_done()
    about.unlink()  # an earlier version wrote none
    walk.check(tmp_path)


def test_a_folder_called_like_a_shipped_prior_is_another(run, tmp_path):
    assert PriorRecipe(Recording("room")).find(tmp_path) == "room"
    shutil.copytree(find_prior("reach"), tmp_path / "room")
    recipe = PriorRecipe(Recording("room"))
    assert read_fingerprint("room") == read_fingerprint("reach")
    assert recipe.shipped == "room"
    assert Path(recipe.find(tmp_path)) == find_shipped("room")
    assert recipe.fingerprint(tmp_path) != read_fingerprint("reach")


def test_list_experiments(run):
    code, text, _ = run("list", "experiments", "--json")
    document = json.loads(text)
    rows = {row["name"]: row for row in document["rows"]}
    assert code == 0
    assert "300 steps/s" in document["assumed"]
    assert rows["transfer"]["small runs"] == 45
    assert rows["transfer"]["paper runs"] == 150
    assert rows["transfer"]["paper hours"] > 50 > rows["transfer"]["small hours"]
