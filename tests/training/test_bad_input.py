"""Mistakes get one line (expected, received, remedy) and leave nothing half-written."""

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation

import sfp
from environments import SMALL, Drift, Reach, make_prior, maze
from sfp.config import CAPACITY, Schedule, settle
from sfp.envs.adapter import Environment, make_env
from sfp.envs.registry import suite_of
from sfp.errors import SfpError
from sfp.training.run import train
from sfp.training.settings import configure


def refused(tmp_path, match, env="probe/Drift-v0", **kwargs):
    """The one line, and an untouched disk."""
    kwargs = {"method": "sac", **SMALL, **kwargs}
    with pytest.raises(SfpError, match=match) as caught:
        train(env, out=tmp_path / "run", **kwargs)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def other_actions(env, space):
    env.unwrapped.action_space = space
    return env


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"method": "sfp"}, "method sfp needs a prior.*--prior room"),
        ({"method": "sfp", "prior": "room"}, "room is for actions within .*rescale"),
        ({"method": "scc"}, "unknown method 'scc': did you mean sac"),
        ({"step": 100}, "unknown setting 'step': did you mean steps"),
        ({"env": "mase"}, "unknown task 'mase': did you mean maze"),
        ({"env": "Pendulm-v1"}, "Gymnasium cannot make 'Pendulm-v1'.*Pendulum"),
        ({"env": "probe/Nothing-v0"}, "Gymnasium cannot make 'probe/Nothing-v0'"),
        ({"env": "map.txt"}, "there is no map at map.txt"),
        ({"env": "maps/mine-v0.txt"}, "there is no map at maps/mine-v0.txt"),
        ({"prior": "nowhere"}, "nowhere"),
        ({"preset": "papr"}, "unknown preset 'papr': did you mean paper"),
        ({"seed": -1}, "seed of at least 0, received -1"),
        ({"seed": 2**32}, r"a seed below 2\*\*32, received 4294967296"),
        ({"steps": 0}, "steps of at least 1, received 0"),
        ({"steps": 7}, r"steps of at least a batch \(8\), received 7"),
        ({"capacity": 0}, r"capacity of at least a batch \(8\), received 0"),
        ({"capacity": 7}, r"capacity of at least a batch \(8\), received 7"),
        ({"batch": 0}, "batch of at least 1, received 0"),
        ({"n_step": 0}, "n_step of at least 1"),
        ({"eval_every": 0}, "eval_every of at least 1"),
        ({"gamma": 1.0}, r"gamma within \[0, 1\), received 1.0"),
        ({"gamma": float("nan")}, "gamma as a number, received nan"),
        ({"steps": "many"}, "steps as a number, received 'many'"),
        ({"steps": 100.5}, "steps as a whole number, received 100.5"),
        ({"until_solved": 1}, "until_solved as True or False, received 1"),
        ({"hindsight": -1}, "hindsight of 0 or more, received -1"),
        ({"hindsight": 4}, "hindsight needs goals: probe/Drift-v0 has none"),
        ({"context": "steam"}, "unknown context 'steam': did you mean stream"),
        ({"commit": 5}, r"method sac has no commit: .* has it \(sfp, sfp-quick\)"),
        ({"target_divergence": 3.0}, r"sac has no target_divergence: .* \(spirl\)"),
        ({"method": "sac-pink", "noise_theta": 0.1}, "sac-pink has no noise_theta"),
        ({"encoder": "patch"}, "unknown encoder 'patch': did you mean patches"),
        ({"width": 500_000}, "networks and optimisers need .* GB.*expected less width"),
    ],
)
def test_settings(tmp_path, changes, match):
    refused(tmp_path, match, **changes)


@pytest.mark.parametrize(
    ("prior", "match"),
    [
        (
            lambda: make_prior(low=(-1.0,) * 3, high=(1.0,) * 3),
            "actions of 3 dimensions",
        ),
        (lambda: make_prior(high=(2.0, 1.0)), r"actions within \[-1, 2\] x \[-1, 1\]"),
        (lambda: make_prior(states=5), "a state of 5 numbers, .* shows 2.*state-free"),
    ],
)
def test_priors_for_something_else(tmp_path, prior, match):
    refused(tmp_path, match, env="maze", method="sfp", prior=prior())


def test_a_prior_for_a_method_that_takes_none(tmp_path):
    refused(tmp_path, "method sac takes no prior", env="maze", prior=make_prior())


