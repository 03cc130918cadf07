"""Noise: marginals, correlation in time, and a memory that can be saved."""

import math
from copy import deepcopy

import jax
import numpy as np
import pytest
from scipy import special, stats

from sfp.arrays import load_tree, save_tree
from sfp.errors import SfpError
from sfp.exploration.metrics import spectrum
from sfp.noise.processes import Colored, OrnsteinUhlenbeck, Zeta, squash

NOISES = {
    "white": Colored(0.0, 24),
    "pink": Colored(1.0, 24),
    "red": Colored(2.0, 25),
    "ou": OrnsteinUhlenbeck(),
    "zeta": Zeta(),
}
SIGMAS = 5.0
"""Tolerances in standard errors: chance alone hardly ever gets there."""


def walk(noise, n, *, dims=2, steps, seed=0):
    """Draws of shape (steps, n, dims)."""
    rng = np.random.default_rng(seed)
    state = noise.begin(rng, n, dims)
    drawn = []
    for _ in range(steps):
        value, state = noise.draw(state, rng)
        drawn.append(value)
    return np.array(drawn)


@pytest.mark.parametrize("name", NOISES)
def test_every_step_is_standard_normal(name):
    drawn = walk(NOISES[name], 4000, steps=60)
    assert drawn.dtype == np.float32
    assert np.abs(drawn.mean(axis=1)).max() < SIGMAS / np.sqrt(4000)
    assert np.abs(drawn.var(axis=1) - 1).max() < SIGMAS * np.sqrt(2 / 4000)
    for step in (0, 1, 23, 24, 59):
        assert stats.kstest(drawn[step].ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize("name", NOISES)
def test_rows_and_dimensions_are_independent(name):
    drawn = walk(NOISES[name], 4000, steps=30)
    dims = (drawn[..., 0] * drawn[..., 1]).mean(axis=1)
    rows = (drawn[:, ::2] * drawn[:, 1::2]).mean(axis=(1, 2))
    assert np.abs(dims).max() < SIGMAS / np.sqrt(4000)
    assert np.abs(rows).max() < SIGMAS / np.sqrt(4000)


@pytest.mark.parametrize("name", NOISES)
def test_same_seed_same_bits(name):
    one, again, other = (walk(NOISES[name], 3, steps=40, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()


@pytest.mark.parametrize("name", NOISES)
def test_a_saved_memory_goes_on_with_the_same_bits(name, tmp_path):
    noise, rng = NOISES[name], np.random.default_rng(3)
    state = noise.begin(rng, 3, 2)
    for _ in range(60):  # over the end of a sequence, too
        save_tree(tmp_path / "state", state)
        restored = load_tree(tmp_path / "state", jax.tree.map(np.zeros_like, state))
        assert type(restored) is type(state)
        expected, after = noise.draw(state, deepcopy(rng))
        value, restored_after = noise.draw(restored, rng)
        np.testing.assert_array_equal(value, expected)
        value[:] = 7.0  # the caller's own: no memory notices
        original = load_tree(tmp_path / "state", state)
        for old, kept, new, same in zip(
            *map(jax.tree.leaves, (restored, original, after, restored_after)),
            strict=True,
        ):
            assert isinstance(new, np.ndarray)
            assert (new.shape, new.dtype) == (old.shape, old.dtype)
            np.testing.assert_array_equal(old, kept)  # not modified by the draw
            np.testing.assert_array_equal(new, same)
        state = restored_after


@pytest.mark.parametrize("horizon", [500, 501])
@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_colored_power_falls_with_its_exponent(exponent, horizon):
    drawn = walk(Colored(exponent, horizon), 200, steps=horizon)
    frequency, density = spectrum(drawn.swapaxes(0, 1).astype(float))
    frequency, density = frequency[1:250], density[1:250]  # without 0 and Nyquist
    slope = np.polyfit(np.log(frequency), np.log(density), 1)[0]
    relative = 1 / np.sqrt(200 * 2)  # of a bin: 400 exponential variables
    error = relative / np.sqrt(249) / np.log(frequency).std()
    assert slope == pytest.approx(-exponent, abs=SIGMAS * error)
    assert error * SIGMAS < 0.1
    # No bin is off: f^-exponent over all frequencies, 0 as strong as the first one.
    periods = np.maximum(np.abs(np.fft.fftfreq(horizon) * horizon), 1)
    expected = 2 * periods**-exponent / np.mean(periods**-exponent)
    np.testing.assert_allclose(density, expected[1:250], rtol=SIGMAS * relative)


def test_colored_begins_an_independent_sequence_when_one_is_used_up():
    drawn = walk(Colored(2.0, 8), 4000, dims=1, steps=16)[..., 0]
    again = (drawn[:8] * drawn[8:]).mean(axis=1)
    assert np.abs(again).max() < SIGMAS / np.sqrt(4000)
    within = (drawn[:7] * drawn[1:8]).mean(axis=1)
    assert within.min() > 0.5


@pytest.mark.parametrize("exponent", [0.0, 1.0, 400.0])
@pytest.mark.parametrize("horizon", [2, 3])
def test_colored_at_its_edges(exponent, horizon):
    drawn = walk(Colored(exponent, horizon), 4000, dims=1, steps=horizon)
    assert np.abs(drawn.var(axis=1) - 1).max() < SIGMAS * np.sqrt(2 / 4000)


@pytest.mark.parametrize("theta", [0.15, 0.5, 1.0])
def test_ou_forgets_a_share_per_step(theta):
    drawn = walk(OrnsteinUhlenbeck(theta), 10_000, dims=1, steps=21)[..., 0]
    for first in (0, 5):
        for lag in (1, 2, 5, 15):
            product = drawn[first] * drawn[first + lag]
            error = product.std() / 100
            assert abs(product.mean() - (1 - theta) ** lag) < SIGMAS * error


def test_ou_spectrum_is_the_closed_form():
    drawn = walk(OrnsteinUhlenbeck(0.15), 200, steps=2000)
    frequency, density = spectrum(drawn.swapaxes(0, 1).astype(float))
    bands = density[1:-1][:980].reshape(49, 20).mean(axis=1)
    kept = 0.85
    closed = 1 + kept**2 - 2 * kept * np.cos(2 * np.pi * frequency)
    closed = 2 * (1 - kept**2) / closed
    expected = closed[1:-1][:980].reshape(49, 20).mean(axis=1)
    error = 1 / np.sqrt(200 * 2 * 20)
    np.testing.assert_allclose(bands, expected, rtol=SIGMAS * error)


@pytest.mark.parametrize(("exponent", "longest"), [(2.0, 16), (0.0, 5)])
def test_zeta_durations(exponent, longest):
    drawn = walk(Zeta(exponent, longest), 20_000, steps=2 * longest + 1)
    changed = np.diff(drawn, axis=0) != 0
    np.testing.assert_array_equal(changed[..., 0], changed[..., 1])  # all together
    ends = np.cumsum(changed[..., 0], axis=0)
    first = 1 + (ends < 1).sum(axis=0)  # steps up to the first change
    second = 1 + (ends < 2).sum(axis=0) - first
    weight = np.arange(1, longest + 1) ** -exponent
    share = 20_000 * weight / weight.sum()
    for durations in (first, second):
        counts = np.bincount(durations, minlength=longest + 1)[1:]
        assert len(counts) == longest
        assert stats.chisquare(counts, share).pvalue > 1e-3
    product = (first - first.mean()) * (second - second.mean())
    assert abs(product.mean()) <= SIGMAS * product.std() / np.sqrt(20_000)


def test_zeta_of_single_steps_is_white():
    drawn = walk(Zeta(longest=1), 4000, steps=10)
    assert (np.diff(drawn, axis=0) != 0).all()
    lagged = (drawn[1:] * drawn[:-1]).mean(axis=(1, 2))
    assert np.abs(lagged).max() < SIGMAS / np.sqrt(8000)


def test_squash_is_the_normal_distribution_function():
    noise = np.linspace(-9, 9, 20_001)
    np.testing.assert_allclose(squash(noise), 2 * special.ndtr(noise) - 1, atol=1e-6)
    shaped = noise[:12].reshape(2, 3, 2).astype(np.float32)
    assert squash(shaped).shape == (2, 3, 2)
    assert squash(shaped).dtype == np.float32
    np.testing.assert_array_equal(squash(np.array([-50.0, 0.0, 50.0])), [-1, 0, 1])


@pytest.mark.parametrize("name", NOISES)
def test_squashed_actions_are_uniform(name):
    actions = squash(walk(NOISES[name], 5000, steps=10))
    assert np.abs(actions).max() <= 1
    for step in (0, 9):
        for dim in (0, 1):
            values = actions[step, :, dim]
            assert stats.kstest(values, "uniform", (-1, 2)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("noise", "settings", "message"),
    [
        (Colored, {"exponent": -1.0}, r"exponent within \[0, inf\), received -1.0"),
        (Colored, {"exponent": math.nan}, r"exponent within \[0, inf\), received nan"),
        (Colored, {"exponent": math.inf}, r"exponent within \[0, inf\), received inf"),
        (Colored, {"horizon": 1}, "horizon of at least 2, received 1"),
        (OrnsteinUhlenbeck, {"theta": 0.0}, r"theta within \(0, 1\], received 0.0"),
        (OrnsteinUhlenbeck, {"theta": 1.5}, r"theta within \(0, 1\], received 1.5"),
        (OrnsteinUhlenbeck, {"theta": math.nan}, "received nan"),
        (Zeta, {"exponent": -0.5}, r"exponent within \[0, inf\), received -0.5"),
        (Zeta, {"exponent": math.nan}, r"exponent within \[0, inf\), received nan"),
        (Zeta, {"longest": 0}, "longest of at least 1, received 0"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused_in_one_line(
    noise, settings, message
):
    with pytest.raises(SfpError, match=message) as caught:
        noise(**settings)
    assert "\n" not in str(caught.value)
