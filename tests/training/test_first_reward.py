"""When a run explores, updates, catches up and relabels, as its schedule says."""

import os
import signal
from dataclasses import replace

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium import spaces

import sfp
from environments import SMALL, maze
from faults import outcome
from probes import linear_prior
from sfp.agents.base import Decision, Memory
from sfp.agents.methods import METHODS
from sfp.agents.sac import SAC
from sfp.config import STANDARD, Mixture, Networks, Schedule, settle
from sfp.envs.adapter import Environment
from sfp.errors import Interrupted, SfpError
from sfp.training import frontier, loop, match
from sfp.training.log import Log, read_table

BASE = dict(steps=1000, warmup=100, update_after=100, iteration=50, batch=8)
BASE |= dict(eval_every=1000, eval_episodes=1, log_every=1000, n_step=1)


class Late(gym.Env):
    """One reward of `value`, at the step `at`, over all episodes."""

    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, at=None, value=1.0, success=False):
        self.at, self.value, self.success, self.count = at, value, success, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.count += 1
        now = self.count == self.at
        told = {"is_success": now} if self.success else {}
        reward = self.value if now else 0.0
        return np.zeros(1, np.float32), reward, False, self.count % 40 == 0, told


class Watched(SAC):
    """SAC that counts: the phase of every step, and the updates of every iteration."""

    def act(self, actor, memory, turn):
        action = np.zeros(1, np.float32) if turn.given is None else turn.given
        self.phases.append(turn.phase if turn.given is None else "given")
        return Decision(action, action, {}), Memory(memory.history)

    def begin(self, rng):
        return Memory(np.zeros((0, 1), np.float32))


def watch(monkeypatch, env, *, exact=True, **settings):
    """The phases of all steps and, per iteration, how many rounds of updates."""
    schedule = settle(Schedule(**BASE | settings), {})
    environment, test = Environment(env), Environment(Late())
    agent = Watched(environment.spec, networks=Networks(width=4, depth=1))
    object.__setattr__(agent, "phases", [])
    rounds = []

    def counting(agent):
        def learn(state, batches, key):
            rounds.append((len(agent.phases), jax.random.key_data(key).tolist()))
            assert batches.reward.shape[1] == schedule.batch
            return state, {}

        return learn

    monkeypatch.setattr(loop, "compile_updates", counting)
    monkeypatch.setattr(Environment, "check_seed", lambda self: exact)
    replay = agent.replay(schedule, environment)
    loop.train(
        agent, environment, test, replay, Log(None, ()), schedule=schedule, seed=0
    )
    assert len({tuple(key) for _, key in rounds}) == len(rounds)
    steps = [step for step, _ in rounds]
    counts = [steps.count(at) for at in range(50, 1001, 50)]
    return agent.phases, counts


@pytest.mark.slow
def test_the_paper_s_schedule(monkeypatch):
    phases, counts = watch(monkeypatch, Late(at=500))
    assert phases == ["warmup"] * 100 + ["train"] * 900
    assert counts == [0] + [1] * 19


@pytest.mark.slow
def test_a_warm_up_until_the_first_reward(monkeypatch):
    phases, counts = watch(monkeypatch, Late(at=420), warmup_until="reward")
    assert phases == ["warmup"] * 420 + ["train"] * 580
    assert counts == [0] + [1] * 19  # independent of when updates begin


@pytest.mark.slow
@pytest.mark.parametrize("at", [30, 60])
def test_it_takes_its_least_number_of_steps(monkeypatch, at):
    phases, _ = watch(monkeypatch, Late(at=at), warmup_until="reward")
    assert phases.count("warmup") == 100


@pytest.mark.slow
def test_a_success_counts_as_a_reward_and_a_cost_does_not(monkeypatch):
    env = Late(at=300, value=0.0, success=True)
    phases, _ = watch(monkeypatch, env, warmup_until="reward")
    assert phases.count("warmup") == 300
    phases, _ = watch(monkeypatch, Late(at=300, value=-1.0), warmup_until="reward")
    assert phases.count("warmup") == 1000


