"""Several environments and one learner: memories apart, the same bits when resumed."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import sfp
from environments import SMALL, make_prior, maze
from faults import outcome, whole
from sfp.agents.base import Memory
from sfp.agents.sac import SAC
from sfp.config import Schedule
from sfp.data.lanes import Lanes
from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.envs.adapter import Environment
from sfp.envs.vector import Vector
from sfp.errors import Interrupted, SfpError
from sfp.training.environments import make_lanes
from sfp.training.running import Running, episode_seed, play_again

MANY = SMALL | {"envs": 2, "vector": "sync", "capacity": 300}


class Counting(gym.Env):
    """Shows its episode's seed, its time, and the last action."""

    observation_space = gym.spaces.Box(-(2.0**32), 2.0**32, (3,), np.float32)
    action_space = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tag, self.time = float(seed % 1000), 0
        self.length = 3 + int(seed) % 5
        return np.array([self.tag, 0, 0], np.float32), {}

    def step(self, action):
        self.time += 1
        seen = np.array([self.tag, self.time, action[0]], np.float32)
        over = self.time == self.length
        return seen, float(action[0] > 1), over and self.length > 4, over, {}


def vector(mode=AutoresetMode.DISABLED):
    return SyncVectorEnv([Counting] * 3, autoreset_mode=mode)


def stop_at(step):
    def progress(now):
        if now == step:
            raise Interrupted("stop")

    return progress


@pytest.mark.slow
def test_interrupted_in_the_middle_it_ends_with_the_same_bits(tmp_path):
    prior = make_prior(low=(-1.0, 0.0), high=(2.0, 0.5))

    def go(folder, **given):
        env = gym.make("probe/Drift-v0")  # its episodes differ in length
        sfp.train(env, prior=prior, **MANY | given, out=tmp_path / folder)

    go("whole")
    with pytest.raises(Interrupted):
        go("cut", progress=stop_at(250))
    go("cut", resume=True)
    one, other = outcome(tmp_path / "whole"), outcome(tmp_path / "cut")
    assert one == other
    assert one["finished"]["exact"]
    assert one["meta"]["others"][0]["actions"] != one["meta"]["actions"]
    whole(tmp_path / "cut")
    assert (tmp_path / "cut" / "checkpoint" / "replay-1").is_dir()
    with pytest.raises(SfpError, match="other settings"):
        go("cut", envs=1)


def test_episodes_of_any_length_are_played_again_together():
    """The first has just begun; whatever it did before is another episode's."""
    lengths, seed = (0, 2, 1), 5
    environments = Vector(vector(), "counting")
    running = []
    for number, length in enumerate(lengths):
        replay = EpisodeReplay(50, Sizes(3, 1))
        one = Running(number, replay, Memory(np.zeros((0, 1), np.float32)))
        alone = Environment(Counting(), "counting")
        one.begin(alone.reset(episode_seed(seed, number)), one.memory)
        for t in range(length):
            action = np.full(1, 0.1 * (t + number), np.float32)
            one.store(action, action, alone.step(action))
        running.append(one)
    found = play_again(environments, running, seed)
    for one, observed in zip(running, found, strict=True):
        np.testing.assert_array_equal(observed.obs.state, one.observed.obs.state)
    running[1].actions[0] = -running[1].actions[0] - 0.5
    running[1].actions[1] = -running[1].actions[1] - 0.5
    assert [seen is None for seen in play_again(environments, running, seed)] == [
        False,
        True,
        False,
    ]


