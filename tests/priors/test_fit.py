"""Fits recover known conditionals, survive real data and interruption."""

import os
from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
from sfp.priors.base import CLAMP
from sfp.priors.compatibility import check_actions
from sfp.priors.conditioning import Conditioning
from sfp.priors.fit import PRESETS, Fitter, Fitting, fit
from sfp.priors.prepare import make_frame, make_jitter, split
from sfp.priors.realnvp import PARROT, FlowSize, RealNVP
from sfp.priors.rollout import rollout
from sfp.priors.session import fit_to
from sfp.priors.store import load_prior

pytestmark = pytest.mark.slow

QUICK = Fitting(epochs=2, epoch_steps=250, batch=200, learning_rate=2e-3)
SHORT = Fitting(epochs=3, epoch_steps=4, batch=64)
MODES = np.array([[0.5, 0.0], [-0.5, 0.0]])


def trajectories(actions, low=-1.0, high=1.0):
    """Episodes of equal length from (episodes, steps, dims)."""
    episodes, steps, dims = actions.shape
    return Trajectories(
        actions.reshape(-1, dims).astype(np.float32),
        np.arange(1, episodes + 1) * steps,
        np.full(dims, low, np.float32),
        np.full(dims, high, np.float32),
    )


def linear_gaussian(rng, episodes=200, steps=100, noise=0.1):
    """a_t = A a_{t-1} + noise; returns the data and the true conditional entropy."""
    turn = 0.8 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    actions = np.zeros((episodes, steps, 2))
    for t in range(1, steps):
        actions[:, t] = actions[:, t - 1] @ turn.T + noise * rng.standard_normal(
            (episodes, 2)
        )
    return trajectories(actions), np.log(2 * np.pi * np.e * noise**2), turn


def two_modes(rng, episodes=200, steps=100):
    """The next action lies near one of two points, whatever the last one was."""
    choice = rng.integers(2, size=(episodes, steps))
    actions = MODES[choice] + 0.1 * rng.standard_normal((episodes, steps, 2))
    return trajectories(actions), np.log(2 * np.pi * np.e * 0.1**2) + np.log(2)


SHALLOW = {
    "realnvp": partial(RealNVP, size=FlowSize(layers=4, width=48)),
    "parrot": partial(RealNVP, size=replace(PARROT, layers=4, width=48)),
}
"""Compiling a flow takes longer than fitting it, and longer with every layer."""


def fitted(data, model, fitting=QUICK, past_actions=1, small=SHALLOW):
    conditioning = Conditioning(past_actions)
    built = small.get(model, model)
    fitter = Fitter(data, conditioning=conditioning, model=built, fitting=fitting)
    state = fitter.begin()
    for _, latest in fitter.epochs(state):
        state = latest
    assert fitter._run._cache_size() <= 1  # compiled once; LSCDE is solved
    return fitter, state


@pytest.mark.parametrize(
    ("model", "margin"),
    [
        ("realnvp", 0.05),
        ("mixture", 0.05),
        ("parrot", 0.05),
        ("vae", 0.1),
        ("gaussian", 0.05),
        ("lscde", 0.3),
    ],
)
def test_recovers_a_linear_gaussian_conditional(model, margin):
    data, entropy, turn = linear_gaussian(np.random.default_rng(0))
    fitter, state = fitted(data, model)
    assert fitter.score(state.best) == pytest.approx(-entropy, abs=margin)
    prior = fitter.prior(state)
    context = np.array([0.2, -0.3], np.float32)
    keys = jax.random.split(jax.random.key(0), 4000)
    samples = np.asarray(jax.vmap(prior.sample, in_axes=(0, None))(keys, context))
    np.testing.assert_allclose(samples.mean(axis=0), turn @ context, atol=0.05)


