"""Where environments of all kinds meet the loop: what is kept, refused or told."""

import inspect
import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import NormalizeObservation, NormalizeReward, TimeLimit

from environments import SMALL, Drift, Reach, Still
from sfp.agents.methods import METHODS
from sfp.cli import main
from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.data.trajectories import assemble
from sfp.envs.adapter import Environment, as_type, make_env
from sfp.envs.identity import identify
from sfp.envs.spaces import limits_of
from sfp.errors import SfpError
from sfp.training.evaluate import evaluate
from sfp.training.folder import check_config
from sfp.training.recordings import fitting_recordings
from sfp.training.run import _beside, train

pytestmark = pytest.mark.slow

SHORT = SMALL | {"steps": 100, "eval_episodes": 1}


class Quiet(Drift):
    """Speaks of success only when there is one: in one episode of three."""

    def reset(self, *, seed=None, options=None):
        self.lucky = seed is not None and seed % 3 == 0
        return super().reset(seed=seed)

    def step(self, action):
        *rest, _ = super().step(action)
        return *rest, ({"is_success": True} if self.lucky else {})


class Blocks(Reach):
    """Goals of two objects, and a reward that needs their shape."""

    observation_space = spaces.Dict(
        {
            "observation": spaces.Box(-9.0, 9.0, (2,), np.float32),
            "achieved_goal": spaces.Box(-9.0, 9.0, (2, 1), np.float32),
            "desired_goal": spaces.Box(-9.0, 9.0, (2, 1), np.float32),
        }
    )

    def seen(self):
        shown = super().seen()
        for key in ("achieved_goal", "desired_goal"):
            shown[key] = shown[key].reshape(2, 1)
        return shown

    def compute_reward(self, achieved_goal, desired_goal, info):
        distance = np.linalg.norm(achieved_goal - desired_goal, axis=(-2, -1))
        return (distance < 0.6).astype(np.float64)


def test_an_episode_that_says_nothing_has_failed_if_others_speak():
    row, _ = evaluate(Environment(Quiet()), Still(), 10, first_seed=0)
    assert row["eval/success_rate"] == 0.4
    row, _ = evaluate(Environment(Drift()), Still(), 2, first_seed=0)
    assert row["eval/success_rate"] is None


def test_goals_keep_their_shape_in_compute_reward():
    env = TimeLimit(Blocks(), 30)
    other = TimeLimit(Blocks(), 30)
    train(env, eval_env=other, method="sac", **SHORT | {"hindsight": 4})


@pytest.mark.parametrize(
    ("space", "match"),
    [
        (spaces.Box(0, 9, (8, 8, 3), np.int64), "is int64 within .*expected uint8"),
        (spaces.Box(0, 255, (2, 2, 8, 8, 3), np.uint8), "arrays of five axes"),
        (
            spaces.Dict({"a": spaces.Dict({"b": spaces.Box(0, 1, (2,))})}),
            "a Dict of Boxes.*FlattenObservation",
        ),
        (
            spaces.Dict(
                {
                    "observation": spaces.Box(-1, 1, (2,)),
                    "achieved_goal": spaces.Box(-1, 1, (1,)),
                    "desired_goal": spaces.Box(-1, 1, (3,)),
                }
            ),
            r"achieved goals of shape \(1,\) and desired ones of \(3,\)",
        ),
    ],
)
def test_observations_that_cannot_be_learned_from(space, match):
    env = Drift()
    env.observation_space = space
    with pytest.raises(SfpError, match=match):
        Environment(env)


@pytest.mark.parametrize("wrapper", [NormalizeObservation, NormalizeReward])
def test_running_statistics_are_refused(wrapper):
    with pytest.raises(SfpError, match=f"{wrapper.__name__}, whose statistics change"):
        Environment(TimeLimit(wrapper(Drift()), 10))


def test_what_is_no_environment():
    for wrong in (Drift, 3, gym.make_vec("CartPole-v1", 2)):
        with pytest.raises(SfpError, match="expected a task's name, a Gymnasium id or"):
            inspect.unwrap(make_env)(wrong)  # without the types' checks of tests


def test_tests_may_be_named():
    train("probe/Drift-v0", eval_env="probe/Drift-v0", method="sac", **SHORT)


def test_whole_numbers_are_rounded():
    values = np.array([-2.6, -0.4, 0.5, 1.5, 2.6])
    np.testing.assert_array_equal(as_type(values, np.int32), [-3, 0, 0, 2, 3])
    assert as_type(values, np.float32).dtype == np.float32


def test_float64_bounds_that_float32_cannot_hold():
    for low, high in ((0.7, np.inf), (-np.inf, 0.7), (1000.1, 1000.2)):
        space = spaces.Box(low, high, (1,), np.float64)
        least, most = limits_of(space)
        for edge in (x for x in (low, high) if np.isfinite(x)):
            assert least[0] <= np.float32(edge) <= most[0]
        assert least[0] > low - 1e-3 or low == -np.inf