@pytest.mark.slow
def test_the_limit_ends_the_wait_if_there_is_something_to_learn_from(monkeypatch):
    waiting = dict(warmup_until="reward", update_from="reward", warmup_limit=600)
    for env in (Late(at=300, value=-1.0), Ending()):
        phases, counts = watch(monkeypatch, env, **waiting)
        assert phases == ["warmup"] * 600 + ["train"] * 400
        assert counts == [0] * 11 + [1] * 9
    for value in (0.0, -1.0):  # the same reward all the time tells nothing
        phases, counts = watch(monkeypatch, Flat(value=value), **waiting)
        assert phases == ["warmup"] * 1000
        assert sum(counts) == 0


class Ending(Late):
    """No rewards, but episodes that end by themselves."""

    def step(self, action):
        obs, _, _, over, told = super().step(action)
        return obs, 0.0, over, False, told


class Flat(Late):
    def step(self, action):
        obs, _, *rest = super().step(action)
        return obs, self.value, *rest


@pytest.mark.slow
def test_no_update_before_the_first_reward_then_it_catches_up(monkeypatch):
    """By 500, nine rounds are owed (100 to 500): 4 a round while any is left."""
    _, counts = watch(monkeypatch, Late(at=480), update_from="reward")
    assert counts == [0] * 9 + [1] * 11
    _, counts = watch(monkeypatch, Late(at=480), update_from="reward", catch_up=4)
    assert counts == [0] * 9 + [4, 4, 3] + [1] * 8
    assert sum(counts) == 19  # as many as without waiting


@pytest.mark.slow
def test_a_head_start_counts_as_left_out(monkeypatch):
    """10 rounds of 50 are owed from the first reward on, whatever was left out."""
    given = dict(update_from="reward", catch_up=4, head_start=500)
    _, counts = watch(monkeypatch, Late(at=180), **given)
    assert counts == [0] * 3 + [4, 4, 4] + [1] * 14
    halved = given | dict(head_start=250)
    _, counts = watch(monkeypatch, Late(at=180), **halved, update_every=2)
    assert counts == [0] * 3 + [4, 4, 4] + [1] * 14
    env = Late(at=100, value=-1.0)
    _, counts = watch(monkeypatch, env, **given, warmup_limit=180)
    assert counts == [0] * 3 + [3] + [1] * 16  # only a reward gives a head start


class Own(Late):
    """A reward at step 50, and at the end of every episode from the step `at` on."""

    def step(self, action):
        obs, _, *rest = super().step(action)
        paid = self.count == 50 or (self.count >= self.at and self.count % 40 == 0)
        return obs, float(paid), *rest


def by_episode(phases):
    """Who acts in each episode of 40 steps that begins after the warm-up of 100."""
    episodes = [phases[at : at + 40] for at in range(120, 1000, 40)]
    assert all(len(set(one)) == 1 for one in episodes)
    return [one[0] for one in episodes]


@pytest.mark.slow
def test_the_explorer_has_a_share_of_episodes_while_others_fail(monkeypatch):
    phases, _ = watch(monkeypatch, Late(at=50), explore_episodes=0.5)
    assert phases[100:120] == ["train"] * 20  # the rest of an episode
    assert 5 <= by_episode(phases).count("warmup") <= 17  # of 22
    phases, _ = watch(
        monkeypatch, Late(at=50), explore_episodes=0.9, warmup_by="uniform", warmup=100
    )
    assert by_episode(phases).count("uniform") > 15
    phases, _ = watch(monkeypatch, Late(), explore_episodes=0.9)
    assert set(by_episode(phases)) == {"train"}  # no reward is known at all


@pytest.mark.slow
def test_the_explorer_s_share_falls_as_others_meet_rewards(monkeypatch):
    at, share = 280, 0.7
    phases, _ = watch(monkeypatch, Own(at=at), explore_episodes=share)
    whose, known = by_episode(phases), []
    for number, who in enumerate(whose, 3):
        failed = 1.0 - sum(known[-10:]) / max(1, len(known[-10:]))
        toss = np.random.default_rng([0, 4, number]).random()
        assert who == ("warmup" if toss < share * failed else "train")
        if who == "train":
            known.append((number + 1) * 40 >= at)
    assert "warmup" in whose
    assert known[-1]
    assert whose[-1] == "train"


class Onwards(Late):
    """It goes the same way in every episode, one place further at each step."""

    def step(self, action):
        _, *rest = super().step(action)
        return np.full(1, self.count % 40 / 40, np.float32), *rest