@pytest.mark.parametrize(
    ("model", "margin"),
    [("realnvp", 0.06), ("mixture", 0.03), ("vae", 0.3), ("lscde", 0.3)],
)
def test_recovers_two_modes(model, margin):
    data, entropy = two_modes(np.random.default_rng(0))
    fitter, state = fitted(data, model, replace(QUICK, epochs=4), small={})
    assert fitter.score(state.best) == pytest.approx(-entropy, abs=margin)
    prior = fitter.prior(state)
    keys = jax.random.split(jax.random.key(0), 4000)
    context = np.array([0.5, 0.0], np.float32)
    samples = np.asarray(jax.vmap(prior.sample, in_axes=(0, None))(keys, context))
    right = (samples[:, 0] > 0).mean()
    assert right == pytest.approx(0.5, abs=0.08)
    assert (np.abs(samples[:, 0]) < 0.15).mean() < 0.12


def test_deterministic_recovers_the_mean():
    data, _, turn = linear_gaussian(np.random.default_rng(0))
    fitter, state = fitted(data, "deterministic")
    assert -fitter.score(state.best) == pytest.approx(2 * 0.1**2, rel=0.1)
    context = np.array([0.2, -0.3], np.float32)
    sample = fitter.prior(state).sample(jax.random.key(0), context)
    np.testing.assert_allclose(sample, turn @ context, atol=0.03)


def nasty(rng, episodes=40, steps=60):
    """Saturated, constant, gripper-like and offset dimensions at once."""
    smooth = np.cumsum(0.3 * rng.standard_normal((episodes, steps)), axis=1)
    columns = [
        np.clip(smooth, -1, 1),
        np.full((episodes, steps), 0.25),
        np.where(smooth > 0, 1.0, -1.0),
        np.tanh(0.3 * smooth),
    ]
    return trajectories(np.stack(columns, axis=-1))


@pytest.mark.parametrize("model", ["realnvp", "mixture", "vae", "gaussian", "lscde"])
def test_likelihoods_survive_point_masses_and_samples_keep_to_the_bounds(model):
    data = nasty(np.random.default_rng(0))
    fitter, state = fitted(data, model, replace(QUICK, epochs=1, epoch_steps=60))
    assert np.isfinite(fitter.score(state.best))
    prior = fitter.prior(state)
    actions = np.asarray(rollout(prior, jax.random.key(0), count=50, steps=40))
    assert np.isfinite(actions).all()
    assert np.abs(actions).max() <= CLAMP + 1e-6


def test_statistics_are_settled_on_what_was_learned_from():
    """A constant dimension: without noise its variance is 0, with it is not."""
    data = nasty(np.random.default_rng(0))
    fitting = replace(QUICK, epochs=1, epoch_steps=60)
    fitter = Fitter(data, model=SHALLOW["realnvp"], fitting=fitting)
    ((row, _),) = fitter.epochs(fitter.begin())
    assert row["held_out"] > -row["loss"] - 1.0


def test_states_with_an_offset_keep_their_deviation():
    rng = np.random.default_rng(0)
    base = trajectories(rng.uniform(-1, 1, (400, 500, 2)))
    seen = 1000 + 0.5 * rng.standard_normal((200_000, 1))
    frame = make_frame(replace(base, observations=seen), Conditioning(0, state=True))
    assert float(frame.state_deviation[0]) == pytest.approx(0.5, rel=0.02)
    seen[17] = np.nan
    with pytest.raises(SfpError, match="state of step 17"):
        make_frame(replace(base, observations=seen), Conditioning(0, state=True))


def test_what_trembles_is_measured_by_what_moves():
    rng = np.random.default_rng(0)
    base, count = trajectories(rng.uniform(-1, 1, (4, 50, 2))), 200
    spread = np.array([0.2, 0.003, 1e-5, 0.0])
    seen = np.float32([0.0, 5.0, 0.6, 3.0] + spread * rng.standard_normal((count, 4)))
    frame = make_frame(replace(base, observations=seen), Conditioning(0, state=True))
    wide = seen.std(axis=0)
    expected = [wide[0], wide[1], wide[0], wide[0]]
    np.testing.assert_allclose(frame.state_deviation, expected, rtol=1e-4)
    elsewhere = (np.float32([0.1, 5.0, 0.9, 3.0]) - frame.state_mean) / np.asarray(
        frame.state_deviation
    )
    assert np.abs(elsewhere).max() < 3
    same = np.ones((count, 4), np.float32)
    frame = make_frame(replace(base, observations=same), Conditioning(0, state=True))
    assert frame.state_deviation.tolist() == [1.0] * 4


