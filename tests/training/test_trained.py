"""Trained policies: any observation, the environment's units, saved and loaded."""

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium import spaces

import sfp
from environments import Drift, Reach
from probes import plain
from sfp.agents.controller import Greedy
from sfp.config import Networks
from sfp.envs.adapter import Environment, make_env
from sfp.errors import SfpError
from sfp.nets.encoder import Flat
from sfp.nets.policy import Policy, mean_action
from sfp.training.trained import Trained, make_spec

GRID = spaces.Box(
    np.full((2, 3), -1.0, np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
)


class Strange(gym.Env):
    """A Dict without goals, and a grid of actions with bounds of their own."""

    action_space = GRID
    observation_space = spaces.Dict(
        {
            "camera": spaces.Box(0, 255, (2, 2), np.uint8),
            "arm": spaces.Box(-1.0, 1.0, (3,), np.float64),
        }
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.count = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.count += 1
        return self.observation_space.sample(), 1.0, False, self.count % 9 == 0, {}


class Image(Drift):
    """An observation of two axes."""

    observation_space = spaces.Box(-3.0, 3.0, (1, 3), np.float64)


def make(env, method="sac"):
    environment = Environment(env)
    policy = Policy(
        environment.spec.inputs,
        environment.spec.action,
        width=8,
        depth=2,
        key=jax.random.key(1),
    )
    policy = jax.tree.map(np.asarray, policy)
    spec = make_spec(environment, method, Networks(width=8))
    return Trained(Greedy(Flat(), policy), spec)


def stack(observations):
    if isinstance(observations[0], dict):
        return {
            key: np.stack([o[key] for o in observations]) for key in observations[0]
        }
    return np.stack(observations)


class Named(Drift):
    """Says what its actions move."""

    def __init__(self, *names):
        super().__init__()
        self.metadata = {**self.metadata, "action_names": names}


def test_a_policy_for_other_joints_is_refused(tmp_path, datasets):
    names = [f"a{i}" for i in range(len(Environment(Drift()).low))]
    trained = make(Named(*names))
    trained.save(tmp_path / "policy")
    loaded = Trained.load(tmp_path / "policy")
    others = Named(*names[:-1], "gripper")
    match = f"whose actions move {', '.join(names)}: in .* they move .*gripper"
    with pytest.raises(SfpError, match=match):
        loaded.check(Environment(others))
    with pytest.raises(SfpError, match=match):
        sfp.record(others, loaded, episodes=1, steps=3)
    assert not list(datasets.rglob("*.hdf5"))
    for fits in (Named(*names), Drift()):
        sfp.record(fits, loaded, episodes=1, steps=3, force=True)


def test_robots_of_the_same_sizes_differ_in_their_joints():
    walker = make(gym.make("Walker2d-v5"))
    assert walker.spec.action_names[:2] == ["thigh_joint", "leg_joint"]
    with pytest.raises(SfpError, match=r"Walker2d-v5, .*HalfCheetah.* bfoot"):
        walker.check(Environment(make_env("halfcheetah")))


@pytest.mark.slow
@pytest.mark.parametrize("env", [Drift, Reach, Strange, Image])
@pytest.mark.parametrize("deterministic", [True, False])
def test_one_observation_and_many(env, deterministic):
    env = env()
    trained = make(env)
    env.observation_space.seed(0)
    observations = [env.observation_space.sample() for _ in range(5)]
    shape = env.action_space.shape
    actions = trained.predict(stack(observations), deterministic=deterministic)
    assert actions.shape == (5, *shape)
    assert actions.dtype == env.action_space.dtype
    for observation, action in zip(observations, actions, strict=True):
        one = trained.predict(observation, deterministic=deterministic)
        assert one.shape == shape
        assert env.action_space.contains(one)
        if deterministic:
            np.testing.assert_allclose(one, action, rtol=1e-5, atol=1e-5)
    alone = trained.predict(stack(observations[:1]), deterministic=deterministic)
    assert alone.shape == (1, *shape)


def test_stable_baselines3_gets_an_action_and_a_state():
    """As its `evaluate_policy` calls a model: all by name, batches of environments."""
    policy = make(Drift())
    seen = np.stack([np.zeros(3), np.ones(3)])
    actions, state = policy.as_sb3().predict(
        seen, state=None, episode_start=np.ones(2, bool), deterministic=True
    )
    np.testing.assert_array_equal(actions, policy.predict(seen))
    assert state is None


def test_the_mean_is_the_policys_in_the_units_of_the_environment():
    trained, obs = make(Drift()), np.array([0.3, -2.0, 1.0])
    mean = jax.jit(mean_action)
    scaled = np.asarray(mean(trained.policy, obs.astype(np.float32)))
    low, high = Drift.action_space.low, Drift.action_space.high
    expected = low + (high - low) * (scaled + 1) / 2
    np.testing.assert_allclose(trained.predict(obs), expected, rtol=1e-5)
    seen = plain(obs.astype(np.float32))
    acted, _ = trained.controller.act((), seen, np.random.default_rng(0))
    np.testing.assert_allclose(acted, scaled, rtol=1e-5)


@pytest.mark.slow
def test_samples_differ_and_stay_within_the_bounds():
    trained = make(Drift())
    draws = trained.predict(np.zeros((500, 3)), deterministic=False)
    assert len(np.unique(draws[:, 0])) > 490
    assert (draws >= Drift.action_space.low).all()
    assert (draws <= Drift.action_space.high).all()
    again = trained.predict(np.zeros((500, 3)), deterministic=False)
    assert not np.array_equal(draws, again)


@pytest.mark.parametrize(
    ("env", "obs", "match"),
    [
        (Drift, np.zeros(2), r"shape \(3,\), or with one more axis.* received \(2,\)"),
        (Drift, np.zeros((3, 2)), r"received \(3, 2\)"),
        (Drift, np.zeros((2, 1, 3)), r"received \(2, 1, 3\)"),
        (Drift, {"observation": np.zeros(3)}, "an array, received a dict with obs"),
        (Drift, np.array([0, np.nan, 0]), "NaN or infinite"),
        (Reach, np.zeros(4), "a dict with observation, desired_goal, received an arr"),
        (Reach, {"observation": np.zeros(2)}, "received a dict with observation"),
        (
            Reach,
            {"observation": np.zeros((3, 2)), "desired_goal": np.zeros(2)},
            r"desired_goal of shape \(2,\).*received \(2,\)",
        ),
    ],
)
def test_other_observations_are_refused(env, obs, match):
    with pytest.raises(SfpError, match=match):
        make(env()).predict(obs)


@pytest.mark.slow
@pytest.mark.parametrize("env", [Drift, Reach, Strange])
def test_saved_and_loaded_bit_for_bit(tmp_path, env):
    trained = make(env())
    trained.save(tmp_path / "policy")
    loaded = Trained.load(tmp_path / "policy")
    assert loaded.spec == trained.spec
    leaves = (jax.tree.leaves(t.policy) for t in (trained, loaded))
    for a, b in zip(*leaves, strict=True):
        np.testing.assert_array_equal(a, b)
    obs = env.observation_space.sample()
    np.testing.assert_array_equal(trained.predict(obs), loaded.predict(obs))
    with pytest.raises(SfpError, match="exists already"):
        trained.save(tmp_path / "policy")
    trained.save(tmp_path / "policy", force=True)


@pytest.mark.slow
def test_a_strange_environment_is_learned_like_any_other(tmp_path):
    trained = sfp.train(
        Strange(),
        eval_env=Strange(),
        method="sac",
        steps=100,
        update_after=50,
        batch=8,
        width=8,
        capacity=200,
        eval_every=100,
        eval_episodes=1,
        out=tmp_path / "run",
    )
    env = Strange()
    obs, _ = env.reset(seed=0)
    assert env.action_space.contains(trained.predict(obs))
    loaded = Trained.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.predict(obs), trained.predict(obs))
