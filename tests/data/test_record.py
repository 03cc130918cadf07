"""Recording whatever acts: what is written is what happened."""

import gymnasium as gym
import minari
import numpy as np
import pytest
from gymnasium import spaces

import sfp
from sfp.data.collect import collect
from sfp.data.record import Recorder, record
from sfp.data.sources import load
from sfp.errors import SfpError


class Counting(gym.Env):
    """Observation t at time t; ends after ten steps; keeps every action.

    Attributes:
        log: of every episode the seed and the actions.
    """

    observation_space = spaces.Box(0, 100, (1,), np.float32)
    action_space = spaces.Box(
        np.array([-2, 0.0], np.float32), np.array([2, 1.0], np.float32)
    )

    def __init__(self):
        self.log = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.log.append((seed, []))
        return np.zeros(1, np.float32), {}

    def step(self, action):
        actions = self.log[-1][1]
        actions.append(action)
        t = len(actions)
        return np.full(1, t, np.float32), float(t), t == 10, False, {}


class Turning:
    """Remembers how often it acted in this episode; its draws are the episode's."""

    def begin(self, rng):
        return rng.uniform(-1, 1), 0

    def act(self, memory, obs, rng):
        offset, count = memory
        assert obs == [count]
        return np.array([offset + 0.1 * count, rng.uniform(0, 2)]), (offset, count + 1)


def episodes(data):
    return list(minari.load_dataset(data.source).iterate_episodes())


def test_what_is_recorded_is_what_the_environment_saw():
    env = Counting()
    assert isinstance(Turning(), Recorder)
    data = record(env, Turning(), episodes=3, steps=20, seed=4, name="me/turns-v0")
    assert data.lengths.tolist() == [10] * 3
    held = episodes(data)
    for number, (episode, (seed, actions)) in enumerate(
        zip(held, env.log, strict=True)
    ):
        rng = np.random.default_rng([4, number])
        assert seed == rng.integers(2**31)
        offset = rng.uniform(-1, 1)
        np.testing.assert_array_equal(episode.actions, actions)
        np.testing.assert_allclose(
            episode.actions[:, 0], offset + 0.1 * np.arange(10), 1e-5
        )
        assert episode.actions.dtype == np.float32
        assert episode.actions[:, 1].max() == 1.0  # clipped to the space
        np.testing.assert_array_equal(episode.observations[:, 0], np.arange(11))
        np.testing.assert_array_equal(episode.rewards, np.arange(1, 11))
        assert episode.terminations.tolist() == [False] * 9 + [True]
        assert not episode.truncations.any()
    assert len({episode.actions[0, 0] for episode in held}) == 3


def test_steps_cut_an_episode_and_the_same_seed_gives_the_same_bits():
    def recorded(seed, name):
        return record(Counting(), Turning(), episodes=2, steps=5, seed=seed, name=name)

    one, again = recorded(0, "me/one-v0"), recorded(0, "me/again-v0")
    assert one.fingerprint == again.fingerprint != recorded(1, "me/else-v0").fingerprint
    for episode in episodes(one):
        assert episode.truncations.tolist() == [False] * 4 + [True]
        assert not episode.terminations.any()


def test_a_function_and_whatever_predicts_record_the_same():
    class Predicts:
        begun = 0

        def predict(self, obs, **options):
            return np.array([0.5, 0.5]), None  # as Stable-Baselines does

        def reset(self, seed):
            self.begun += 1

    size = {"episodes": 2, "steps": 8}
    one = record(Counting(), lambda obs: [0.5, 0.5], name="me/f-v0", **size)
    policy = Predicts()
    two = record(Counting(), policy, name="me/p-v0", **size)
    assert one.fingerprint == two.fingerprint
    assert policy.begun == 2