def test_held_out_episodes_are_long_enough_to_count():
    lengths = [3] * 12 + [100] * 8
    data = Trajectories(
        np.random.default_rng(0).uniform(-1, 1, (sum(lengths), 2)).astype(np.float32),
        np.cumsum(lengths),
        -np.ones(2, np.float32),
        np.ones(2, np.float32),
    )
    for seed in range(30):
        _, episodes = Conditioning(5).rows(data)
        held = split(episodes, seed)
        assert set(episodes[~held]).isdisjoint(episodes[held])
        assert held.sum() == 95


def test_jitter_rules():
    jitter = make_jitter(nasty(np.random.default_rng(0)))
    np.testing.assert_allclose(jitter, [0.01, 0.01, 0.25, 0.002], rtol=1e-6)
    with pytest.raises(SfpError, match="all actions are the same"):
        make_jitter(trajectories(np.full((3, 10, 2), 0.5)))


def test_units_are_the_environment_s():
    """Asymmetric bounds: densities and samples are in the recorded units."""
    rng = np.random.default_rng(0)
    unit = np.clip(0.3 * rng.standard_normal((50, 60, 2)), -1, 1)
    plain = trajectories(unit)
    scaled = trajectories(10 + 5 * unit, 5.0, 15.0)
    fitting = replace(QUICK, epochs=1, epoch_steps=50)
    one, first = fitted(plain, "gaussian", fitting)
    two, second = fitted(scaled, "gaussian", fitting)
    gap = one.score(first.best) - two.score(second.best)
    assert gap == pytest.approx(2 * np.log(5), abs=0.02)
    actions = np.asarray(
        rollout(two.prior(second), jax.random.key(0), count=20, steps=20)
    )
    assert actions.min() >= 10 - 5 * CLAMP - 1e-5
    assert actions.max() <= 10 + 5 * CLAMP + 1e-5
    prior = two.prior(second)
    action, context = jnp.array([9.0, 12.0]), jnp.array([10.0, 11.0])
    inner = prior.model.log_prob((action - 10) / 5, (context - 10) / 5)
    assert float(prior.log_prob(action, context)) == pytest.approx(
        float(inner) - 2 * np.log(5), abs=1e-4
    )


def test_behavioural_prior_follows_the_state():
    rng = np.random.default_rng(0)
    seen = rng.uniform(100, 200, (60, 50, 1))
    actions = (seen - 150) / 100 + 0.02 * rng.standard_normal((60, 50, 1))
    base = trajectories(np.concatenate([actions, -actions], axis=-1))
    data = replace(base, observations=seen.reshape(-1, 1))
    prior = fit(data, past_actions=0, state=True, model="gaussian", **vars(QUICK))
    assert prior.context_size == 1
    sample = np.mean(
        [prior.sample(jax.random.key(s), np.array([190.0])) for s in range(20)], axis=0
    )
    np.testing.assert_allclose(sample, [0.4, -0.4], atol=0.05)
    with pytest.raises(SfpError, match=r"sees s\(t\): it cannot act without states"):
        rollout(prior, jax.random.key(0), count=1, steps=1)


