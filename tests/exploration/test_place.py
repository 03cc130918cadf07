"""Explorers in environments of one's own."""

import json
from itertools import combinations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from probes import linear_prior
from sfp.cli import main
from sfp.errors import SfpError
from sfp.exploration.explorers import explore, success_notes
from sfp.exploration.metrics import coverage
from sfp.exploration.place import find_place

LOW, HIGH = np.array([-2.0, 0.0], np.float32), np.array([2.0, 4.0], np.float32)


class Lift(gym.Env):
    """A point that is over once it is far out; the third number never changes.

    Attributes:
        log: every action and where it led, all episodes.
    """

    action_space = spaces.Box(LOW, HIGH)
    observation_space = spaces.Box(-10.0, 10.0, (3,), np.float64)

    def __init__(self, tells=False, goal=False):
        self.tells, self.log, self.made = tells, [], 0
        if goal:
            box = spaces.Box(-10.0, 10.0, (1,))
            keys = ("achieved_goal", "desired_goal")
            self.observation_space = spaces.Dict(
                {"observation": Lift.observation_space} | dict.fromkeys(keys, box)
            )

    def seen(self):
        now = np.append(self.at, 7.0)
        if isinstance(self.observation_space, spaces.Box):
            return now
        height = now[1:2].astype(np.float32)
        return {"observation": now, "achieved_goal": height, "desired_goal": height}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.made = self.np_random.uniform(-1, 1, 2), self.made + 1
        self.log.append([(None, self.at)])
        return self.seen(), {}

    def step(self, action):
        self.at = np.clip(self.at + (action - [0, 2]) / 4, -5, 5)
        far = bool(np.abs(self.at).max() > 3)
        self.log[-1].append((action, self.at))
        told = {"is_success": far and self.at[0] > 0} if self.tells else {}
        return self.seen(), float(far), far, False, told


gym.register("own/Lift-v0", Lift, max_episode_steps=40)
SIZE = {"trajectories": 3, "repetitions": 2, "steps": 40}


@pytest.mark.slow
def test_walks_are_what_the_environment_saw():
    env = Lift()
    prior = linear_prior(0.5, deviation=0.3, k=1, dims=2, low=LOW, high=HIGH)
    walks = explore(env, ["uniform", "pink"], priors={"mine": prior}, **SIZE)
    assert [walk.name for walk in walks] == ["uniform", "pink", "mine"]
    low = np.min([at for episode in env.log for _, at in episode], axis=0)
    high = np.max([at for episode in env.log for _, at in episode], axis=0)
    assert len(env.log) == 18
    for i, walk in enumerate(walks):
        episodes = env.log[6 * i : 6 * i + 6]
        for path, actions, episode in zip(
            walk.paths, walk.actions, episodes, strict=True
        ):
            at = np.array([at for _, at in episode])
            over = len(at) - 1
            unit = (at - low) / (high - low)
            np.testing.assert_allclose(path[: over + 1, :2], unit, atol=1e-6)
            assert (path[over:] == path[over]).all()  # and stands still from then on
            assert (path[:, 2] == 0).all()
            done = np.array([action for action, _ in episode[1:]])
            sent = LOW + (HIGH - LOW) * (actions[:over] + 1) / 2
            np.testing.assert_allclose(done, sent, atol=1e-6)
        met = np.array([np.abs(e[-1][1]).max() > 3 for e in episodes])
        assert walk.success is None  # nothing tells it
        np.testing.assert_allclose(walk.rewarded, met.reshape(2, 3).mean(axis=1))
        np.testing.assert_allclose(walk.returns, walk.rewarded)
        flat = walk.paths[:3, :, :2].reshape(-1, 2)
        seen = {tuple(np.minimum(9, (10 * point).astype(int))) for point in flat}
        assert walk.coverage[0] == pytest.approx(len(seen) / 100)
        spread = walk.paths[:3].var(axis=1, ddof=1).sum(axis=1).mean() / 2
        assert walk.gyration[0] == pytest.approx(spread)
        metrics = ("coverage", "gyration", "rewarded", "returns")
        assert list(walk.row())[1:] == [m + s for m in metrics for s in ("", "_std")]


@pytest.mark.slow
def test_success_is_told_where_the_environment_tells_it():
    env = Lift(tells=True)
    (walk,) = explore(env, **SIZE | {"trajectories": 20})
    far = np.array([np.abs(e[-1][1]).max() > 3 for e in env.log]).reshape(2, 20)
    right = np.array([e[-1][1][0] > 0 for e in env.log]).reshape(2, 20)
    np.testing.assert_allclose(walk.success, (far & right).mean(axis=1))
    np.testing.assert_allclose(walk.returns, far.mean(axis=1))
    assert walk.success.sum() < walk.returns.sum()


@pytest.mark.slow
def test_success_is_a_return_where_the_environment_does_not_tell_it():
    named = gym.make("own/Lift-v0")
    named.spec.reward_threshold = 1.0
    for env, given in ((named, {}), (Lift(), {"solved_at": 1.0})):
        (walk,) = explore(env, **SIZE, **given)
        np.testing.assert_array_equal(walk.success, walk.rewarded)
        assert walk.success.max() > 0
    (walk,) = explore(named, **SIZE, solved_at=2.0)
    assert walk.success.max() == 0
    assert "--solved-at RETURN sets one" in success_notes(explore(Lift(), **SIZE))[0]