def test_tasks_by_name_with_goals_images_and_parameters():
    goes = np.array([1.0, 0.0], np.float32)
    data = record("maze:seed=3,size=small", lambda obs: goes, episodes=2, steps=4)
    assert data.source == "sfp/maze-seed-3-size-small/recorded-v0"
    full = load(data.source, columns=("observations", "goals"))
    assert full.observations.shape == full.goals.shape == (8, 2)
    env = minari.load_dataset(data.source).recover_environment()
    layout = sfp.envs.get_task("maze:seed=3,size=small").layout
    assert env.unwrapped.maze.layout.to_ascii() == layout.to_ascii()
    seen = []
    data = record(
        "room:pixels=true", lambda obs: (seen.append(obs), goes)[1], episodes=1, steps=3
    )
    (episode,) = episodes(data)
    assert episode.observations.dtype == np.uint8
    # Minari keeps images as JPEG.
    gap = np.abs(episode.observations[:3].astype(float) - np.array(seen, float))
    assert gap.mean() < 3
    assert record("Pendulum-v1:g=2.0", lambda obs: [0.0], episodes=1).lengths == [200]


def test_a_goal_of_its_own_is_recorded_with_its_rewards():
    class There:
        """Stays; its goal is where it began, then far away."""

        def begin(self, rng):
            return 0

        def act(self, memory, obs, rng):
            return np.zeros(2), memory + 1

        def goal(self, memory):
            return np.full(2, 0.5 if memory <= 2 else 0.0, np.float32)

    data = record("room", There(), episodes=1, steps=4)
    (episode,) = episodes(data)
    assert episode.observations["desired_goal"][:, 0].tolist() == [0.5, 0.5, 0, 0, 0]
    assert episode.rewards.tolist() == [1, 1, 0, 0]


def test_collect_takes_whoever_acts():
    policy = lambda obs: obs["desired_goal"] - obs["observation"]  # noqa: E731
    one = collect("room", policy=policy, episodes=2, steps=6)
    assert one.source == "sfp/room/recorded-v0"
    two = sfp.record("room", policy, episodes=2, steps=6, name="me/two-v0")
    assert one.fingerprint == two.fingerprint


class Bad:
    def __init__(self, returned):
        self.returned = returned

    def begin(self, rng):
        return None

    def act(self, memory, obs, rng):
        return self.returned


@pytest.mark.parametrize(
    ("controller", "options", "words"),
    [
        (object(), {}, r"expected a controller with begin\(rng\) and act"),
        (Bad(np.zeros(2)), {}, r"to return \(action, memory\), received ndarray"),
        (
            Bad((np.zeros(3), 0)),
            {},
            r"finite actions of shape \(2,\), received \[0\. 0",
        ),
        (Bad((np.array([0, np.nan]), 0)), {}, r"finite actions of shape"),
        (Bad(("up", 0)), {}, "expected an action of numbers, received 'up'"),
        (Turning(), {"steps": None}, "Counting has no time limit: say how many steps"),
        (Turning(), {"steps": 1}, "expected steps of at least 2, received 1"),
        (Turning(), {"episodes": 0}, "expected episodes of at least 1, received 0"),
        (Turning(), {"seed": -1}, "expected seed of at least 0, received -1"),
        (Turning(), {"name": "x"}, "no Minari dataset id"),
    ],
)
def test_bad_controllers_and_sizes_leave_nothing(controller, options, words, datasets):
    given = {"episodes": 1, "steps": 5, **options}
    with pytest.raises(SfpError, match=words):
        record(Counting(), controller, **given)
    assert not list(datasets.rglob("*.hdf5"))


@pytest.mark.parametrize(
    ("task", "policy", "words"),
    [
        ("room", "runs/x", r"load a run first \(policy=sfp\.Trained\.load"),
        ("Pendulum-v1", "scripted", "there is no scripted policy for Pendulum-v1"),
        ("corridor", "expert", "corridor has no expert but the scripted policy itself"),
        (
            "room:pixels=true",
            "scripted",
            "sees positions, not images: leave out pixels",
        ),
        ("CartPole-v1", lambda obs: 0, "CartPole-v1 has Discrete actions"),
    ],
)
def test_who_cannot_act(task, policy, words):
    with pytest.raises(SfpError, match=words):
        collect(task, policy=policy, episodes=1)


@pytest.mark.slow
def test_the_scripted_recordings_keep_their_bits():
    data = collect("room", episodes=50)
    assert data.fingerprint == (
        "abfb4e196c9c279e42b53541c5cb1e571003e03c65ad19b42cf335106abe0121"
    )