def test_split_keeps_trajectories_whole():
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=30, steps=20)
    _, episodes = Conditioning(2).rows(data)
    held = split(episodes, 0)
    assert set(episodes[~held]).isdisjoint(episodes[held])
    assert len(set(episodes[held])) == 3
    assert len(episodes) == 30 * 18


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("state", [False, True])
def test_a_fit_sees_the_pairs_in_the_models_units(k, state):
    """What the steps gather is what `pairs` says, scaled; the same for held-out."""
    rng = np.random.default_rng(0)
    data = trajectories(rng.uniform(2, 6, (20, 12, 2)), 1.0, 7.0)
    data = replace(data, observations=rng.normal(5, 3, (240, 4)))
    conditioning = Conditioning(k, state)
    fitter = Fitter(data, conditioning=conditioning, model="gaussian", fitting=SHORT)
    pairs = conditioning.pairs(data)
    scaled = jax.vmap(fitter.frame.scale_context)(jnp.asarray(pairs.contexts))
    expected = {tuple(np.round(row, 3)) for row in np.asarray(scaled)}
    batches, items = fitter.batches, np.arange(fitter.batches.size)[None]
    key, rows = jax.random.key(0), fitter.batches.load(items)[0]
    train = batches.make(key, batches.resident, rows).contexts
    for contexts in (train, batches.held.contexts):
        found = {tuple(np.round(row, 3)) for row in np.asarray(contexts)}
        assert k + state == 0 or len(found - expected) <= 0.01 * len(found)
        assert contexts.shape[1] == fitter.context == pairs.contexts.shape[1]
    assert batches.size + len(batches.held.actions) == len(pairs.actions)


def test_progress_is_told_of_every_epoch():
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)
    rows = []
    fit(data, model="gaussian", progress=rows.append, **vars(SHORT))
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert all(np.isfinite(row["held_out"]) for row in rows)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_seeds_are_consecutive_actions_of_one_episode(k):
    steps = np.arange(20)[None, :, None] / 100 + np.arange(30)[:, None, None] / 10_000
    data = trajectories(np.concatenate([steps, -steps], axis=-1))
    fitter = Fitter(data, conditioning=Conditioning(k), model="gaussian", fitting=SHORT)
    seeds = np.asarray(fitter.seeds)
    assert seeds.shape == (4096, k, 2)
    np.testing.assert_allclose(np.diff(seeds[..., 0], axis=1), 0.01, atol=1e-6)


def test_same_seed_same_bits_and_another_seed_differs():
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)
    few = {"model": "gaussian", **vars(SHORT)}
    models = [fit(data, seed=seed, **few).model for seed in (0, 0, 1)]
    assert eqx.tree_equal(models[0], models[1])
    assert not eqx.tree_equal(models[0], models[2])


class Stopped(Exception):
    pass


@pytest.mark.parametrize(("model", "epoch"), [("realnvp", 1), ("vae", 2)])
def test_interrupted_and_resumed_gives_the_same_bits(tmp_path, model, epoch):
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)

    def run(name, stop_at=None):
        fitter = Fitter(data, model=model, fitting=SHORT)

        def progress(done, row):
            if stop_at is not None and done > stop_at * fitter.blocks:
                raise Stopped

        fit_to(
            tmp_path / name,
            data,
            fitter,
            preset="x",
            progress=progress,
        )

    run("whole")
    with pytest.raises(Stopped):
        run("cut", stop_at=epoch)
    assert not (tmp_path / "cut").exists()
    assert (tmp_path / ".cut.fit" / "state.safetensors").exists()
    run("cut")
    assert not (tmp_path / ".cut.fit").exists()
    for file in ("prior.safetensors", "fit.csv", "config.json"):
        whole, cut = ((tmp_path / n / file).read_bytes() for n in ("whole", "cut"))
        assert whole == cut, file
    assert len((tmp_path / "cut" / "fit.csv").read_text().splitlines()) == 4
    (events,) = (tmp_path / "cut" / "events").iterdir()
    assert events.read_bytes().count(b"fit/held_out") == 3


