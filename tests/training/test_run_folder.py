"""A run's folder: locked, compared, never overwritten; and the same from the shell."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

import sfp
from environments import SMALL
from faults import outcome
from sfp.cli import main
from sfp.compute import cpu_kind
from sfp.errors import Busy, Interrupted, SfpError
from sfp.files import digest, read_sums, write_checksums, write_sums
from sfp.tensors import load_arrays, save_arrays
from sfp.training.run import find_method

pytestmark = pytest.mark.slow

FAST = SMALL | {"steps": 100, "update_after": 1000, "capacity": 500}
"""A run that does not learn: nothing to compile but the act."""


def train(out, **kwargs):
    return sfp.train("probe/Drift-v0", **{"method": "sac", **FAST, **kwargs}, out=out)


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that has ended."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    train(folder)
    return folder


def test_a_folder_keeps_its_method_and_otherwise_it_is_ours(tmp_path, finished):
    assert find_method(None, "default", None) == "sfp-quick"
    assert find_method(None, "paper", tmp_path / "new") == "sfp"
    assert find_method(None, "default", finished) == "sac"
    assert find_method("sfp", "default", finished) == "sfp"


@pytest.mark.parametrize("resume", [False, True])
def test_a_finished_run_is_not_run_again(finished, resume):
    before = content(finished)
    trained = train(finished, resume=resume, progress=lambda step: pytest.fail("runs"))
    assert [row["step"] for row in trained.evaluations] == [100]
    assert content(finished) == before
    assert trained.evaluations == train(None).evaluations


def test_a_changed_setting_is_refused_and_shown(finished):
    before = content(finished)
    for resume in (False, True):
        with pytest.raises(
            SfpError, match=r"other settings \(gamma 0.99 -> 0.9; seed 0 -> 1\): give"
        ):
            train(finished, seed=1, gamma=0.9, resume=resume)
    with pytest.raises(SfpError, match=r"task 'probe/Drift-v0' -> 'probe/Reach-v0'"):
        sfp.train("probe/Reach-v0", method="sac", out=finished, **FAST)
    assert content(finished) == before


def test_a_second_writer_is_refused(finished):
    before = content(finished)
    with (finished / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Busy, match=r"another process is training in .*finished"):
            train(finished)
    assert content(finished) == before
    train(finished)


def interrupt(step):
    raise Interrupted("by the test")


def test_a_run_that_has_not_ended_needs_resume(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(out, progress=interrupt)
    before = content(out)
    with (out / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Busy, match="another process is training in"):
            train(out)
    with pytest.raises(SfpError, match=r"has not ended: add --resume .*another --out"):
        train(out)
    with pytest.raises(SfpError, match=r"no trained policy in .*--resume goes on"):
        sfp.Trained.load(out)
    assert content(out) == before
    train(out, resume=True)  # before its first checkpoint: from the beginning
    assert (out / "finished.json").is_file()


def test_resume_of_nothing(tmp_path):
    for folder in ("nowhere", "empty"):
        with pytest.raises(SfpError, match=r"no run to resume in .*leave out --resume"):
            train(tmp_path / folder, resume=True)
        assert not (tmp_path / "nowhere").exists()
        (tmp_path / "empty").mkdir(exist_ok=True)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["thesis.tex", "config.json"])
def test_somebody_elses_folder_stays_untouched(tmp_path, name, resume):
    (tmp_path / name).write_text("{}")
    with pytest.raises(SfpError, match="holds something else: choose another --out"):
        train(tmp_path, resume=resume)
    assert content(tmp_path) == {name: b"{}"}
    with pytest.raises(SfpError, match="is no folder"):
        train(tmp_path / name, resume=resume)


def test_killed_before_its_config_was_written(tmp_path):
    """Neither a dead end nor somebody else's folder."""
    for name in ("lock", "versions.json", ".draft-123-config.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(SfpError, match="leave out --resume"):
        train(tmp_path, resume=True)
    train(tmp_path)
    assert "draft" not in " ".join(os.listdir(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_damaged_config(tmp_path, text):
    for name in ("config.json", "versions.json"):
        (tmp_path / name).write_text(text)
    with pytest.raises(
        SfpError, match=r"config.json.*damaged|JSON object|other settings"
    ):
        train(tmp_path, resume=True)


def test_other_versions_are_told(tmp_path):
    with pytest.raises(Interrupted):
        train(tmp_path / "run", progress=interrupt)
    versions = json.loads((tmp_path / "run" / "versions.json").read_text())
    versions["jax"] = "0.1"
    text = json.dumps(versions)
    (tmp_path / "run" / "versions.json").write_text(text)
    sums = read_sums(tmp_path / "run") | {"versions.json": digest(text)}
    write_sums(tmp_path / "run", sums)
    with pytest.warns(
        UserWarning, match=r"other versions \(jax '0.1' -> .*not bit for"
    ):
        train(tmp_path / "run", resume=True)
    now = json.loads((tmp_path / "run" / "changed.json").read_text())
    assert now == versions | {"jax": version("jax")}
    assert now["cpu"] == cpu_kind()
    end = json.loads((tmp_path / "run" / "finished.json").read_text())
    assert end["exact"] is False


# From the shell.

COMMAND = ["train", "probe/Drift-v0", "--method", "sac", "--steps", "100"]
COMMAND += ["--warmup", "1000", "--update-after", "1000", "--capacity", "500"]
COMMAND += ["--eval-every", "100", "--eval-episodes", "2", "--width", "8"]
COMMAND += ["--checkpoint-every", "50"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["train", "maze"], "method sfp-quick needs a prior"),
        (["train", "maze", "--method", "sac", "--prior", "room"], "takes no prior"),
        (["train", "mase", "--prior", "room"], "did you mean maze"),
        (["train", "maze", "--method", "scc"], "did you mean sac"),
        (["train", "maze", "--prior", "room", "--steps", "0"], "steps of at least 1"),
        (["train", "maze", "--prior", "room", "--capacity", "9"], "least a batch"),
        (["train", "maze", "--prior", "room", "--threads", "0"], "threads of at least"),
        (["train", "CartPole-v1", "--method", "sac"], "Discrete actions"),
        (["train", "Pendulum-v1", "--prior", "room"], "actions of 2 dimensions"),
        (["train", "maze", "--prior", "room", "--resume"], "no run to resume"),
        ([*COMMAND, "--hindsight", "4"], "hindsight needs goals"),
    ],
)
def test_one_line_and_exit_code_2(tmp_path, capfd, arguments, match):
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--out", str(tmp_path / "run")])
    printed = capfd.readouterr()
    assert caught.value.code == 2
    assert printed.out == ""
    assert match in printed.err
    assert printed.err.startswith("sfp: ")
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_train_evaluate_and_the_numbers_agree(tmp_path, capfd):
    """The policy of a run has the returns of the last row of eval.csv."""
    out = str(tmp_path / "run")
    main([*COMMAND, "--out", out, "--json"])
    printed = capfd.readouterr()
    assert printed.err.startswith("sac on probe/Drift-v0: step 100 of 100, return")
    told = json.loads(printed.out)
    assert told["rows"][-1]["step"] == 100
    main(["evaluate", out, "--episodes", "2", "--json"])
    played = json.loads(capfd.readouterr().out)
    assert played["summary"]["eval/mean_reward"] == told["rows"][-1]["mean_reward"]
    assert played["summary"]["eval/std_reward"] == told["rows"][-1]["std_reward"]
    assert [row["seed"] for row in played["rows"]] == [1_000_000, 1_000_001]
    main(["curves", out, "--out", str(tmp_path), "--json"])
    assert json.loads(capfd.readouterr().out)["rows"][0]["steps"] == 100
    assert (tmp_path / "curves.png").stat().st_size > 1000
    with pytest.raises(SystemExit):
        main(["evaluate", out, "--task", "maze"])
    assert "maze has other observations or actions" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["evaluate", out, "--video", str(tmp_path / "film.avi")])
    assert "expected a .mp4, .gif or .webp" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path)])
    assert "no trained policy in" in capfd.readouterr().err
    main(["evaluate", out, "--episodes", "1", "--video", str(tmp_path / "film.gif")])
    assert (tmp_path / "film.gif").read_bytes()[:4] == b"GIF8"


