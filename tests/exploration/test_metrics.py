"""Coverage, gyration and spectra against numbers by hand, slow loops and SciPy."""

import itertools

import numpy as np
import pytest
from scipy import signal

from sfp.exploration.metrics import (
    buckets,
    coverage,
    cut,
    gyration,
    low_power,
    persistence,
    run_length,
    spectrum,
)

LOW, HIGH = np.array([-1.0, 10.0]), np.array([3.0, 12.0])


def test_buckets_by_hand():
    points = np.array([[-1.0, 10.0], [0.99, 10.99], [1.0, 11.0], [3.0, 12.0]])
    expected = [[0, 0], [0, 0], [1, 1], [1, 1]]  # the upper edge belongs to the last
    assert buckets(points, LOW, HIGH, 2).tolist() == expected
    outside = np.array([[-9.0, 99.0]])
    assert buckets(outside, LOW, HIGH, 2).tolist() == [[0, 1]]


def test_coverage_by_hand():
    one = [[-1.0, 10.0], [-0.9, 10.1]]  # bucket (0, 0) of 4 x 4, twice
    two = [[2.9, 11.9], [0.1, 10.6]]  # buckets (3, 3) and (1, 1)
    paths = np.array([one, two])
    assert coverage(paths[:1], LOW, HIGH, per_axis=4) == 1 / 16
    assert coverage(paths, LOW, HIGH, per_axis=4) == 3 / 16
    assert coverage(paths, LOW, HIGH) == 3 / 100
    reachable = np.zeros((4, 4), bool)
    reachable[0, 0] = reachable[1, 1] = reachable[2, 2] = True
    assert coverage(paths, LOW, HIGH, per_axis=4, reachable=reachable) == 2 / 3


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_coverage_equals_a_slow_loop(dims):
    rng = np.random.default_rng(dims)
    low, high = -rng.random(dims), 1 + rng.random(dims)
    paths = rng.uniform(low, high, (3, 40, dims))
    visited = set()
    for point in paths.reshape(-1, dims):
        share = (point - low) / (high - low)
        visited.add(tuple(min(9, int(10 * s)) for s in share))
    assert coverage(paths, low, high) == pytest.approx(len(visited) / 10**dims)


def test_gyration_by_hand():
    """Of 0, 3, 6 around 3: (9 + 0 + 9) / 2 = 9; of a point at rest: 0."""
    moving = [[0.0, 5.0], [3.0, 5.0], [6.0, 5.0]]
    resting = [[1.0, 1.0]] * 3
    paths = np.array([moving, resting])
    assert gyration(paths[:1], 2.0) == 9 / 4
    assert gyration(paths[:1], 2.0, normaliser="printed") == 9 / 2
    assert gyration(paths, 2.0) == 9 / 8
    assert gyration(paths, 2.0, normaliser="printed") == 9 / 4


@pytest.mark.parametrize("normaliser", ["table", "printed"])
def test_gyration_equals_a_slow_loop(normaliser):
    paths = np.random.default_rng(0).normal(3.0, 2.0, (7, 31, 2))
    diagonal, total = 4.2, 0.0
    for path in paths:
        mean = sum(path) / len(path)
        squares = sum((s - mean) @ (s - mean) for s in path)
        total += squares / (len(path) - 1)
    expected = total / len(paths) / diagonal ** (2 if normaliser == "table" else 1)
    value = gyration(paths, diagonal, normaliser=normaliser)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_gyration_of_all_walks_of_unit_steps_is_exact(steps):
    """E[1/N Σ_i |s_i - mean|²] = s² (N + 2) / 6 over N independent steps.

    With M = N + 1 states, Σ_i |s_i - mean|² = 1/(2M) Σ_ik |s_i - s_k|², of expectation
    1/(2M) Σ_ik |i - k| s² = s² (M² - 1) / 6; divided by M - 1 that is s² (M + 1) / 6.
    """
    walks = np.array(list(itertools.product([-1.0, 1.0], repeat=steps)))
    paths = np.pad(walks.cumsum(axis=1), ((0, 0), (1, 0)))[:, :, None]
    assert gyration(paths, 1.0) == pytest.approx((steps + 2) / 6, rel=1e-12)


def test_gyration_of_a_uniform_walk_in_the_plane():
    """Steps uniform in [-1, 1]² have variance 1/3 per dimension."""
    steps = np.random.default_rng(0).uniform(-1, 1, (4000, 100, 2))
    paths = np.pad(steps.cumsum(axis=1), ((0, 0), (1, 0), (0, 0)))
    assert gyration(paths, 10.0) == pytest.approx(2 / 3 * 102 / 6 / 100, rel=0.03)