@pytest.mark.parametrize("how", ["cut", "flip", "old", "pipe"])
def test_a_damaged_checkpoint_is_none(tmp_path, how):
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)

    def run(*, stop):
        fitter = Fitter(data, model="gaussian", fitting=SHORT)

        def progress(done, row):
            if stop and done > fitter.blocks:
                raise Stopped

        fit_to(tmp_path / "out", data, fitter, preset="x", progress=progress)

    with pytest.raises(Stopped):
        run(stop=True)
    file = tmp_path / ".out.fit" / "state.safetensors"
    content = bytearray(file.read_bytes())
    if how == "cut":
        file.write_bytes(content[:10])
    elif how == "flip":
        content[-1] ^= 1
        file.write_bytes(content)
    elif how == "old":
        save_file(load_file(file), file)
    else:
        file.unlink()
        os.mkfifo(file)
    with pytest.warns(UserWarning, match=r"state\.safetensors.*The fit begins anew"):
        run(stop=False)
    assert len((tmp_path / "out" / "fit.csv").read_text().splitlines()) == 4


def test_changed_settings_start_anew_instead_of_resuming(tmp_path):
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)

    def run(name, seed, *, stop):
        fitter = Fitter(data, model="gaussian", fitting=SHORT, seed=seed)

        def progress(done, row):
            if stop and done > fitter.blocks:
                raise Stopped

        fit_to(
            tmp_path / name,
            data,
            fitter,
            preset="x",
            progress=progress,
        )

    with pytest.raises(Stopped):
        run("one", 5, stop=True)
    run("one", 6, stop=False)
    run("two", 6, stop=False)
    one, two = (load_prior(tmp_path / name) for name in ("one", "two"))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(a, b)


def test_early_stopping_keeps_the_best(tmp_path):
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)
    fitting = Fitting(
        epochs=50,
        epoch_steps=4,
        batch=64,
        learning_rate=0.5,
        schedule="constant",
        patience=3,
    )
    fitter = Fitter(data, model="gaussian", fitting=fitting)
    state = fitter.begin()
    rows = []
    for row, latest in fitter.epochs(state):
        rows.append(row)
        state = latest
    scores = [row["held_out"] for row in rows]
    best = int(np.argmax(scores))
    assert len(rows) == best + 1 + 3 < 50
    assert fitter.score(state.best, fitting.evaluation) == pytest.approx(max(scores))


def test_preset_paper_is_the_paper_s_protocol():
    paper = PRESETS["paper"]
    assert (paper.epochs, paper.batch, paper.learning_rate) == (100, 400, 1e-4)
    assert (paper.l2, paper.schedule, paper.epoch_steps) == (1e-6, "constant", None)


def test_bad_input():
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=4, steps=10)
    with pytest.raises(SfpError, match="fewer than a batch of 400"):
        fit(data)
    with pytest.raises(SfpError, match="no episode is longer than 10"):
        fit(data, past_actions=10, batch=8)
    with pytest.raises(SfpError, match="no observations"):
        fit(data, state=True, batch=8)
    with pytest.raises(SfpError, match="unknown model 'flow'"):
        fit(data, model="flow", batch=8)
    with pytest.raises(SfpError, match="unknown preset"):
        fit(data, preset="fast")
    with pytest.raises(SfpError, match="expected batch of at least 1, received 0"):
        fit(data, batch=0)
    with pytest.raises(SfpError, match="expected a seed from 0"):
        fit(data, batch=8, seed=-1)
    with pytest.raises(SfpError, match="diverged in epoch 1"):
        fit(
            data,
            model="mixture",
            batch=8,
            learning_rate=1e30,
            epochs=1,
            schedule="constant",
        )


def test_a_prior_refuses_other_actions():
    data, *_ = linear_gaussian(np.random.default_rng(0), episodes=20, steps=50)
    prior = fit(data, model="gaussian", **vars(SHORT))
    check_actions(prior, -np.ones(2), np.ones(2), "mine")
    with pytest.raises(
        SfpError, match="actions of 2 dimensions, the environment takes 3"
    ):
        check_actions(prior, -np.ones(3), np.ones(3), "mine")
    with pytest.raises(
        SfpError, match=r"within \[-1, 1\] x \[-1, 1\], the environment"
    ):
        check_actions(prior, -2 * np.ones(2), 2 * np.ones(2), "mine")
