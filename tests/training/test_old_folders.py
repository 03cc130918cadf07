"""Folders of version 88aea2d, before digests and own options, still load.

They were made there by `sfp train maze --prior room` with the settings below, once to
its end and once interrupted at step 250.
"""

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import sfp
from sfp.errors import SfpError
from sfp.training.log import read_table

MADE = Path(__file__).parent.parent / "fixtures" / "88aea2d"
SETTINGS = dict(steps=400, warmup=100, update_after=100, batch=8, n_step=3, width=8)
SETTINGS |= dict(mixing_width=8, capacity=220, eval_every=100, eval_episodes=1)
SETTINGS |= dict(log_every=50, checkpoint_every=100)


@pytest.fixture
def copied(tmp_path):
    def copy(name):
        return shutil.copytree(MADE / name, tmp_path / name)

    return copy


def train(out, **more):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* was begun with other versions")
        return sfp.train("maze", prior="room", out=out, **SETTINGS | more)


def test_a_policy_acts(copied):
    policy = sfp.Trained.load(copied("finished"))
    half = np.full(2, 0.5, np.float32)
    action = policy.predict(dict.fromkeys(("observation", "desired_goal"), half))
    assert action.shape == (2,)


@pytest.mark.slow
def test_a_finished_run_is_known_and_said_to_be_unverified(copied):
    with pytest.warns(UserWarning, match="unverified") as told:
        trained = train(copied("finished"))
    assert len([w for w in told if "unverified" in str(w.message)]) == 1
    assert [row["step"] for row in trained.evaluations] == [100, 200, 300, 400]


@pytest.mark.parametrize("change", [dict(mixing_start=0.9), dict(critic_norm=True)])
def test_other_settings_are_another_run(copied, change):
    with pytest.raises(SfpError, match=f"other settings .{next(iter(change))}"):
        train(copied("finished"), **change)


def test_an_option_that_is_gone_is_one_line(copied):
    path = copied("finished") / "config.json"
    held = json.loads(path.read_text())
    held["mixture"]["melody"] = 1
    path.write_text(json.dumps(held))
    with pytest.raises(SfpError, match="the option melody, which this version does"):
        train(path.parent)


@pytest.mark.slow
def test_a_half_done_run_goes_on_and_ends_as_it_would_have(copied):
    folder = copied("half")
    with pytest.warns(UserWarning, match="unverified"):
        train(folder, resume=True)
    for table in ("train", "eval"):
        ended, then = read_table(folder, table), read_table(MADE / "finished", table)
        assert [list(row) for row in ended] == [list(row) for row in then]
        for row, other in zip(ended, then, strict=True):
            told = {name: value for name, value in other.items() if value is not None}
            assert {k: v for k, v in row.items() if v is not None} == pytest.approx(
                told, rel=1e-4, abs=1e-6
            )
    ended, then = (
        load_file(path / "policy" / "policy.safetensors")
        for path in (folder, MADE / "finished")
    )
    assert ended.keys() == then.keys()
    for name, weights in then.items():
        np.testing.assert_allclose(ended[name], weights, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["curves", "evaluate", "report"])
def test_the_commands_take_it_in_a_fresh_process(copied, tmp_path, command):
    """With any number of cores: they ask for one thread before JAX starts."""
    folder = copied("finished")
    words = {"curves": ["--out", tmp_path / "out"], "evaluate": ["--episodes", "1"]}
    words = [folder, *words.get(command, ["--out", tmp_path / "report.html"])]
    done = subprocess.run(
        [sys.executable, "-m", "sfp", command, *map(str, words)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
