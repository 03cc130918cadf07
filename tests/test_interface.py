"""Python users see a bar on a terminal, lines elsewhere, or look on themselves."""

import subprocess
import sys

import jax
import numpy as np
import pytest

import sfp
from sfp.data.trajectories import assemble

SMALL = dict(steps=200, warmup=50, update_after=50, batch=8, width=8)
SMALL |= dict(eval_every=100, eval_episodes=1, log_every=100)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    episodes = [{"actions": rng.uniform(-1, 1, (100, 2))} for _ in range(4)]
    return assemble(episodes, source="test")


FIT = dict(past_actions=1, model="gaussian", epochs=2, epoch_steps=5, batch=16)


@pytest.mark.slow
def test_a_terminal_shows_a_bar(monkeypatch, capsys, data):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    sfp.fit(data, **FIT)
    assert "fitting gaussian" in capsys.readouterr().err
    sfp.train("room", method="sac", **SMALL)
    assert "sac on room" in capsys.readouterr().err


@pytest.mark.slow
def test_own_callbacks_or_lines(capsys, data):
    rows, steps, heard = [], [], []
    sfp.fit(data, **FIT, progress=rows.append)
    assert [row["epoch"] for row in rows] == [1, 2]
    sfp.train("room", method="sac", **SMALL, progress=steps.append)
    assert steps[-1] == 200
    assert capsys.readouterr().err == ""
    sfp.train(
        "room", method="sac", **SMALL, listeners=(lambda s, row: heard.append(s),)
    )
    assert heard[-1] == 200
    sfp.fit(data, **FIT)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "sac on room: step 100 of 200",
        "sac on room: step 200 of 200",
        "fitting gaussian: epoch 1 of 2",
        "fitting gaussian: epoch 2 of 2",
    ]


def test_help_is_that_of_the_functions_behind_them():
    assert "Learn a prior from trajectories" in (sfp.fit.__doc__ or "")
    assert "Learn a task" in (sfp.train.__doc__ or "")


@pytest.mark.slow
def test_a_prior_can_be_kept_and_found_again(tmp_path):
    prior = sfp.load_prior("room")
    sfp.save_prior(prior, tmp_path / "kept")
    again = sfp.load_prior(tmp_path / "kept")
    context = prior.seeds[0].ravel()
    key = jax.random.key(0)
    np.testing.assert_array_equal(
        again.sample(key, context), prior.sample(key, context)
    )
    with pytest.raises(sfp.SfpError, match="exists already"):
        sfp.save_prior(prior, tmp_path / "kept")
    sfp.save_prior(prior, tmp_path / "kept", force=True)


@pytest.mark.slow
def test_help_and_import_load_nothing_heavy():
    code = """
import sys, sfp, sfp.cli
try:
    sfp.cli.main(["--help"])
except SystemExit:
    pass
heavy = ("jax", "equinox", "h5py", "matplotlib", "minari", "mujoco", "pyarrow")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "sfp COMMAND --help" in done.stdout
    assert done.stderr == "[]\n"
