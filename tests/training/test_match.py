"""SFP beside SAC: what differs by default is said, and can be made the same."""

import json
from dataclasses import replace

import pytest

import sfp
from probes import linear_prior
from sfp.agents.methods import METHODS
from sfp.config import Mixture, Networks, Schedule
from sfp.envs.adapter import Environment, make_env
from sfp.training.match import Given, as_another, differences, fill

OPEN = Given(Schedule(), Networks(), Mixture())


def told(task, method, match=None, preset="default", given=OPEN):
    environment = Environment(make_env(task), task)
    chosen = METHODS[method]
    usual = as_another(chosen, match) if match else chosen
    filled = fill(given, method, usual, environment, preset)
    return filled, differences(given, filled, method, environment, preset)


def test_the_differences_are_said():
    _, line = told("maze", "sfp")
    assert line == (
        "sfp and sac differ in more than the method here: hindsight 0 (sac: 4), alpha "
        "0.01 (sac: 0.02). --match sac makes them equal."
    )
    assert told("Pendulum-v1", "sfp")[1] == (
        "sfp and sac differ in more than the method here: alpha 0.01 (sac: 0.2). "
        "--match sac makes them equal."
    )
    assert "catch_up 4 (sac: 1)" in told("maze", "sfp-quick")[1]
    assert told("maze", "sac")[1] == ""


def test_what_a_method_cannot_have_is_not_promised():
    _, line = told("maze", "parrot-state")
    assert line.endswith(
        "here: hindsight 0 (sac: 4). parrot-state cannot have hindsight."
    )


def test_an_alpha_of_another_meaning_is_not_made_equal():
    """SPiRL's weighs a divergence: with SAC's it would begin without its prior."""
    filled, line = told("maze", "spirl", "sac")
    assert filled.networks.alpha == 1.0
    assert "alpha" not in line


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].relabels])
@pytest.mark.parametrize("task", ["maze", "Pendulum-v1"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_matched_methods_have_the_settings_of_sac(method, task, preset):
    filled, line = told(task, method, "sac", preset)
    usual, _ = told(task, "sac", None, preset)
    alike = replace(filled.schedule, warmup_by=usual.schedule.warmup_by)
    assert (alike, filled.networks) == (usual.schedule, usual.networks)
    assert line == ""


def test_what_is_given_stays_and_what_cannot_be_is_left():
    given = Given(Schedule(warmup=7), Networks(alpha=0.5), Mixture())
    filled, line = told("maze", "sfp", "sac", given=given)
    assert (filled.schedule.warmup, filled.networks.alpha) == (7, 0.5)
    assert line == ""
    filled, line = told("maze", "parrot-state", "sac")
    assert filled.schedule.hindsight == 0.0
    assert "hindsight 0 (sac: 4)" in line
    with pytest.raises(sfp.SfpError, match="unknown method 'scc': did you mean sac"):
        told("maze", "sfp", "scc")


@pytest.mark.slow
def test_training_says_it_and_a_matched_run_keeps_it(tmp_path, capsys):
    small = dict(steps=100, warmup=100, update_after=100, batch=8, width=8)
    small |= dict(mixing_width=8, eval_every=100, eval_episodes=1, capacity=500)
    prior = linear_prior(0.5, deviation=0.3, k=1, dims=2)
    sfp.train("room", prior=prior, **small, out=tmp_path / "sfp", match="sac")
    assert "differ" not in capsys.readouterr().err
    config = json.loads((tmp_path / "sfp" / "config.json").read_text())
    assert config["networks"]["alpha"] == 0.02
    assert config["schedule"]["hindsight"] == 4.0
    heard = []
    sfp.train("room", prior=prior, **small, say=heard.append)
    assert heard[0].startswith("sfp-quick and sac differ in more than the method")