LIMITED = """
import resource, sys
import sfp.compute
sfp.compute.use_threads(1)
import environments
from sfp.cli import main
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main(sys.argv[2:])
"""


SAME = dict(method="sac", steps=100, warmup=1000, update_after=1000, capacity=500)
SAME |= dict(eval_every=100, eval_episodes=2, width=8, checkpoint_every=50)
"""`COMMAND` in Python."""


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(tmp_path):
    """The second checkpoint finds no room: the first stays, and the run goes on."""
    out = tmp_path / "run"

    def stop(step):
        if step == 50:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        sfp.train("probe/Drift-v0", **SAME, out=out, progress=stop)
    before = content(out / "checkpoint")
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            LIMITED,
            "6500",
            *COMMAND,
            "--resume",
            "--out",
            out,
        ],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "JAX_ENABLE_COMPILATION_CACHE": "false",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    assert run.stdout == ""
    assert run.stderr.splitlines()[-1].startswith(
        f"sfp: cannot write {out}/checkpoint/step-000000100: File too large."
    )
    assert run.returncode == 2
    after = content(out / "checkpoint")
    assert {name: after[name] for name in before} == before
    assert not [name for name in after if "draft" in name]
    sfp.train("probe/Drift-v0", **SAME, out=out, resume=True)
    sfp.train("probe/Drift-v0", **SAME, out=tmp_path / "whole")
    assert outcome(out) == outcome(tmp_path / "whole")


