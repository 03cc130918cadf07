"""Agents, explorers and critics from outside the package, images, and choices."""

from dataclasses import dataclass

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation

import sfp
from probes import random_batch
from sfp.agents.base import Decision, Memory, Turn
from sfp.agents.own import make_agent
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.config import Networks
from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.exploration.explorers import EXPLORERS, register_explorer
from sfp.exploration.family import Correlated, Independent
from sfp.nets.encoder import Flat, Patches, make_encoder
from sfp.nets.layernorm import NormedMLP
from sfp.nets.mlp import MLP
from sfp.nets.policy import Policy, mean_action, shaken_action
from sfp.observation import Obs, Spec
from sfp.priors.base import unit_prior
from sfp.training.log import read_table
from sfp.training.loop import compile_updates
from sfp.training.trained import make_spec

TINY = dict(steps=200, warmup=60, update_after=60, batch=8, capacity=150, n_step=3)
TINY |= dict(eval_every=100, eval_episodes=1, log_every=100, checkpoint_every=100)
SMALL = Networks(width=8, depth=1)


# --- one forward pass -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MLP, NormedMLP])
def test_numpy_and_jax_agree_on_every_network(kind):
    net = kind([5, 7, 6, 3], key=jax.random.key(0))
    if kind is NormedMLP:  # gains that would be missed
        net = jax.tree.map(lambda x: x + 0.1 * np.arange(x.size).reshape(x.shape), net)
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    ours = jax.tree.map(np.asarray, net)(x)
    assert isinstance(ours, np.ndarray)
    np.testing.assert_allclose(ours, jax.jit(jax.vmap(net))(x), rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(ours[2], net(x[2]), rtol=2e-5, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(), (8, 8, 3), (20, 12, 1)])
def test_numpy_and_jax_agree_on_encoders_and_policies(shape):
    spec = Spec(2, 2, 1, shape)
    encoder, features = make_encoder(spec, key=jax.random.key(0))
    assert isinstance(encoder, Patches if shape else Flat)
    policy = Policy(features, 2, width=8, depth=2, key=jax.random.key(1))
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (3, *spec.image_shape), dtype=np.uint8)
    state, goal = rng.normal(size=(2, 3, 2)).astype(np.float32)
    obs = Obs(state, goal[:, :1], image)
    ours = jax.tree.map(np.asarray, encoder)(obs)
    run = jax.jit(lambda encoder, obs: encoder(obs))
    theirs = run(encoder, jax.tree.map(jax.numpy.asarray, obs))
    assert ours.shape == (3, features)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    weights = jax.tree.map(np.asarray, policy)
    one, noise = ours[1], np.float32([0.3, -2.0])
    means = mean_action(weights, one), mean_action(policy, one)
    np.testing.assert_allclose(*means, atol=1e-5)
    shaken = (shaken_action(p, one, noise) for p in (weights, policy))
    np.testing.assert_allclose(*shaken, atol=1e-5)


# --- images ---------------------------------------------------------------------------


class Spot(gym.Env):
    """A bright spot on a dark image, moved by the action; reward on the right."""

    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Box(0, 255, (16, 16, 3), np.uint8)

    def __init__(self, kind="image"):
        self.kind, box = kind, self.observation_space
        vector = spaces.Box(-2.0, 2.0, (2,), np.float32)
        if kind == "both":
            self.observation_space = spaces.Dict({"camera": box, "speed": vector})
        if kind == "first":
            self.observation_space = spaces.Box(0, 255, (3, 16, 16), np.uint8)
        if kind == "float":
            self.observation_space = spaces.Box(0.0, 1.0, (16, 16, 3), np.float32)

    def _show(self):
        image = np.zeros((16, 16, 3), np.uint8)
        x, y = np.clip(np.rint(7.5 + 7 * self.at), 0, 15).astype(int)
        image[x, y] = 255
        if self.kind == "both":
            return {"camera": image, "speed": self.at.astype(np.float32)}
        if self.kind == "first":
            return np.moveaxis(image, -1, 0)
        return image if self.kind == "image" else (image / 255).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.count = self.np_random.uniform(-1, 1, 2), 0
        return self._show(), {}

    def step(self, action):
        self.at = np.clip(self.at + 0.2 * action, -1, 1)
        self.count += 1
        late = self.count >= 20
        return self._show(), float(self.at[0]), False, late, {}