@pytest.mark.slow
def test_a_prior_that_sees_the_state_without_the_goal():
    prior = make_prior(states=2)
    trained = train(maze(), prior=prior, **SMALL | {"update_after": 1000})
    assert len(trained.evaluations) == 4


@pytest.mark.parametrize(
    ("space", "match"),
    [
        (spaces.Box(-np.inf, np.inf, (2,)), "unbounded actions: .*RescaleAction"),
        (spaces.Discrete(3), "Discrete actions: expected a Box"),
        (spaces.Box(1.0, 1.0, (2,)), "actions without range"),
    ],
)
def test_action_spaces(tmp_path, space, match):
    env, second = (other_actions(Drift(), space) for _ in "ab")
    refused(tmp_path, match, env=env, eval_env=second)


def test_observation_spaces(tmp_path):
    env = Drift()
    env.observation_space = spaces.Text(3)
    refused(tmp_path, "Text observations: expected a Box, a Dict", env, eval_env=env)


@pytest.mark.slow
def test_an_environment_that_cannot_be_made_anew(tmp_path):
    refused(tmp_path, "no spec to make it anew from: pass a second one", Drift())
    odd = TransformObservation(gym.make("probe/Drift-v0"), lambda o: o, None)
    assert odd.spec is not None
    trained = train(odd, method="sac", **SMALL | {"steps": 50})
    assert trained.evaluations == []


def test_an_environment_for_tests_must_be_another_of_the_same_kind(tmp_path):
    env = Drift()
    refused(tmp_path, "same Drift that is trained in", env, eval_env=env)
    refused(tmp_path, "another observation_space", env, eval_env=Reach())
    other = other_actions(Drift(), spaces.Box(-1.0, 1.0, (2,)))
    refused(tmp_path, "another action_space", env, eval_env=other)


def test_wrappers_that_cannot_be_recorded(tmp_path):
    class Odd(gym.Wrapper):
        pass

    env = Odd(gym.make("probe/Drift-v0"))
    refused(tmp_path, "(cannot be made anew|no spec).* as eval_env", env)


# What an environment does wrong while it runs.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "match"),
    [
        ("nan", "showed nan at step 7 of the episode with seed .*outside its obs"),
        ("outside", "showed 4 at step 7 .*mend the environment, or widen the space"),
        ("huge", "showed inf at step 7"),
        ("shape", r"shape \(2,\) at step 7 .*its space says \(3,\)"),
        ("text", r"shape \(\) at step 7"),
        ("reward", "gave the reward nan at step 7"),
        ("rewards", r"gave the reward \[1. 1.\] at step 7"),
        ("raise", "raised RuntimeError: the motor is on fire at step 7 of the episode"),
    ],
)
def test_worlds_that_break(tmp_path, fault, match):
    envs = Drift(fault=fault), Drift()
    with pytest.raises(SfpError, match=match) as caught:
        train(envs[0], method="sac", eval_env=envs[1], out=tmp_path / "run", **SMALL)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "run").glob("checkpoint/*"))


def test_worlds_of_another_time():
    env = Environment(Drift())
    env.env.reset = lambda seed: np.zeros(3)
    with pytest.raises(SfpError, match="something else than 2 values at reset"):
        env.reset(0)
    goals = Environment(Reach())
    goals.env.reset = lambda seed: ({"observation": np.zeros(2)}, {})
    with pytest.raises(SfpError, match="raised KeyError: 'achieved_goal' at reset"):
        goals.reset(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reward", "match"),
    [
        ("wrong", "gives 0, step gave 1: relabelled rewards would be wrong"),
        ("single", r"gave shape \(\) for .* goals: expected one reward each"),
        (
            "raise",
            "raised ValueError for .* goals at once .*Vectorise it|expected one reward",
        ),
        ("nan", "gave a reward that is not finite"),
        ("none", r"gave shape \(\)"),
    ],
)
@pytest.mark.parametrize("iteration", [1, 50])
def test_compute_reward(reward, match, iteration):
    env = gym.make("probe/Reach-v0", reward=reward)
    settings = SMALL | {"iteration": iteration, "hindsight": 4}
    with pytest.raises(SfpError, match=match) as caught:
        train(env, method="sac", **settings)
    assert str(caught.value).endswith("set hindsight to 0.")


@pytest.mark.slow
def test_compute_reward_is_not_asked_without_hindsight():
    env = gym.make("probe/Reach-v0", reward="raise")
    train(env, method="sac", **SMALL | {"steps": 100, "hindsight": 0})


def test_goals_without_compute_reward(tmp_path, monkeypatch):
    monkeypatch.delattr(Reach, "compute_reward")
    refused(tmp_path, "hindsight needs compute_reward.*has none", "probe/Reach-v0")


