"""SPiRL: skills that reproduce what was recorded, and a policy that chooses them."""

import functools
import re
from contextlib import nullcontext
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import sfp
from probes import linear_prior, plain
from sfp.agents.base import Turn
from sfp.agents.losses import gaussian_kl
from sfp.agents.methods import get_method
from sfp.agents.skilled import REACH, latent_policy
from sfp.agents.spirl import SPIRL
from sfp.cli import main
from sfp.config import Networks
from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.data.trajectories import assemble
from sfp.errors import SfpError
from sfp.exploration.card import reconstruction
from sfp.exploration.explorers import explore
from sfp.observation import Spec
from sfp.priors.base import unit_prior
from sfp.priors.fit import Fitter, conditioning_of, settings
from sfp.priors.models import sized
from sfp.priors.prepare import split
from sfp.priors.session import fit_to
from sfp.priors.skills import Skills

pytestmark = pytest.mark.slow

SIZES = dict(horizon=4, latent=2, width=16)


def recordings(episodes=60, length=9):
    """Every episode goes one way, at full speed: an action is ±1 throughout."""
    rng, made = np.random.default_rng(0), []
    for _ in range(episodes):
        actions = np.full((length, 1), rng.choice([-1.0, 1.0]), np.float32)
        states = 0.1 * np.cumsum(actions, axis=0) - 0.1 * actions
        made.append({"actions": actions, "observations": states.astype(np.float32)})
    return assemble(made, source="two ways", low=-np.ones(1), high=np.ones(1))


@functools.cache
def fitter(closed=True):
    fitting = settings(
        "skills", epochs=2, epoch_steps=300, batch=64, learning_rate=3e-3
    )
    model = functools.partial(Skills, closed=closed, **SIZES)
    sees = conditioning_of(model, 0, state=True)
    return Fitter(recordings(), conditioning=sees, model=model, fitting=fitting)


@functools.cache
def fitted(closed=True):
    made = fitter(closed)
    state = made.begin()
    for _, latest in made.epochs(state):
        state = latest
    return unit_prior(made.prior(state))


@pytest.mark.parametrize("closed", [True, False])
def test_the_decoder_reproduces_windows_that_were_held_out(closed):
    model, held = fitted(closed).model, fitter(closed).batches.held
    key, actions, contexts = jax.random.key(0), *(x[:32] for x in held)
    terms = jax.jit(type(model).terms)(model, key, actions, contexts)
    assert terms["reconstruction"] < 0.01  # the deviation of the data is 1
    mean, _ = jax.vmap(model.encode)(
        actions.reshape(32, 4, 1), contexts.reshape(32, 4, 1)
    )
    made = jax.vmap(model.decode)(mean, contexts.reshape(32, 4, 1))
    assert float(jnp.abs(made).mean()) > 0.95  # a recorded 1 stays 1


def test_epochs_are_compared_by_what_is_decoded_not_by_the_prior():
    """The prior's loss rises while q says more: an early epoch could win by it."""
    model, made = fitted().model, fitter()
    worse = eqx.tree_at(lambda m: m.prior.biases[-1], model, replace_fn=lambda b: b + 5)
    assert made.score(worse, 32) == made.score(model, 32)
    blank = eqx.tree_at(lambda m: m.decoder, model, made.initial.decoder)
    assert made.score(blank, 32) < made.score(model, 32) - 0.1


def test_windows_keep_to_their_episode():
    source = fitter().batches
    ends = recordings().ends
    inside = np.searchsorted(ends, source._train, side="right")
    last = np.searchsorted(ends, source._train + 3, side="right")
    np.testing.assert_array_equal(inside, last)
    assert source.size == 54 * 6  # of nine steps each, a tenth held out


