"""Environments that misbehave, and names that would import a package."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from sfp.envs.adapter import Environment, make_env
from sfp.errors import SfpError


class Odd(gym.Env):
    """Says what it is told to say."""

    def __init__(self, info=None, ended=False, late=False, shape=(2,), keys=()):
        self.said = ended, late, {} if info is None else info
        box = spaces.Box(-1.0, 1.0, shape)
        self.observation_space = box
        if keys:
            parts = {key: spaces.Box(-1.0, 1.0, (2,)) for key in keys[:-1]}
            self.observation_space = spaces.Dict({**parts, keys[-1]: box})
        self.action_space = spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample() * 0.0, {}

    def step(self, action):
        return self.reset()[0], 0.0, *self.said

    def compute_reward(self, achieved, desired, info):
        return np.array(["much"] * len(achieved))


def begun(env):
    environment = Environment(env, "odd")
    environment.reset(0)
    return environment


@pytest.mark.parametrize(
    "value", [float("nan"), "yes", "", [], [1, 0], 0.5, 2, -1, {}, {"a": 1}, None]
)
@pytest.mark.parametrize("flag", ["ended", "late", "is_success", "success"])
def test_flags_that_are_neither_true_nor_false(flag, value):
    if value is None and "success" in flag:
        return  # the environment does not say
    told = {"info": {flag: value}} if "success" in flag else {flag: value}
    with pytest.raises(SfpError, match=r"odd gave \w+ as .* at step 1 .*True or False"):
        begun(Odd(**told)).step(np.zeros(1))


@pytest.mark.parametrize("kind", [bool, int, float, np.bool_, np.array, np.float32])
def test_flags_of_any_type(kind):
    for value in (True, False):
        env = Odd({"is_success": kind(value)}, kind(value), kind(value))
        outcome = begun(env).step(np.zeros(1))
        assert (outcome.terminated, outcome.success) == (value, value)
        assert outcome.truncated is False
    assert begun(Odd({"is_success": np.array([1.0])})).step(np.zeros(1)).success is True
    assert begun(Odd()).step(np.zeros(1)).success is None


@pytest.mark.parametrize("info", [(), "info", 5, [("is_success", True)]])
def test_info_that_is_no_dict(info):
    with pytest.raises(SfpError, match=r"odd gave the info .* at step 1 .*a dict"):
        begun(Odd(info)).step(np.zeros(1))
    env = Odd()
    env.said = False, False, None
    with pytest.raises(SfpError, match="odd gave the info None at step 1"):
        begun(env).step(np.zeros(1))


@pytest.mark.parametrize("keys", [(), ("a", "b")])
def test_an_observation_without_numbers(keys):
    with pytest.raises(SfpError, match=r"an observation of shape \(0,\): .*every part"):
        Environment(Odd(shape=(0,), keys=keys), "odd")


def test_no_actions():
    env = Odd()
    env.action_space = spaces.Box(-1.0, 1.0, (0,))
    with pytest.raises(SfpError, match="odd has no actions"):
        Environment(env, "odd")


@pytest.mark.parametrize("kind", ["observation_space", "action_space"])
def test_spaces_that_change(kind):
    env = Odd()
    environment = begun(env)
    setattr(env, kind, spaces.Box(-1.0, 1.0, getattr(env, kind).shape))  # the same
    environment.reset(1)
    getattr(env, kind).high[:] = 2.0  # in place, too
    with pytest.raises(SfpError, match=rf"odd has another {kind} at reset\(seed=2\)"):
        environment.reset(2)


def test_words_from_compute_reward():
    class Goals(Odd):
        def reset(self, *, seed=None, options=None):
            return self.observation_space.sample(), {}

    keys = ("observation", "achieved_goal", "desired_goal")
    environment = Environment(Goals(keys=keys), "odd")
    with pytest.raises(SfpError, match=r"compute_reward of odd .*expected numbers"):
        environment.rewards(np.zeros((3, 2)), np.zeros((3, 2)))


@pytest.mark.parametrize(
    "name", ["planted:Env-v0", "planted:a/Env-v0", "planted:Env", "planted:x-v0=1"]
)
def test_a_loaded_name_imports_nothing(tmp_path, monkeypatch, name):
    (tmp_path / "planted.py").write_text("raise SystemExit('code ran')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SfpError) as caught:
        make_env(name, imports=False)
    assert "=" in name or f"pass --task {name} if you trust it" in str(caught.value)
    assert "planted" not in sys.modules


def test_a_name_from_the_user_may_import(tmp_path, monkeypatch):
    code = "import gymnasium as gym\nimport test_adapter\n"
    code += "gym.register('edges/Mine-v0', test_adapter.Odd)\n"
    (tmp_path / "trusted_package.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    env = make_env("trusted_package:edges/Mine-v0")
    assert isinstance(env.unwrapped, Odd)
    assert make_env("maze", imports=False).spec.id == "sfp/Maze-v0"