def test_rounding_is_no_disagreement():
    environment = Environment(Reach())
    environment.env.compute_reward = lambda a, g, info: -np.linalg.norm(a - g, axis=-1)
    exact = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    goal = exact + 1e-3
    seen = exact.astype(np.float32), goal.astype(np.float32)
    environment.check_rewards(*seen, -np.linalg.norm(exact - goal, axis=1))


# Divergence.


@pytest.mark.slow
def test_diverging_rewards_stop_with_the_last_good_checkpoint(tmp_path):
    env = gym.make("probe/Drift-v0", scale=1e30)
    with pytest.raises(SfpError, match="learning diverged: losses/") as caught:
        train(env, method="sac", out=tmp_path / "run", **SMALL | {"update_after": 201})
    said = str(caught.value)
    assert "in the updates that end at step 250" in said
    assert "the checkpoint of step 200 is kept" in said
    kept = sorted(path.name for path in (tmp_path / "run/checkpoint").glob("step-*"))
    assert kept == ["step-000000100", "step-000000200"]


@pytest.mark.slow
def test_weights_that_the_last_update_spoiled_are_not_saved(tmp_path, monkeypatch):
    """All losses are finite, since they are measured before the update."""

    def spoil(agent):
        def learn(state, batches, key):
            log_alpha = jnp.asarray(jnp.nan)
            return state._replace(log_alpha=log_alpha), {"losses/q": jnp.zeros(())}

        return learn

    monkeypatch.setattr("sfp.training.loop.compile_updates", spoil)
    with pytest.raises(
        SfpError, match=r"a weight is not finite .* step 200; the check"
    ):
        train(
            "probe/Drift-v0",
            method="sac",
            out=tmp_path / "run",
            **SMALL | {"update_after": 101},
        )
    assert len(list((tmp_path / "run/checkpoint").glob("step-*"))) == 1


# What is no mistake.


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, "both"])
def test_no_mistake_float64_no_success_long_n_step_asymmetric_bounds(fault):
    env = Drift(fault=fault, at=5)
    assert env.observation_space.dtype == np.float64
    settings = SMALL | {"n_step": 40, "steps": 200}
    trained = train(env, method="sac", eval_env=Drift(), **settings)
    assert trained.evaluations[-1]["eval/success_rate"] is None
    assert trained.evaluations[-1]["eval/mean_length"] <= 25


def test_termination_and_truncation_at_once_is_a_termination():
    environment = Environment(Drift())
    environment.reset(0)
    zeros = np.zeros(3)
    environment.env.step = lambda action: (
        zeros,
        0.0,
        True,
        True,
        {"success": np.True_},
    )
    outcome = environment.step(np.zeros(2))
    assert (outcome.terminated, outcome.truncated, outcome.success) == (
        True,
        False,
        True,
    )


def test_actions_come_in_the_units_of_the_environment():
    environment, given = Environment(Drift()), []
    environment.reset(0)
    step = environment.env.step
    environment.env.step = lambda action: given.append(action) or step(action)
    for action in ([-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]):
        environment.step(np.array(action))
    np.testing.assert_allclose(given, [[-1, 0], [0.5, 0.25], [2, 0.5]])
    assert given[0].dtype == np.float32


def test_settings_of_numpy_and_round_floats():
    given = {"steps": 1e5, "batch": np.int64(8), "learning_rate": 1, "alpha": None}
    schedule, networks, *_ = configure(given | {"until_solved": np.True_})
    assert (schedule.steps, schedule.batch, schedule.until_solved) == (100_000, 8, True)
    assert type(schedule.steps) is type(schedule.batch) is int
    assert (networks.learning_rate, networks.alpha) == (1.0, None)


def test_defaults_follow_the_suite_however_the_environment_is_named(tmp_path):
    """By name, by id, as an instance, and as a map of one's own."""
    (tmp_path / "mine.txt").write_text("#####\n#S.G#\n#####\n")
    for env in ("maze", "sfp/Maze-v0", maze(), str(tmp_path / "mine.txt")):
        assert suite_of(make_env(env)) == "point-maze"
    for env in ("probe/Drift-v0", Drift()):
        assert suite_of(make_env(env)) == ""


def test_the_paper_is_the_default():
    """Tables of the appendix."""
    paper = settle(Schedule(), {})
    assert (paper.batch, paper.n_step, CAPACITY) == (100, 10, 500_000)
    assert sfp.train.__wrapped__ is train  # pyright: ignore