@pytest.mark.slow
def test_the_frontier_leads_the_explorer_s_episodes_after_the_warm_up(monkeypatch):
    monkeypatch.setattr(frontier, "MEASURED", 60)
    given = dict(explore_episodes=0.5, frontier=5)
    phases, _ = watch(monkeypatch, Onwards(at=50), **given)
    assert "given" in phases[60:100]
    assert phases[100:120] == ["train"] * 20  # the rest of an episode
    episodes = [phases[at : at + 40] for at in range(120, 1000, 40)]
    exploring = [one for one in episodes if "train" not in one]
    assert 5 <= len(exploring) <= 17  # of 22
    assert all(set(one) == {"train"} for one in episodes if "train" in one)
    led = [one.count("given") for one in exploring]
    assert min(led) > 0
    assert max(led) < 40
    phases, _ = watch(monkeypatch, Onwards(at=50), frontier=5)
    assert set(phases[100:]) == {"train"}


@pytest.mark.slow
def test_the_policy_s_mean_has_a_share_of_the_episodes(monkeypatch):
    phases, _ = watch(monkeypatch, Late(), greedy_episodes=0.5)
    assert phases[100:120] == ["train"] * 20
    assert 5 <= by_episode(phases).count("given") <= 17  # of 22
    both = dict(explore_episodes=0.5, greedy_episodes=0.5)
    phases, _ = watch(monkeypatch, Late(at=50), **both)
    assert set(by_episode(phases)) == {"warmup", "given", "train"}
    phases, _ = watch(monkeypatch, Own(at=130), **both)
    assert by_episode(phases)[-8:].count("warmup") == 0


@pytest.mark.slow
def test_uniform_actions_at_first(monkeypatch):
    phases, _ = watch(monkeypatch, Late(), warmup_by="uniform")
    assert phases == ["uniform"] * 100 + ["train"] * 900


@pytest.mark.slow
def test_uniform_actions_of_every_method_that_explores_otherwise():
    """A constant prior acts in the warm-up, unless it is uniform."""
    small = SMALL | dict(steps=100, warmup=100)
    for by, few in (("method", True), ("uniform", False)):
        actions = []
        sfp.train(
            Recorded(actions),
            method="sfp",
            prior=linear_prior(0.7, dims=2),
            eval_env=maze(),
            warmup_by=by,
            **small,
        )
        by_prior = np.isclose(np.stack(actions[-100:]), 0.7).mean()
        assert by_prior == few


class Recorded(gym.Wrapper):
    def __init__(self, actions):
        super().__init__(maze())
        self.actions = actions

    def step(self, action):
        self.actions.append(np.array(action))
        return super().step(action)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_who_has_learned_nothing_is_not_tested_again(monkeypatch, exact):
    """The reward comes at 480: tests at 100 to 400 would be the same."""
    begun, wrote, play, write = [], [], loop.evaluate, Log.write

    def evaluate(*given):
        row, played = play(*given)
        begun.append(row)
        return row | {"eval/mean_reward": float(len(begun))}, played

    def written(log, *given):
        wrote.append(given)
        write(log, *given)

    monkeypatch.setattr(loop, "evaluate", evaluate)
    monkeypatch.setattr(Log, "write", written)
    schedule = dict(update_from="reward", eval_every=100)
    watch(monkeypatch, Late(at=480), exact=exact, **schedule)
    rows = [(at, row["eval/mean_reward"]) for kind, at, row in wrote if kind == "eval"]
    assert [at for at, _ in rows] == list(range(100, 1001, 100))
    again = [1, 1, 1, 1, 2, 3, 4, 5, 6, 7] if exact else list(range(1, 11))
    assert [number for _, number in rows] == again


@pytest.mark.slow
def test_goals_are_relabelled_until_the_first_reward(monkeypatch):
    seen = []
    environment = Environment(maze())
    schedule = settle(
        Schedule(**BASE | dict(hindsight=4.0, hindsight_until="reward", steps=300)), {}
    )
    agent = Watched(environment.spec, networks=Networks(width=4, depth=1))
    object.__setattr__(agent, "phases", [])
    replay = agent.replay(schedule, environment)
    sample = replay.sample

    def spy(rng, shape):
        seen.append(replay.hindsight)
        return sample(rng, shape)

    replay.sample = spy
    rewards = iter([0.0] * 160 + [1.0] + [0.0] * 1000)
    step = environment.step
    environment.step = lambda action: replace(step(action), reward=next(rewards))
    environment.check_rewards = lambda *given: None
    agent.act = lambda actor, memory, turn: (
        Decision(np.zeros(2, np.float32), np.zeros(2, np.float32), {}),
        Memory(np.zeros((0, 2), np.float32)),
    )
    monkeypatch.setattr(loop, "compile_updates", lambda agent: lambda s, b, k: (s, {}))
    loop.train(
        agent,
        environment,
        Environment(maze()),
        replay,
        Log(None, ()),
        schedule=schedule,
        seed=0,
    )
    assert seen == [4.0] * 2 + [0.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("method", "share"), [("sac", 0.5), ("sfp", 0), ("sfp", 0.9)])
