"""The examples run to their end; the prior acts, and replays hold what was executed."""

import importlib.util
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

import sfp

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
STEPS, WARMUP = 500, 100


class Executed(gym.Wrapper):
    """Keeps the actions that were executed."""

    def __init__(self, env):
        super().__init__(env)
        self.actions = []

    def step(self, action):
        self.actions.append(np.array(action))
        return super().step(action)


class Watched:
    """Environments, learners and a prior's proposals, while an example runs."""

    def __init__(self, monkeypatch):
        self.envs, self.models, self.proposed = [], [], {}
        make, learn = gym.make, OffPolicyAlgorithm.learn
        propose = sfp.PriorActor.propose

        def watch_make(task):
            self.envs.append(Executed(make(task)))
            return self.envs[-1]

        def watch_learn(model, *args, **kwargs):
            self.models.append(model)
            return learn(model, *args, **kwargs)

        def watch_propose(actor, where=None):
            made = propose(actor, where)
            if where is None or where[0]:
                self.proposed[len(self.envs[-1].actions)] = made[0]
            return made

        monkeypatch.setattr(gym, "make", watch_make)
        monkeypatch.setattr(OffPolicyAlgorithm, "learn", watch_learn)
        monkeypatch.setattr(sfp.PriorActor, "propose", watch_propose)

    def check_mixed(self, stored):
        """The prior acted in the warm-up and less later; `stored` was executed."""
        executed = np.stack(self.envs[0].actions[:STEPS])
        np.testing.assert_allclose(stored, executed, atol=1e-6)
        for step, action in self.proposed.items():
            np.testing.assert_allclose(executed[step], action, atol=1e-6)
        steps = np.array(sorted(self.proposed))
        assert (steps < WARMUP).sum() == WARMUP
        assert 0 < (steps >= WARMUP).sum() < STEPS - WARMUP


@pytest.fixture
def watched(monkeypatch):
    return Watched(monkeypatch)


@pytest.fixture(scope="module")
def hand(tmp_path_factory):
    """The recordings of the examples, and a prior of them that takes a second."""
    here = tmp_path_factory.mktemp("hand")
    example("recordings").write(here / "recordings")
    quick = dict(model="gaussian", epochs=1, epoch_steps=20)
    prior = sfp.fit(sfp.load(here / "recordings"), past_actions=2, **quick)
    sfp.save_prior(prior, here / "prior")
    return here / "prior"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(file, monkeypatch, *words):
    """Run an example as a user does, but shorter."""
    few = ["--steps", STEPS, "--warmup", WARMUP]
    monkeypatch.setattr(sys, "argv", ["example", *map(str, [*few, *words])])
    file.main()


@pytest.mark.parametrize("library", ["stable_baselines3", "sbx"])
@pytest.mark.parametrize("learner", ["SAC", "TD3"])
def test_a_learner_that_a_prior_explores_for(
    library, learner, hand, watched, monkeypatch, capsys
):
    words = ["--prior", hand, "--library", library, "--learners", learner]
    main(
        example("sb3_explore"), monkeypatch, *words, "--explore", "mixed", "--tests", 1
    )
    watched.check_mixed(watched.models[0].replay_buffer.actions[:STEPS, 0])
    said = capsys.readouterr().out
    assert said.startswith(f"{library} {learner} mixed, seed 0: the goal in ")
    assert watched.models[0]._n_updates > 0


@pytest.mark.parametrize(
    ("prior", "task"), [("hand", "MountainCarContinuous-v0"), ("room", "sfp/Maze-v0")]
)
def test_noise_and_nothing(prior, task, hand, watched, monkeypatch, capsys):
    prior = hand if prior == "hand" else prior
    words = ["--prior", prior, "--task", task, "--learners", "TD3", "--tests", 1]
    main(example("sb3_explore"), monkeypatch, *words, "--explore", "alone")
    assert watched.proposed == {}
    main(example("sb3_explore"), monkeypatch, *words, "--explore", "noise")
    assert {*range(STEPS)} <= {*watched.proposed}
    trained = watched.envs[::2]
    for model, env in zip(watched.models, trained, strict=True):
        stored = model.replay_buffer.actions[:STEPS, 0]
        np.testing.assert_allclose(stored, np.stack(env.actions), atol=1e-6)
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("prior", "task"), [("hand", "MountainCarContinuous-v0"), ("room", "sfp/Maze-v0")]
)
def test_a_learner_in_one_file(prior, task, hand, watched, monkeypatch, capsys):
    file, kept = example("cleanrl_td3"), []
    train = file.train
    monkeypatch.setattr(file, "train", lambda *a: kept.append(train(*a)) or kept[0])
    prior = hand if prior == "hand" else prior
    main(file, monkeypatch, "--prior", prior, "--task", task)
    _, replay, _ = kept[0]
    n = watched.envs[0].action_space.shape[0]
    m = (replay.shape[1] - n - 2) // 2
    watched.check_mixed(replay[:, m : m + n])
    assert capsys.readouterr().out.startswith("seed 0: the goal in ")