@pytest.fixture(scope="module")
def pixels(tmp_path_factory):
    """A run that sees images."""
    return learned("image", tmp_path_factory.mktemp("pixels"))


def learned(kind, folder):
    """A trained policy, and the bytes of its weights."""
    options = TINY | dict(method="sac", width=8, out=folder / kind)
    policy = sfp.train(Spot(kind), eval_env=Spot(kind), **options)
    loaded = sfp.Trained.load(folder / kind)
    seen, _ = Spot(kind).reset(seed=3)
    np.testing.assert_array_equal(loaded.predict(seen), policy.predict(seen))
    moved = jax.tree.leaves(loaded.controller.encoder)
    fresh = jax.eval_shape(
        lambda key: make_encoder(loaded.spec.sizes, key=key)[0], jax.random.key(0)
    )
    assert moved[0].shape == jax.tree.leaves(fresh)[0].shape
    return (folder / kind / "policy" / "policy.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["image", "first", "float"])
def test_images_of_any_kind_train_with_the_same_bits(kind, pixels, tmp_path):
    assert learned(kind, tmp_path) == pixels


@pytest.mark.slow
def test_images_beside_numbers_train_too(tmp_path):
    learned("both", tmp_path)


@pytest.mark.slow
def test_the_encoder_learns_through_the_critics():
    spec = Spec(0, 2, image=(16, 16, 3))
    agent = SAC(spec, 0.2, SMALL)
    state = agent.init(jax.random.key(0))
    batch = random_batch(8, obs=0, action=2)
    image = np.random.default_rng(0).integers(0, 256, (8, 16, 16, 3), dtype=np.uint8)
    shown = Obs(np.zeros((8, 0), np.float32), np.zeros((8, 0), np.float32), image)
    batch = batch._replace(obs=shown, next_obs=shown)
    after, _ = jax.jit(agent.update)(state, batch, jax.random.key(1))
    pairs = zip(
        jax.tree.leaves(state.encoder), jax.tree.leaves(after.encoder), strict=True
    )
    assert all(not np.array_equal(a, b) for a, b in pairs)
    slow = zip(
        jax.tree.leaves(after.target_encoder),
        jax.tree.leaves(state.encoder),
        jax.tree.leaves(after.encoder),
        strict=True,
    )
    for target, before, now in slow:
        np.testing.assert_allclose(target, 0.995 * before + 0.005 * now, atol=1e-6)


@pytest.mark.slow
def test_stacks_resume_with_the_same_bits_and_are_said_before(tmp_path):
    class Stop(Exception):
        pass

    def stop(step):
        if step == 150:
            raise Stop

    def run(name, **more):
        envs = (FrameStackObservation(Spot(), 2) for _ in range(2))
        options = TINY | dict(method="sac", width=8, shift=2, target_encoder=False)
        options |= dict(checkpoint_every=50, eval_env=next(envs), say=said.append)
        sfp.train(next(envs), out=tmp_path / name, **options | more)

    said = []
    run("whole", progress=lambda step: None)
    assert "150 images will take 0.00012 GB of memory" in said[0]
    with pytest.raises(Stop):
        run("cut", progress=stop)
    run("cut", progress=lambda step: None, resume=True)
    for name in ("train.csv", "eval.csv", "policy/policy.safetensors"):
        one, two = (tmp_path / run / name for run in ("whole", "cut"))
        assert one.read_bytes() == two.read_bytes(), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("image", "said"),
    [
        (np.zeros((8, 8, 3), np.uint8), r"shape \(16, 16, 3\), or with one more axis"),
        (np.full((16, 16, 3), 200.0), r"floats within \[0, 1\], received float64"),
        (np.zeros((16, 16, 3), np.int64), "images of uint8, .* received int64"),
        ({"camera": np.zeros((16, 16, 3))}, "expected an array, received a dict"),
    ],
)
def test_other_images_than_a_policy_knows_are_refused(image, said):
    spec = Spec(0, 2, image=(16, 16, 3))
    agent = SAC(spec, 0.2, SMALL)
    actor = jax.tree.map(np.asarray, agent.actor(agent.init(jax.random.key(0))))
    made = make_spec(Environment(Spot()), "sac", SMALL)
    policy = sfp.Trained(agent.controller(actor), made)
    with pytest.raises(SfpError, match=said):
        policy.predict(image)