@pytest.mark.slow
def test_what_is_stored_belongs_together(monkeypatch):
    """Each lane holds the episodes of one environment, with what was executed."""
    kept = []
    monkeypatch.setattr(Lanes, "__init__", lambda self, lanes: _init(self, lanes, kept))
    small = SMALL | {"iteration": 48, "steps": 200, "capacity": 600}
    sfp.train(vector(), method="sac", eval_env=Counting(), **small)
    (lanes,) = kept
    tags = [set(lane.columns["obs"][: lane.count, 0]) for lane in lanes.lanes]
    assert len(tags) == 3
    assert len(set.union(*tags)) == sum(map(len, tags))
    for lane in lanes.lanes:
        assert lane.count > 60
        obs, action = lane.columns["obs"], lane.columns["action"]
        for t in range(lane.count - 1):
            if lane.columns["episode"][t] != lane.columns["episode"][t + 1]:
                continue
            assert obs[t + 1, 1] == obs[t, 1] + 1
            np.testing.assert_allclose(obs[t + 1, 2], 2 * action[t, 0], atol=1e-6)
    batch = lanes.sample(np.random.default_rng(0), (4, 500))
    now, after = np.asarray(batch.obs.state), np.asarray(batch.next_obs.state)
    np.testing.assert_array_equal(now[..., 0], after[..., 0])
    steps = after[..., 1] - now[..., 1]
    assert ((steps >= 1) & (steps <= SMALL["n_step"])).all()


def _init(self, lanes, kept, original=Lanes.__init__):
    original(self, lanes)
    kept.append(self)


def test_lanes_are_drawn_from_by_their_sizes():
    lanes = [EpisodeReplay(50, Sizes(1, 1)) for _ in range(2)]
    for lane, (held, count) in enumerate(zip(lanes, (5, 20), strict=True)):
        step = TimeStep(*(np.full(n, float(lane)) for n in (1, 0, 0, 0)))
        held.begin(step)
        for _ in range(count):
            held.add(np.zeros(1), float(lane), step, terminated=False)
    batch = Lanes(lanes).sample(np.random.default_rng(0), (10, 400))
    states, rewards = np.asarray(batch.obs.state)[..., 0], np.asarray(batch.reward)
    np.testing.assert_array_equal(states, rewards)
    shares = states.mean(axis=1)
    assert abs(shares.mean() - 0.8) < 0.03
    assert (np.abs(shares - 0.8) < 0.1).all()  # every batch is a mixture


def test_one_line_for_what_does_not_fit(tmp_path):
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        with pytest.raises(SfpError, match=r"resets itself .*DISABLED"):
            sfp.train(
                vector(mode),
                method="sac",
                eval_env=Counting(),
                **SMALL | {"iteration": 48},
            )
    with pytest.raises(SfpError, match="pass it as eval_env"):
        sfp.train(vector(), method="sac")
    with pytest.raises(SfpError, match="expected envs of 3"):
        sfp.train(vector(), method="sac", eval_env=Counting(), envs=2)
    with pytest.raises(SfpError, match=r"multiple of envs \(8\).*48 would do"):
        sfp.train("room", method="sac", envs=8)
    with pytest.raises(SfpError, match=r"expected a capacity .* each of 5 env"):
        sfp.train("room", method="sac", envs=5, capacity=400)
    with pytest.raises(SfpError, match="unknown vector 'fork'"):
        sfp.train("room", method="sac", vector="fork")
    with pytest.raises(SfpError, match="another observation_space"):
        sfp.train(
            vector(), method="sac", eval_env=maze(), out=tmp_path / "run", iteration=48
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_replay_of_another_kind_is_for_one_environment():
    class Own(sfp.SAC):
        def replay(self, schedule, environment):
            made = super().replay(schedule, environment)
            made.__class__ = type("Other", (EpisodeReplay,), {})
            return made

    with pytest.raises(SfpError, match=r"Own has a replay of its own kind.*envs of 1"):
        sfp.train("room", agent=Own, **MANY)


def test_a_batch_for_each_of_many_environments_is_capacity_enough():
    spec = Environment(maze()).spec
    schedule = Schedule(envs=10, batch=10, capacity=100, hindsight=0.0)
    lanes = make_lanes(SAC(spec), schedule, Environment(maze()), "sac").lanes
    assert [lane.capacity for lane in lanes] == [10] * 10