def test_all_explorers_begin_with_the_same_resets():
    env = Lift()
    explore(env, ["uniform", "pink"], **SIZE)
    starts = np.array([episode[0][1] for episode in env.log])
    np.testing.assert_array_equal(starts[:6], starts[6:])
    assert len(np.unique(starts[:6])) == 12


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
def test_who_begins_at_the_goal_does_not_succeed(told):
    """The environment tells it at the reset, or rewards the start as a success."""

    class There(Lift):
        def reset(self, **kwargs):
            seen, _ = super().reset(**kwargs)
            return seen, {"is_success": True} if told else {}

        def seen(self):
            return super().seen() | {"desired_goal": np.zeros(1, np.float32)}

        def step(self, action):
            seen, *rest, _ = super().step(action)
            return seen, *rest, {"is_success": abs(self.at[1]) < 0.5}

        def compute_reward(self, achieved, desired, info):
            return (np.abs(achieved - desired)[..., 0] < 0.5).astype(float)

    env = There(goal=True)
    (walk,) = explore(env, **SIZE | {"trajectories": 20, "repetitions": 1})
    heights = [np.array([at[1] for _, at in episode]) for episode in env.log]
    near = np.array([abs(height[0]) < 0.5 for height in heights])
    later = np.array([(abs(height[1:]) < 0.5).any() for height in heights])
    began = np.ones(20, bool) if told else near & later
    assert walk.began == pytest.approx(began.mean())
    assert walk.success[0] == pytest.approx((later & ~began).mean())
    assert (later & near).sum() > 0


def test_a_position_is_the_goal_or_what_one_says():
    (height,) = explore(Lift(goal=True), **SIZE)
    assert height.paths.shape == (6, 41, 1)
    (both,) = explore(Lift(goal=True), position=(1, 0), **SIZE)
    assert both.paths.shape == (6, 41, 2)
    np.testing.assert_array_equal(both.actions, height.actions)
    np.testing.assert_allclose(both.paths[..., :1], height.paths, atol=1e-6)
    assert find_place(Lift(goal=True)).labels == ("time", "achieved goal[0], scaled")
    place = find_place(Lift(goal=True), (2, 0))
    assert place.labels == ("observation[2], scaled", "observation[0], scaled")


def test_one_environment_and_the_same_bits_again():
    env = gym.make("own/Lift-v0")
    first = explore(env, ["uniform"], **SIZE)[0]
    assert env.unwrapped.made == 6
    again, other = (explore("own/Lift-v0", seed=s, **SIZE)[0] for s in (0, 1))
    np.testing.assert_array_equal(first.paths, again.paths)
    assert (first.actions != other.actions).all()
    assert find_place("own/Lift-v0").steps == 40
    assert find_place(gym.wrappers.TimeLimit(Lift(), 30)).steps == 30
    assert find_place(Lift()).steps == 500


def test_nothing_moves():
    place = find_place(Lift(), (2,))
    (walk,) = explore(place, **SIZE)
    assert (walk.coverage == 0.1).all()
    assert (walk.gyration == 0.0).all()


def test_many_numbers_are_taken_two_by_two():
    rng = np.random.default_rng(0)
    paths = rng.uniform(0, 1, (2, 30, 5)) ** 2
    paths[..., 3] = 0.25
    low, high = np.zeros(5), np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    shares = []
    for a, b in combinations((0, 1, 2, 4), 2):
        points = (10 * paths[..., [a, b]]).astype(int).reshape(-1, 2)
        shares.append(len({tuple(point) for point in points}) / 100)
    assert coverage(paths, low, high) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(
    ("task", "given", "words"),
    [
        (Lift(), {"explorers": ["scripted"]}, "no scripted policy for Lift: leave it"),
        (Lift(), {"position": (3,)}, "numbers of the observation, 0 to 2, received 3"),
        ("room", {"position": (0,)}, "where one is in room is settled"),
        ("own/Nothing-v0", {}, "Gymnasium cannot make 'own/Nothing-v0'"),
        (Lift(), {"priors": {"p": linear_prior(dims=3)}}, "3 dimensions, .* takes 2"),
        (Lift(), {"priors": {"p": linear_prior(dims=2)}}, r"within \[-1, 1\]"),
    ],
)
def test_bad_arguments(task, given, words):
    with pytest.raises(SfpError, match=words):
        explore(task, **given)


@pytest.mark.slow
def test_the_command_writes_what_it_saw(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    size = ("--trajectories", "2", "--repetitions", "2")
    main(["explore", "own/Lift-v0", *size, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [row["explorer"] for row in told["rows"]] == [
        *("uniform", "polyrl", "pink", "ou", "zeta")
    ]
    assert told["task"] == "own-Lift-v0"
    made = json.loads((tmp_path / "figures/explore-own-Lift-v0.json").read_text())
    assert (made["steps"], made["priors"]) == (40, {})
    assert (tmp_path / "figures/explore-own-Lift-v0.png").is_file()
    goal = ("--position", "1", "--explorer", "uniform")
    main(["explore", "own/Lift-v0", *size, *goal])
    assert "success is the share of episodes" in capsys.readouterr().out
