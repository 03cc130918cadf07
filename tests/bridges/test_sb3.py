"""The real Stable-Baselines3 and SBX explore by a prior and store what was executed."""

import copy

import gymnasium as gym
import jax
import numpy as np
import pytest
import sbx
import stable_baselines3 as sb3
from stable_baselines3.common.noise import VectorizedActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv

import sfp
from sfp.data.trajectories import assemble

LOW, HIGH = np.array([-2.0, 0.0], np.float32), np.array([3.0, 1.0], np.float32)


class Echo(gym.Env):
    """Shows the action that was executed last."""

    observation_space = gym.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gym.spaces.Box(LOW, HIGH)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 7
        return np.full(2, 9, np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.asarray(action, np.float32), 0.0, False, self.left == 0, {}


@pytest.fixture(scope="module")
def prior():
    """Knows two actions, which follow each other."""
    ends = np.array([[-1.5, 0.9], [2.5, 0.1]], np.float32)
    noise = np.random.default_rng(0).normal(0, 0.02, (40, 50, 2))
    steps = np.arange(50) // 2 % 2
    episodes = [{"actions": (ends[steps] + n).astype(np.float32)} for n in noise]
    data = assemble(episodes, source="test", low=LOW, high=HIGH)
    return sfp.fit(data, past_actions=2, model="gaussian", epochs=30, epoch_steps=100)


def near(actions):
    return (np.abs(actions - [-1.5, 0.9]).max(1) < 0.3) | (
        np.abs(actions - [2.5, 0.1]).max(1) < 0.3
    )


LEARNERS = [sb3.SAC, sb3.TD3, sb3.DDPG, sbx.SAC, sbx.TD3]


@pytest.mark.parametrize(
    "learner", LEARNERS, ids=lambda c: c.__module__[:3] + c.__name__
)
def test_the_replay_holds_what_was_executed(learner, prior, tmp_path, monkeypatch):
    told, propose = [], sfp.PriorActor.propose

    def watched(actor, where):
        told.append((where, propose(actor, where)))
        return told[-1][1]

    monkeypatch.setattr(sfp.PriorActor, "propose", watched)
    envs = DummyVecEnv([Echo, Echo])
    model = learner("MlpPolicy", envs, learning_starts=40, batch_size=8, seed=0)
    before = model._sample_action
    model.learn(200, callback=sfp.MixedExploration(prior, mixing=0.5))
    stored = model.replay_buffer.actions[:100].reshape(-1, 2)
    executed = LOW + (HIGH - LOW) * (stored + 1) / 2
    shown = model.replay_buffer.next_observations[:100].reshape(-1, 2)
    np.testing.assert_allclose(executed, shown, atol=1e-5)
    by_prior, proposed = (np.concatenate(parts) for parts in zip(*told, strict=True))
    np.testing.assert_allclose(executed[by_prior], proposed[by_prior], atol=1e-5)
    assert by_prior[:40].all()  # in place of uniform actions
    assert near(executed[:40]).mean() > 0.95
    assert 0.35 < by_prior[40:].mean() < 0.65
    assert model._sample_action == before
    model.save(tmp_path / "model")
    learner.load(tmp_path / "model", env=envs)


def test_a_model_can_be_saved_while_it_explores(prior, tmp_path):
    class Keep(sb3.common.callbacks.BaseCallback):
        def _on_step(self):
            self.model.save(tmp_path / "model")
            return self.n_calls < 3

    model = sb3.TD3("MlpPolicy", Echo(), seed=0)
    model.learn(20, callback=[sfp.MixedExploration(prior), Keep()])
    loaded = sb3.TD3.load(tmp_path / "model", env=Echo())
    assert "_sample_action" not in vars(loaded)
    loaded.learn(10)


def test_a_coin_is_kept_for_some_steps(prior):
    model = sb3.TD3("MlpPolicy", Echo(), learning_starts=0, batch_size=8, seed=0)
    model.learn(
        420, callback=sfp.MixedExploration(prior, mixing=0.5, commit=1e6, seed=3)
    )
    stored = model.replay_buffer.actions[:420].reshape(-1, 2)
    by_prior = near(LOW + (HIGH - LOW) * (stored + 1) / 2).reshape(-1, 7).mean(axis=1)
    assert ((by_prior < 0.5) | (by_prior == 1.0)).mean() > 0.95
    assert 0.3 < (by_prior == 1.0).mean() < 0.7


def test_the_schedule_hands_over(prior):
    model = sb3.TD3("MlpPolicy", Echo(), learning_starts=0, batch_size=8, seed=0)
    model.learn(400, callback=sfp.MixedExploration(prior))
    stored = model.replay_buffer.actions[:400].reshape(-1, 2)
    by_prior = near(LOW + (HIGH - LOW) * (stored + 1) / 2)
    assert by_prior[:60].mean() > 0.7
    assert by_prior[250:].mean() < 0.3


@pytest.mark.parametrize("learner", [sb3.TD3, sbx.TD3])
def test_noise_continues_a_stream_per_environment(learner, prior, tmp_path):
    noise = sfp.PriorNoise(prior, Echo.action_space, scale=0.5)
    drawn = np.stack([noise() for _ in range(40)])
    assert near(LOW + (HIGH - LOW) * (drawn / 0.5 + 1) / 2).mean() > 0.95
    both = VectorizedActionNoise(noise, 2)
    streams = np.stack([both() for _ in range(20)])
    assert np.abs(streams[:, 0] - streams[:, 1]).max() > 0.01
    envs = DummyVecEnv([Echo, Echo])
    model = learner(
        "MlpPolicy", envs, action_noise=noise, learning_starts=0, batch_size=8
    )
    model.learn(60)
    model.save(tmp_path / "model")
    again = learner.load(tmp_path / "model", env=envs)
    assert again.action_noise().shape == (2, 2)
    assert isinstance(copy.deepcopy(noise), sfp.PriorNoise)


def test_wrong_priors_and_learners_are_refused(prior):
    other = gym.spaces.Box(-1, 1, (2,), np.float32)
    with pytest.raises(sfp.SfpError, match="is for actions within"):
        sfp.PriorNoise(prior, other)
    with pytest.raises(sfp.SfpError, match="expected a scale above 0"):
        sfp.PriorNoise(prior, Echo.action_space, scale=0.0)
    with pytest.raises(sfp.SfpError, match="within \\[0, 1\\]"):
        sfp.MixedExploration(prior, mixing=2.0)
    model = sb3.SAC("MlpPolicy", gym.make("Pendulum-v1"), seed=0)
    with pytest.raises(sfp.SfpError, match="actions of 2 dimensions"):
        model.learn(10, callback=sfp.MixedExploration(prior))
    with pytest.raises(sfp.SfpError, match="needs a learner with a replay"):
        sb3.PPO("MlpPolicy", Echo(), n_steps=8, batch_size=8).learn(
            8, callback=sfp.MixedExploration(prior)
        )
    assert jax.devices()