def test_gyration_does_not_see_where_the_walk_is():
    paths = np.random.default_rng(0).normal(size=(4, 20, 2))
    assert gyration(paths + 100, 1.0) == pytest.approx(gyration(paths, 1.0))


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 9, 500, 501])
@pytest.mark.parametrize("dims", [1, 3])
def test_spectrum_equals_scipys_periodogram_and_parseval(steps, dims):
    values = np.random.default_rng(steps).normal(2.0, 3.0, (5, steps, dims))
    frequency, density = spectrum(values)
    their_frequency, theirs = signal.periodogram(
        values, fs=1.0, detrend="constant", scaling="density", axis=1
    )
    np.testing.assert_allclose(frequency, their_frequency, rtol=1e-12)
    expected = theirs.mean(axis=(0, 2))
    np.testing.assert_allclose(density, expected, rtol=1e-9, atol=1e-12)
    variance = values.var(axis=1).mean()
    assert density.sum() / steps == pytest.approx(variance, rel=1e-9, abs=1e-12)


def test_spectrum_of_white_noise_is_flat():
    values = np.random.default_rng(0).normal(0.0, 0.7, (2000, 64, 2))
    _, density = spectrum(values)
    np.testing.assert_allclose(density[1:-1], 2 * 0.49, rtol=0.1)
    assert density[-1] == pytest.approx(0.49, rel=0.1)  # has no negative frequency
    assert density[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("period", [2, 4, 10, 50])
def test_spectrum_of_a_sine_peaks_at_its_frequency(period):
    wave = np.cos(2 * np.pi * np.arange(200) / period)[None, :, None]
    frequency, density = spectrum(wave)
    assert frequency[density.argmax()] == pytest.approx(1 / period)
    assert density.max() / density.sum() == pytest.approx(1.0)
    assert density.sum() / 200 == pytest.approx(1.0 if period == 2 else 0.5)


def test_cut_takes_the_beginning_of_long_enough_episodes():
    actions = np.arange(30.0, dtype=np.float32)[:, None]
    ends = np.array([4, 6, 11, 30])  # lengths 4, 2, 5, 19: the median is 4.5
    pieces = cut(actions, ends)
    assert pieces.dtype == np.float64
    assert pieces[:, :, 0].tolist() == [[0, 1, 2, 3], [6, 7, 8, 9], [11, 12, 13, 14]]
    assert cut(actions, ends, longest=3)[:, 0, 0].tolist() == [0, 6, 11]
    assert cut(actions, ends, longest=3).shape == (3, 3, 1)
    assert cut(actions, ends, most=2)[:, 0, 0].tolist() == [0, 6]
    assert cut(actions, np.array([30])).shape == (1, 30, 1)


def test_cut_stops_at_500_steps_and_1000_episodes():
    actions = np.zeros((2 * 1200, 1), np.float32)
    assert cut(actions, np.arange(2, 2401, 2)).shape == (1000, 2, 1)
    assert cut(actions, np.array([2400])).shape == (1, 500, 1)


def test_persistence_of_noise_is_1_and_of_a_line_the_window():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 200, 2))
    assert persistence(noise) == pytest.approx(1.0, abs=0.05)
    line = np.broadcast_to(rng.normal(size=(5, 1, 3)), (5, 200, 3))
    assert persistence(line) == pytest.approx(50)
    assert persistence(line, window=20) == pytest.approx(20)
    assert persistence(line, window=1000) == pytest.approx(200)
    held = np.repeat(noise, 5, axis=1)  # each action five times
    assert persistence(held) == pytest.approx(5.0, rel=0.05)
    assert persistence(np.zeros((2, 60, 2))) == 1.0


def test_run_length_by_hand():
    """Right three times, up twice, right once: runs of 3, 2 and 1."""
    right, up, slant = [1.0, 0.0], [0.0, 2.0], [0.9, 0.3]
    actions = np.array([[right, slant, right, up, up, right]])
    assert run_length(actions) == pytest.approx(2.0)
    assert run_length(np.array([[right, up]])) == pytest.approx(1.0)
    assert run_length(np.repeat(actions, 4, axis=0)) == pytest.approx(2.0)


def test_low_power_counts_periods_above_50_steps():
    time = np.arange(1000)[None, :, None]
    slow, fast = np.sin(2 * np.pi * time / 100), np.sin(2 * np.pi * time / 10)
    assert low_power(slow) == pytest.approx(1.0)
    assert low_power(fast) == pytest.approx(0.0, abs=1e-9)
    assert low_power(slow + fast) == pytest.approx(0.5)
    assert low_power(np.ones((1, 60, 1))) == 0.0