def test_too_little_memory_for_images_is_said_before_the_run():
    with pytest.raises(SfpError, match=r"images of the replay need 12288000.0 GB"):
        sfp.train("room:pixels=true", method="sac", capacity=10**12, steps=10**12)


@pytest.mark.slow
@pytest.mark.parametrize("slow", [True, False])
def test_an_update_passes_images_three_times_or_twice(monkeypatch, slow):
    calls, whole = [], Patches.__call__
    monkeypatch.setattr(
        Patches, "__call__", lambda self, obs: calls.append(obs) or whole(self, obs)
    )
    spec = Spec(0, 2, image=(16, 16, 3))
    networks = Networks(width=8, depth=1, target_encoder=slow)
    prior = unit_prior(sfp.load_prior("room"))
    image = np.zeros((8, 16, 16, 3), np.uint8)
    none = np.zeros((8, 0), np.float32)
    batch = random_batch(8, obs=0, action=2, history=2)
    batch = batch._replace(obs=Obs(none, none, image), next_obs=Obs(none, none, image))
    for agent in (SAC(spec, 0.2, networks), SFP(spec, (prior,), 0.2, networks)):
        state = jax.eval_shape(agent.init, jax.random.key(0))
        calls.clear()
        jax.eval_shape(agent.update, state, batch, jax.random.key(1))
        assert len(calls) == (3 if slow else 2)


def test_replay_keeps_images_as_bytes_each_once():
    sizes = Sizes(obs=0, action=1, image=(4, 4, 3))
    replay = EpisodeReplay(100, sizes, n_step=2, gamma=0.5)
    assert replay.columns["image"].dtype == np.uint8
    none = np.zeros(0, np.float32)

    def at(t):
        return TimeStep(none, none, none, none, np.full((4, 4, 3), t, np.uint8))

    replay.begin(at(0))
    for t in range(1, 20):
        replay.add(np.zeros(1), 1.0, at(t), terminated=False)
    batch = replay.sample(np.random.default_rng(0), (50,))
    now = np.asarray(batch.obs.image)[:, 0, 0, 0].astype(int)
    later = np.asarray(batch.next_obs.image)[:, 0, 0, 0].astype(int)
    np.testing.assert_array_equal(later, np.minimum(now + 2, 19))


# --- choices that last ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwoSteps(SAC):
    """Chooses at every second step; in between it does the same again."""

    def begin(self, rng):
        none = np.zeros((0, self.spec.action), np.float32)
        return Memory(none, (np.zeros(self.spec.action, np.float32), np.array(0)))

    def act(self, actor, memory, turn):
        last, left = memory.explorer
        if left:
            return Decision(last, None, {}), memory._replace(
                explorer=(last, np.array(0))
            )
        action = turn.rng.uniform(-1, 1, self.spec.action).astype(np.float32)
        after = memory._replace(explorer=(action, np.array(1)))
        return Decision(action, action, {}), after


@pytest.mark.slow
def test_the_replay_holds_choices_with_the_rewards_until_the_next(tmp_path):
    kept = {}

    def agent(spec):
        made = TwoSteps(spec, 0.2, SMALL)
        replay = SAC.replay

        def remember(schedule, environment):
            kept["replay"] = replay(made, schedule, environment)
            return kept["replay"]

        object.__setattr__(made, "replay", remember)
        return made

    options = TINY | dict(steps=100, update_after=1000, warmup=1000, batch=8)
    sfp.train("sfp/Room-v0", agent=agent, **options | dict(eval_every=1000))
    replay = kept["replay"]
    assert replay.count == 1 + 50  # one episode, a choice for every second step