def test_a_forged_policy(tmp_path, finished):
    policy = sfp.Trained.load(finished)
    policy.save(tmp_path / "policy")
    config = tmp_path / "policy" / "config.json"
    known = json.loads(config.read_text())
    weights = tmp_path / "policy" / "policy.safetensors"
    right = weights.read_bytes()
    for changes in (
        {"low": [0.0]},
        {"low": ["a", "b"]},
        {"low": [float("nan"), 0.0]},
        {"low": [5.0, 5.0]},
        {"width": 9},
        {"width": 10**9},
        {"width": "8"},
        {"depth": -1},
        {"depth": 3},
        {"depth": 10**9},
        {"obs_size": 4},
        {"inputs": {"": [-3]}},
        {"inputs": [3]},
        {"inputs": {"x": "y"}},
        {"action_shape": [3]},
        {"action_type": "O"},
        {"action_type": "nonsense"},
        {"more": 1},
        None,
    ):
        config.write_text(json.dumps(known | changes if changes else [1]))
        with pytest.raises(SfpError, match="damaged"):
            sfp.Trained.load(tmp_path / "policy")
        (tmp_path / "policy" / "SHA256SUMS").unlink()
        write_checksums(tmp_path / "policy")
        with pytest.raises(SfpError, match=r"no policy's|expected|another config"):
            sfp.Trained.load(tmp_path / "policy")
    config.write_text(json.dumps(known))
    for wrong, match in (
        (right[:-1], "truncated or damaged"),
        (right[:5], "truncated or damaged"),
        (right[:-4] + b"\x00\x00\xc0\x7f", "is not what was written"),
        (b"", "truncated or damaged"),
    ):
        weights.write_bytes(wrong)
        (tmp_path / "policy" / "SHA256SUMS").unlink()
        write_checksums(tmp_path / "policy")
        with pytest.raises(SfpError, match=match):
            sfp.Trained.load(tmp_path / "policy")
    weights.write_bytes(right)
    arrays, _ = load_arrays(weights)
    save_arrays(weights, {name: array * np.nan for name, array in arrays.items()})
    (tmp_path / "policy" / "SHA256SUMS").unlink()
    with (
        pytest.warns(UserWarning, match="has no SHA256SUMS: it is unverified"),
        pytest.raises(SfpError, match="NaN or infinite"),
    ):
        sfp.Trained.load(tmp_path / "policy")
    weights.unlink()
    with pytest.raises(SfpError, match="no trained policy in"):
        sfp.Trained.load(tmp_path / "policy")


@pytest.mark.parametrize("deleted", [False, True])
def test_a_folder_that_is_moved_or_deleted_meanwhile(tmp_path, deleted):
    """Neither a second half nor a success."""
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"

    def progress(step):
        if step == 150:
            shutil.rmtree(folder) if deleted else folder.rename(elsewhere)

    with pytest.raises(SfpError, match="run was moved or deleted while it was written"):
        train(folder, progress=progress, steps=400)
    assert not folder.exists()
    if not deleted:
        elsewhere.rename(folder)
        train(folder, resume=True, steps=400)
        assert (folder / "finished.json").is_file()