def test_steps_that_do_not_follow_the_seed_are_noticed():
    with pytest.warns(UserWarning, match="does not follow the seed of reset"):
        assert not Environment(Drift(inner=False)).check_seed()
    assert Environment(Drift()).check_seed()


def test_a_buffer_that_the_environment_goes_on_writing_to():
    class Buffer(Drift):
        observation_space = spaces.Box(-3.0, 3.0, (3,), np.float32)
        held = np.zeros(3, np.float32)

        def reset(self, *, seed=None, options=None):
            self.held[:] = np.random.default_rng().uniform(-1, 1, 3)
            return self.held, super().reset(seed=seed)[1]

    with pytest.warns(UserWarning, match="does not follow the seed"):
        assert not Environment(Buffer()).check_seed()


def test_a_goal_that_moves_is_seen_where_it_is():
    replay = EpisodeReplay(50, Sizes(obs=1, action=1, goal=1, history=0, bank=0))
    moments = [
        TimeStep(*np.float32([[t], [t], [10 * t]]), np.zeros(0)) for t in range(9)
    ]
    replay.begin(moments[0])
    for moment in moments[1:]:
        replay.add(np.zeros(1), 0.0, moment, terminated=False)
    batch = replay.sample(np.random.default_rng(0), (64,))
    for seen in (batch.obs, batch.next_obs):
        np.testing.assert_array_equal(seen.goal, 10 * seen.state)


def test_an_environments_own_arguments_belong_to_the_run(tmp_path):
    def go(**kwargs):
        env = gym.make("probe/Drift-v0", **kwargs)
        return train(env, method="sac", out=tmp_path / "run", **SHORT)

    go(scale=2.0)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["env"] == '{"kwargs": {"scale": 2.0}}'
    go(scale=2.0)  # it is finished
    for other in ({"scale": 3.0}, {}, {"scale": 2.0, "max_episode_steps": 9}):
        with pytest.raises(SfpError, match=r"other settings \(env '"):
            go(**other)
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", str(tmp_path / "run")])
    assert ended.value.code == 2


def test_what_a_name_does_not_say(tmp_path):
    assert identify("maze") == identify("probe/Drift-v0") == ""
    assert identify(gym.make("probe/Drift-v0", render_mode="rgb_array")) == ""
    assert identify(Drift()) == "environments.Drift"
    map_file = tmp_path / "mine.txt"
    seen = set()
    for row in ("#S.G#", "#S..G#"):
        map_file.write_text("\n".join(["#" * len(row), row, "#" * len(row)]) + "\n")
        seen.add(identify(str(map_file)))
    assert len(seen) == 2


def recorded(observations):
    episode = {"actions": np.zeros((4, 2)), "observations": observations}
    bounds = Drift.action_space.low, Drift.action_space.high
    return assemble([episode], source="here", low=bounds[0], high=bounds[1])


def test_recorded_states_belong_to_the_run_and_are_numbers(tmp_path):
    seen = np.zeros((4, 3), np.float32)
    one, two = recorded(seen), recorded(seen + 1)
    assert one.fingerprint == two.fingerprint
    assert _beside(one) != _beside(two)
    config = {"task": "x", "data": one.fingerprint, "beside": _beside(one)}
    check_config(tmp_path, config)
    check_config(tmp_path, config)
    with pytest.raises(SfpError, match=r"other settings \(beside"):
        check_config(tmp_path, config | {"beside": _beside(two)})
    held = tmp_path / "config.json"
    held.write_text(json.dumps({"task": "x", "data": one.fingerprint}))
    with pytest.raises(SfpError, match=r"config\.json is not what was written"):
        check_config(tmp_path, config)
    (tmp_path / "SHA256SUMS").unlink()  # begun by a version that did not tell
    with pytest.warns(UserWarning, match="has no SHA256SUMS: it is unverified"):
        check_config(tmp_path, config)
    seen[2, 1] = np.nan
    method = METHODS["sac-bc"]
    with pytest.raises(SfpError, match="observations of step 2 are NaN or infinite"):
        fitting_recordings(recorded(seen), "sac-bc", method, Environment(Drift()))


def test_rewards_of_recordings_are_checked_too():
    steps = np.random.default_rng(0).uniform(-1, 1, (40, 2)).astype(np.float32)
    episode = {"actions": steps, "observations": steps, "goals": steps}
    data = assemble([episode], source="here", low=[-1, -1], high=[1, 1])
    env = gym.make("probe/Reach-v0", reward="wrong")
    with pytest.raises(SfpError, match=r"rewards would be wrong.*but rlpd"):
        train(env, method="rlpd", data=data, **SMALL | {"hindsight": 0})


def test_hindsight_where_episodes_end_by_themselves_is_told():
    class Ending(Reach):
        def step(self, action):
            seen, reward, _, late, info = super().step(action)
            return seen, reward, bool(reward), late, info

    pair = [TimeLimit(Ending(), 20) for _ in range(2)]
    settings = SHORT | {"hindsight": 4}
    with pytest.warns(UserWarning, match="a goal given in hindsight does not end them"):
        train(pair[0], eval_env=pair[1], method="sac", **settings)