@pytest.mark.slow
def test_a_run_of_choices_resumes_with_the_same_bits(tmp_path):
    def agent(spec):
        return TwoSteps(spec, 0.2, SMALL)

    class Stop(Exception):
        pass

    options = TINY | dict(agent=agent, checkpoint_every=50)
    sfp.train("room", out=tmp_path / "whole", **options)

    def stop(step):
        if step == 150:
            raise Stop

    with pytest.raises(Stop):
        sfp.train("room", out=tmp_path / "run", progress=stop, **options)
    sfp.train("room", out=tmp_path / "run", resume=True, **options)
    for name in ("train.csv", "eval.csv", "policy/policy.safetensors"):
        one, two = (tmp_path / run / name for run in ("whole", "run"))
        assert one.read_bytes() == two.read_bytes(), name


# --- from outside ---------------------------------------------------------------------


class Left(Independent):
    """Always to the left."""

    def begin(self, rng, seen, dims):
        return np.full((len(seen.position), dims), -0.5)

    def act(self, memory, seen, rng):
        return memory, memory


@pytest.mark.slow
def test_an_explorer_from_outside_explores_and_trains():
    register_explorer("left", Left(), "to the left")
    assert "left" in EXPLORERS
    (rollouts,) = sfp.explore("room", ["left"], trajectories=2, repetitions=1, steps=5)
    assert (rollouts.actions == -0.5).all()
    with pytest.raises(SfpError, match="'left' is there"):
        register_explorer("left", Left(), "again")
    trained = sfp.train(
        "room", agent=lambda spec: SAC(spec, 0.2, SMALL, Left()), **TINY
    )
    assert trained.spec.method


class Alternating:
    """A noise that draws once, and then turns its sign at every step."""

    def begin(self, rng, n, dims):
        return rng.standard_normal((n, dims)).astype(np.float32)

    def draw(self, state, rng):
        return state, -state


def test_a_noise_from_outside_explores_and_shakes_a_policy():
    noise = Correlated(Alternating())
    register_explorer("alternating", noise, "to and fro")
    (rollouts,) = sfp.explore("room", ["alternating"], trajectories=2, steps=6)
    np.testing.assert_array_equal(rollouts.actions[:, 1:], -rollouts.actions[:, :-1])
    agent, rng = SAC(Spec(2, 2), 0.2, SMALL, noise), np.random.default_rng(0)
    actor = jax.tree.map(np.asarray, agent.actor(agent.init(jax.random.key(0))))
    turn = Turn(agent.spec.obs(), rng, "train")
    memory = agent.begin(rng)
    made = []
    for _ in range(3):
        decision, memory = agent.act(actor, memory, turn)
        made.append(decision.action)
    assert not np.array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (dict(act=lambda self, m, s, r: (np.zeros(3), m)), "gave actions of shape"),
        (dict(act=lambda self, m, s, r: (m * np.nan, m)), "within \\[-1, 1\\]"),
        (dict(act=lambda self, m, s, r: m), "must return actions and a memory"),
        (dict(act=lambda self, m, s, r: 1 / 0), "bad raised ZeroDivisionError"),
        (dict(perturb=None), "lacks perturb"),
    ],
)
def test_a_bad_explorer_gets_one_line(fault, message):
    bad = type("Bad", (Left,), fault)()
    if fault.get("perturb", 1) is None:
        bad = type("Bare", (), {"begin": Left.begin, "act": Left.act})()
    with pytest.raises(SfpError, match=message):
        register_explorer("bad", bad, "bad")


@pytest.mark.slow
def test_a_critic_from_outside_learns():
    class Wide(MLP):
        def __init__(self, sizes, *, key):
            super().__init__([sizes[0], 13, sizes[-1]], key=key)

    agent = SAC(Spec(3, 2), 0.2, SMALL, critic=Wide)
    state = agent.init(jax.random.key(0))
    assert state.critics[0].weights[0].shape == (5, 13)
    batches = random_batch(8, action=2, lead=(3,))
    after, _ = compile_updates(agent)(state, batches, jax.random.key(1))
    assert np.isfinite(after.critics[0].weights[0]).all()
    with pytest.raises(SfpError, match=r"received both \(Wide\): set critic_norm"):
        SAC(Spec(3, 2), 0.2, Networks(critic_norm=True), critic=Wide)


