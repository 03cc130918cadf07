"""Locomotion against Gymnasium's own environments, bit for bit."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sfp
from environments import SMALL
from sfp.agents.methods import METHODS
from sfp.config import Mixture, Networks, Schedule
from sfp.envs.adapter import Environment, make_env
from sfp.envs.locomotion import ROBOTS
from sfp.envs.mujoco import Locomotion
from sfp.envs.registry import TASKS, canonical, get_task
from sfp.errors import SfpError
from sfp.training.match import Given, fill

pytest.importorskip("mujoco")


def mass_centre(env):
    bodies, masses = env.unwrapped.data.xipos, env.unwrapped.model.body_mass
    return (masses[:, None] * bodies).sum(axis=0)[:2] / masses.sum()


@pytest.mark.parametrize("task", ROBOTS)
def test_every_bit_is_gymnasiums_but_the_reward(task):
    ours = make_env(f"{task}:threshold=0.5%")
    stock = gym.make(f"{ROBOTS[task].name}-v5")
    rng, unit = np.random.default_rng(0), ours.action_space
    assert unit == stock.action_space
    assert ours.observation_space == stock.observation_space
    assert ours.spec.max_episode_steps == stock.spec.max_episode_steps == 1000
    seen, info = ours.reset(seed=5)
    np.testing.assert_array_equal(seen, stock.reset(seed=5)[0])
    start, rewards = mass_centre(stock), []
    assert info["is_success"] is False
    for _ in range(40):
        action = rng.uniform(unit.low, unit.high).astype(np.float32)
        seen, reward, terminated, _, info = ours.step(action)
        truth, _, fell, *_ = stock.step(action)
        np.testing.assert_array_equal(seen, truth)
        assert terminated == fell
        import mujoco

        mujoco.mj_kinematics(stock.unwrapped.model, stock.unwrapped.data)
        moved = np.linalg.norm(mass_centre(stock) - start)
        assert info["displacement"] == pytest.approx(moved, abs=1e-9)
        assert (
            reward
            == float(info["is_success"])
            == float(info["displacement"] >= ROBOTS[task].x_max / 200)
        )
        rewards.append(reward)
        if terminated:
            break
    assert max(rewards) == 1.0


@pytest.mark.parametrize("task", ROBOTS)
def test_actions_are_the_joints_of_the_model(task):
    env = get_task(task).make()
    model = env.unwrapped.simulation.model
    joints = (model.joint(model.actuator_trnid[i, 0]).name for i in range(model.nu))
    assert env.metadata["action_names"] == tuple(joints)


def test_parameters():
    assert get_task("halfcheetah:threshold=50%").name == "halfcheetah:threshold=6.0"
    assert get_task("halfcheetah:threshold=100%,bias=0") == TASKS["halfcheetah"]
    assert canonical("hopper:threshold=6") == "hopper:threshold=6.0"
    assert make_env("walker2d").unwrapped.threshold == 1.0
    assert gym.make("sfp/Walker2d-v0", threshold="50%").unwrapped.threshold == 0.5
    assert make_env("ant:positions=true").observation_space.shape == (107,)
    assert make_env("ant").observation_space.shape == (105,)


@pytest.mark.filterwarnings("ignore:.*infinity. This is probably:UserWarning")
def test_gymnasium_finds_nothing_wrong():
    check_env(Locomotion("hopper"), skip_render_check=True)


def test_a_fall_ends_the_episode_unless_it_is_not_to():
    lengths = {}
    for name in ("hopper", "hopper:falls=false"):
        env = make_env(name)
        env.reset(seed=0)
        ends = (any(env.step(np.ones(3, np.float32))[2:4]) for _ in range(200))
        lengths[name] = next((i for i, end in enumerate(ends) if end), 200)
    assert lengths["hopper"] < 100
    assert lengths["hopper:falls=false"] == 200


def test_signed_and_backwards():
    env = make_env("halfcheetah:signed=true,threshold=0")
    env.reset(seed=0)
    for _ in range(30):
        *_, info = env.step(np.full(6, -1.0, np.float32))
        assert info["is_success"] == (info["displacement"] >= 0)
    assert info["displacement"] < 0


@pytest.mark.parametrize(
    ("method", "alpha", "scale", "n_step"),
    [
        ("sfp", 0.005, 1e-7, 10),
        ("sfp-quick", 0.005, 1e-9, 3),
        ("sac", 0.2, 1e-9, 10),
    ],
)
def test_the_papers_settings_are_the_suites_defaults(method, alpha, scale, n_step):
    given = Given(Schedule(), Networks(), Mixture())
    here = Environment(make_env("swimmer:bias=0.1"))
    filled = fill(given, method, METHODS[method], here, "default")
    assert filled.networks.alpha == alpha
    assert filled.mixture.mixing_gradient_scale == scale
    assert (filled.schedule.hindsight, filled.schedule.n_step) == (0.0, n_step)
    share = 0.5 if method == "sfp-quick" else 0.0
    assert filled.schedule.explore_episodes == share
    assert filled.schedule.greedy_episodes == share
    maze = fill(given, method, METHODS[method], Environment(make_env("maze")), "paper")
    assert maze.mixture.mixing_gradient_scale == 1e-9


def test_without_mujoco_the_install_line_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium.envs.mujoco.ant_v5", None)
    with pytest.raises(SfpError, match=r"pip install 'state-free-priors\[mujoco\]'"):
        get_task("ant").make()


def test_names():
    with pytest.raises(SfpError, match="did you mean halfcheetah"):
        get_task("half-cheetah")
    with pytest.raises(SfpError, match="unknown robot 'cat'"):
        Locomotion("cat")


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_bits(tmp_path):
    class Stop(Exception):
        pass

    def stop(step):
        if step >= 200:
            raise Stop

    task = "hopper:bias=0.1,inverted=true,threshold=1%"
    given = dict(method="sac", steps=300, checkpoint_every=100, eval_every=300)
    given = SMALL | given | {"out": tmp_path / "whole", "eval_episodes": 1}
    whole = sfp.train(task, **given, progress=lambda step: None)
    given["out"] = tmp_path / "killed"
    with pytest.raises(Stop):
        sfp.train(task, **given, progress=stop)
    again = sfp.train(task, **given, resume=True, progress=lambda step: None)
    assert whole.evaluations == again.evaluations
    for name in ("train.csv", "eval.csv", "policy/policy.safetensors"):
        one, other = ((tmp_path / run / name) for run in ("whole", "killed"))
        assert one.read_bytes() == other.read_bytes()