def test_a_run_that_waits_is_interrupted_and_ends_with_the_same_bits(
    tmp_path, method, share
):
    """Once while it waits (and is led to rare places), once while it catches up.

    With a share of exploring episodes it is led in those, too, while it catches up.
    """
    given = SMALL | dict(warmup_until="reward", update_from="reward", catch_up=2)
    given |= dict(method=method, explore_episodes=share)
    if method == "sfp":
        box = dict(dims=2, low=[-1.0, 0.0], high=[2.0, 0.5])
        given |= dict(prior=linear_prior(0.1, deviation=0.5, k=1, **box), frontier=3)
    else:
        given |= dict(greedy_episodes=0.5)

    def train(name, **more):
        options = given | more
        return sfp.train("probe/Drift-v0", out=tmp_path / name, **options)

    def late(*args, **kwargs):
        made = step(*args, **kwargs)
        return replace(made, reward=made.reward - 1.6)  # seldom above 0

    def counted(*args):
        led.append(lead(*args))
        return led[-1]

    step, lead, led = Environment.step, frontier.Frontier.lead, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Environment, "step", late)
        patch.setattr(frontier, "MEASURED", 60)
        train("whole")
        rows = read_table(tmp_path / "whole", "train")
        for i, at in enumerate((100, 300)):

            def stop(now, at=at):
                if now == at:
                    os.kill(os.getpid(), signal.SIGTERM)

            with pytest.raises(Interrupted):
                train("run", progress=stop, resume=i > 0)
        patch.setattr(frontier.Frontier, "lead", counted)
        train("run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    assert (sum(x is not None for x in led) > 0) is (share == 0.9)
    assert any(row.get("losses/critic") is None for row in rows)
    if method == "sfp":  # it was led before it was interrupted
        assert rows[1]["step"] == 100
        assert rows[1]["mixing/prior_share"] < 1.0


@pytest.mark.parametrize(
    ("method", "task", "frontier"),
    [("sac-pink", "room", 50), ("sac", "CartPole", 0), ("parrot-state", "room", 0)],
)
def test_a_frontier_is_taken_over_where_there_can_be_one(method, task, frontier):
    env = maze() if task == "room" else Late()
    matched = match.as_another(METHODS[method], "sfp-quick")
    given = match.Given(Schedule(), Networks(), Mixture())
    filled = match.fill(given, method, matched, Environment(env), "default")
    assert filled.schedule.frontier == frontier
    assert filled.schedule.head_start == 8000


def test_a_method_s_own_defaults_give_way_to_what_is_asked_for():
    own = METHODS["sfp-quick"].defaults
    assert settle(Schedule(), own).warmup == own["warmup"] != STANDARD["warmup"]
    assert settle(Schedule(warmup=7), own).warmup == 7
    assert settle(Schedule(), {}).warmup == STANDARD["warmup"]
    assert settle(Networks(), own).critic_norm is True
    assert settle(Networks(critic_norm=False), own).critic_norm is False


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (dict(warmup_until="never"), "warmup_until"),
        (dict(update_from=3), "update_from"),
        (dict(catch_up=0), "catch_up of at least 1"),
        (dict(warmup_limit=-1), "warmup_limit of at least 0"),
        (dict(commit=0.5), "1 or more, or 0 for a whole episode, received 0.5"),
        (dict(frontier=-1), "frontier of at least 0"),
        (dict(head_start=-5), "head_start of at least 0"),
        (dict(explore_episodes=1.0), r"explore_episodes within \[0, 1\), received 1"),
        (dict(greedy_episodes=-0.1), r"greedy_episodes within \[0, 1\), received -0.1"),
        (dict(critic_norm="yes"), "critic_norm as True or False"),
    ],
)
def test_bad_input(settings, line):
    with pytest.raises(SfpError, match=line):
        sfp.train("room", method="sac", **settings)