def test_the_policy_begins_as_the_prior():
    prior = fitted()
    policy = latent_policy(prior, 3)  # two numbers more than the skills see
    seen = jnp.array([0.3, 5.0, -7.0])
    scaled = (seen[:1] - prior.frame.state_mean) / prior.frame.state_deviation
    mean, log_std = prior.model.moments(scaled)
    own_mean, own_log_std = policy(seen)
    np.testing.assert_allclose(REACH * own_mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(own_log_std + np.log(REACH), log_std, atol=1e-4)


def make(**options):
    networks = Networks(width=16, depth=2)
    return SPIRL(Spec(1, 1), fitted(), networks=networks, **options)


def test_a_choice_lasts_a_skill_and_stands_where_it_was_made():
    agent, rng = make(), np.random.default_rng(0)
    actor = jax.tree.map(np.asarray, agent.actor(agent.init(jax.random.key(0))))
    memory, chosen = agent.begin(rng), []
    for _ in range(9):
        turn = Turn(plain(np.zeros(1, np.float32)), rng, "train")
        decision, memory = agent.act(actor, memory, turn)
        chosen.append(decision.chosen is not None)
        assert np.abs(decision.action).max() <= 1
    assert chosen == [True, False, False, False, True, False, False, False, True]


def test_a_task_that_one_skill_solves_is_solved():
    """One choice, then over: the reward is what the first action is."""
    agent = make(target_divergence=20.0)
    state, update = jax.jit(agent.init)(jax.random.key(0)), jax.jit(agent.update)
    rng = np.random.default_rng(0)
    latents = rng.uniform(-1, 1, (4000, 2)).astype(np.float32)
    zero = jnp.zeros((1,)) - fitted().frame.state_mean
    start = zero / fitted().frame.state_deviation
    decode = jax.vmap(lambda z: jnp.clip(fitted().model.step(REACH * z, start), -1, 1))
    rewards = np.asarray(decode(latents))[:, 0]
    replay = EpisodeReplay(9000, Sizes(1, 2))
    for latent, reward in zip(latents, rewards, strict=True):
        replay.begin(_at_zero())
        replay.add(latent, float(reward), _at_zero(), terminated=True)
    for i in range(300):
        batch = replay.sample(np.random.default_rng(i), (64,))
        state, metrics = update(state, batch, jax.random.key(i))
    actor = jax.tree.map(np.asarray, agent.actor(state))
    controller = agent.controller(actor)
    memory = controller.begin(rng)
    action, _ = controller.act(memory, plain(np.zeros(1, np.float32)), rng)
    assert action[0] > 0.9
    assert np.isfinite(float(metrics["losses/kl"]))


def test_the_temperature_rises_where_the_divergence_exceeds_its_target():
    for target, sign in ((1.0, 1), (10.0, -1)):
        agent = make(target_divergence=target)
        state = agent.init(jax.random.key(0))
        after = agent._tune(state, jnp.full(8, 3.0))
        assert np.sign(float(after.log_alpha)) == sign
    feature, start = jnp.zeros((1, 1)), agent.start
    assert float(agent._divergence(start, feature)[0]) == pytest.approx(0)
    moved = eqx.tree_at(lambda p: p.net.biases[-1], start, start.net.biases[-1] + 0.1)
    known = gaussian_kl(*moved(feature[0]), *start(feature[0]))
    assert float(agent._divergence(moved, feature)[0]) == pytest.approx(float(known))


def test_what_is_refused():
    data = recordings()
    with pytest.raises(SfpError, match="no episode has the 10 actions of a skill"):
        sfp.fit(data, model="skills")
    blind = assemble(
        [{"actions": np.zeros((20, 1), np.float32) + i} for i in (0, 1)],
        source="blind",
        low=-np.ones(1),
        high=np.ones(1),
    )
    with pytest.raises(SfpError, match="blind has no observations"):
        sfp.fit(blind, model="skills", batch=2)
    with pytest.raises(SfpError, match="sfp takes a prior over single actions"):
        get_method("sfp", (fitted(),))
    with pytest.raises(SfpError, match="spirl needs skills, received the model Linear"):
        get_method("spirl", (linear_prior(),))
    with pytest.raises(SfpError, match="sac-kl takes a prior over single actions"):
        get_method("sac-kl", (fitted(),))
    with pytest.raises(SfpError, match="mine proposes skills, an explorer needs"):
        explore("room", priors={"mine": fitted()}, steps=5)


def _at_zero():
    zero, none = np.zeros(1, np.float32), np.zeros(0, np.float32)
    return TimeStep(zero, none, none, none)


def test_skills_have_the_sizes_that_are_asked_for(tmp_path, capsys):
    data = tmp_path / "ways.npz"
    actions = recordings().actions
    np.savez(data, actions=actions, episode_lengths=np.full(60, 9))
    few = ["--epochs", "1", "--epoch-steps", "2", "--batch", "16"]
    sizes = ["--model", "skills-open", "--horizon", "3", "--latent", "2"]
    main(["fit", str(data), "--out", str(tmp_path / "skills"), *sizes, *few])
    model = sfp.load_prior(tmp_path / "skills").model
    assert (model.horizon, model.latent, model.closed) == (3, 2, False)
    card = (tmp_path / "skills" / "README.md").read_text()
    with Image.open(tmp_path / "skills" / "skills.png") as picture:  # named by the card
        assert min(picture.size) > 100
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 2
    assert "(skills.png)" in card
    assert "of episodes that were held out" in card
    capsys.readouterr()
    main(["prior", "show", str(tmp_path / "skills"), "--out", str(tmp_path)])
    assert "3 actions from 2 numbers, open loop" in capsys.readouterr().out


def test_the_error_on_a_card_is_that_of_episodes_that_were_held_out():
    data, seed, windows = recordings(), 0, np.repeat(np.arange(60), 6)
    held = np.unique(windows[split(windows, seed)])
    other = data.actions.copy()
    for episode in held:
        other[data.starts[episode] : data.ends[episode]] = 0.0
    error, spread = reconstruction(fitted(), replace(data, actions=other), seed)
    assert spread == 0.0  # all that it looked at is what was changed
    assert error > 0.0


def test_an_interrupted_fit_does_not_go_on_with_skills_of_another_length(tmp_path):
    """The weights have the same shapes: the length is no part of them."""
    held = []

    def stop(done, row):
        if row is not None:
            raise KeyboardInterrupt

    for horizon, progress in ((4, stop), (3, lambda done, row: held.append(row))):
        fitting = settings("skills-open", epochs=2, epoch_steps=2, batch=16)
        model = sized("skills-open", horizon=horizon)
        sees = conditioning_of(model, 0, state=False)
        made = Fitter(recordings(), conditioning=sees, model=model, fitting=fitting)
        stopped = progress is stop
        with pytest.raises(KeyboardInterrupt) if stopped else nullcontext():
            out = tmp_path / "skills"
            fit_to(out, recordings(), made, preset="default", progress=progress)
    assert held[0] is None  # from the beginning


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--model", "skills"], "lacks 'observations'.*--model skills-open needs"),
        (["--state"], "lacks 'observations'.*Without --state nothing but"),
        (["--model", "skills-open", "--past-actions", "3"], "sees no past actions"),
        (["--horizon", "5"], "horizon: these are sizes of skills, .* realnvp"),
        (["--model", "skills-open", "--latent", "0"], "latent of at least 1"),
        (["--model", "skills-open", "--horizon", "10"], "has 9.*smaller horizon"),
    ],
)
def test_skills_that_cannot_be_fitted(tmp_path, capsys, options, match):
    data, out = tmp_path / "ways.npz", tmp_path / "skills"
    np.savez(data, actions=recordings().actions, episode_lengths=np.full(60, 9))
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(data), "--out", str(out), *options])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert re.search(match, said)
    assert said.count("\n") == 1
    assert not out.exists()