class Talking(SAC):
    """Logs a number of its own."""

    def update(self, state, batch, key):
        state, metrics = super().update(state, batch, key)
        return state, metrics | {"own/mine": metrics["losses/q"] * 0.0 + 7.0}


class Announced(Talking):
    metrics = ("own/mine",)


@pytest.mark.slow
def test_an_agent_logs_numbers_of_its_own_if_it_names_them(tmp_path):
    given = TINY | dict(steps=400, update_after=100, log_every=200)
    told = dict(agent=lambda spec: Announced(spec, 0.2, SMALL), out=tmp_path)
    sfp.train("room", **told, **given)
    rows = read_table(tmp_path, "train")
    assert rows[-1]["own/mine"] == 7.0
    assert [*rows[-1]][-1] == "own/mine"
    with pytest.raises(SfpError, match=r"own/mine: expected numbers that train\.csv"):
        sfp.train("room", agent=lambda spec: Talking(spec, 0.2, SMALL), **given)


@pytest.mark.parametrize("names", ["own/mine", ("a,b",), ("mine",), (3,), 3])
def test_names_of_numbers_fit_for_a_table(names):
    class Odd(SAC):
        metrics = names

    with pytest.raises(SfpError, match="`metrics` of the agent Odd: expected a tuple"):
        make_agent(lambda spec: Odd(spec, 0.2, SMALL), Spec(2, 2))


@pytest.mark.slow
def test_a_bad_agent_gets_one_line():
    class Lacking:
        spec = Spec(2, 2, 2)

    with pytest.raises(SfpError, match="Lacking lacks spread, replay"):
        sfp.train("room", agent=lambda spec: Lacking(), **TINY)
    with pytest.raises(SfpError, match="is for Spec"):
        sfp.train("room", agent=lambda spec: SAC(Spec(7, 2), 0.2, SMALL), **TINY)

    class Wrong(SAC):
        def act(self, actor, memory, turn):
            return Decision(np.zeros(5), np.zeros(5), {}), memory

    with pytest.raises(SfpError, match=r"an action of shape \(5,\)"):
        sfp.train("room", agent=lambda spec: Wrong(spec, 0.2, SMALL), **TINY)
    with pytest.raises(SfpError, match="received both"):
        sfp.train("room", method="sac", agent=SAC, **TINY)
    with pytest.raises(SfpError, match="agent is a int: expected a callable"):
        make_agent(3, Spec(2, 2))
    with pytest.raises(SfpError, match=r"agent .*lambda.* raised ZeroDivisionError"):
        make_agent(lambda spec: 1 / 0, Spec(2, 2))

    class Failing(SAC):
        def begin(self, rng):
            return 1 / 0

    with pytest.raises(SfpError, match="the agent Failing raised ZeroDivisionError"):
        make_agent(lambda spec: Failing(spec, 0.2, SMALL), Spec(2, 2))
    with pytest.raises(SfpError, match="no prior and no data from here"):
        sfp.train("room", prior="room", agent=SAC, **TINY)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (lambda *given: 1 / 0, "update of the agent Bad raised ZeroDivisionError"),
        (lambda self, state, *_: state, "must return a state and metrics"),
        (lambda self, state, *_: (state.critics, {}), "a state of other shapes"),
        (lambda self, state, b, _: (state, {"x": b.reward}), r"x of shape \(8,\)"),
    ],
)
def test_a_bad_update_gets_one_line(update, message):
    agent = type("Bad", (SAC,), {"update": update})(Spec(3, 2), 0.2, SMALL)
    state = jax.eval_shape(agent.init, jax.random.key(0))
    batches = random_batch(8, action=2, lead=(3,))
    with pytest.raises(SfpError, match=message):
        jax.eval_shape(compile_updates(agent), state, batches, jax.random.key(1))


def test_explore_stays_a_function_once_its_stage_is_imported():
    for _ in range(2):
        assert callable(sfp.explore)
