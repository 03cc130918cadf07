"""Statistics agree with rliable and SciPy, and say what they do not know."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import trim_mean

from sfp.errors import SfpError
from sfp.report import stats
from sfp.report.stats import (
    Protocol,
    contrast,
    estimate,
    final,
    gap,
    iqm,
    lead,
    mean,
    smooth,
    wins,
)

FIXTURE = Path(__file__).parent.parent / "fixtures" / "rliable" / "golden.json"
GOLDEN = json.loads(FIXTURE.read_text())
STATISTICS = {"mean": mean, "iqm": iqm}


def rng(seed=0):
    return np.random.default_rng(seed)


def strata(case, side):
    return list(np.array(case[side]).T)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("kind", ["percentile", "basic"])
def test_estimates_are_those_of_rliable(case, kind):
    ours, theirs = strata(case, "ours"), strata(case, "theirs")
    options = {"protocol": Protocol(kind=kind, repetitions=10_000)}
    found = {
        name: estimate(ours, rng(), statistic=statistic, **options)
        for name, statistic in STATISTICS.items()
    }
    found["improvement"] = contrast(ours, theirs, wins, rng(), **options)
    for name, ours_is in found.items():
        assert float(ours_is.value) == pytest.approx(case[name], rel=1e-12)
        assert ours_is.low is not None
        assert ours_is.high is not None
        low, high = case[kind][name]
        ends = float(ours_is.low), float(ours_is.high)
        # Two sets of draws: their quantiles differ by a few hundredths of the width.
        assert ends == pytest.approx((low, high), abs=0.05 * (high - low))
        assert ours_is.n == len(ours[0])


def test_what_is_not_a_number_is_not_the_best():
    even = [np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[3.0, 3.0], [np.nan, 4.0]])]
    np.testing.assert_array_equal(iqm(even), [np.nan, 2.5])
    uneven = [np.array([1.0, np.nan, 2.0]), np.array([3.0, 4.0])]
    assert np.isnan(iqm(uneven))


def test_iqm_weighs_tasks_alike():
    few, many = np.zeros(2), np.full(3, 380.0)
    assert iqm([few, np.full(2, 380.0)]) == 190
    assert iqm([few, many]) == pytest.approx(190)
    assert iqm([many, few]) == pytest.approx(190)
    scores = np.random.default_rng(0).normal(size=(2, 3, 4))
    several = [np.repeat(scores[0], 4, axis=0), np.repeat(scores[1], 8, axis=0)]
    alike = [np.repeat(one, 8, axis=0) for one in scores]
    np.testing.assert_allclose(iqm(several), iqm(alike))


@pytest.mark.parametrize("count", range(1, 14))
def test_iqm_is_scipys_trimmed_mean(count):
    scores = rng(count).normal(size=(count, 4))
    np.testing.assert_allclose(iqm([scores]), trim_mean(scores, 0.25), rtol=1e-12)


def test_a_stratum_is_resampled_by_itself():
    far_apart = [np.array([0.0, 0.0, 0.0]), np.array([1e6, 1e6, 1e6])]
    found = estimate(far_apart, rng())
    assert (float(found.low), float(found.high)) == (5e5, 5e5)


def test_tasks_may_have_different_numbers_of_seeds_and_curves_keep_their_axes():
    curves = [rng(1).normal(size=(3, 7)), rng(2).normal(size=(5, 7))]
    found = estimate(curves, rng(), protocol=Protocol(repetitions=50))
    assert found.value.shape == found.low.shape == found.high.shape == (7,)
    assert found.n == 3
    by_task = [curve.mean(axis=0) for curve in curves]
    np.testing.assert_allclose(found.value, np.mean(by_task, axis=0))
    assert (found.low <= found.high).all()


def test_chunks_are_only_for_memory(monkeypatch):
    scores = [rng(1).normal(size=(4, 3))]
    whole = estimate(scores, rng(), protocol=Protocol(repetitions=100))
    monkeypatch.setattr(stats, "CHUNK", 1)
    pieces = estimate(scores, rng(), protocol=Protocol(repetitions=100))
    np.testing.assert_allclose(whole.low, pieces.low, rtol=1e-12)


def test_the_generator_decides():
    scores = [rng(1).normal(size=6)]
    one, two, other = (estimate(scores, rng(seed)) for seed in (0, 0, 1))
    assert float(one.low) == float(two.low) != float(other.low)


def test_percentile_and_basic_mirror_each_other():
    scores = [rng(3).gamma(1.0, size=8)]
    one = estimate(scores, rng(), protocol=Protocol(kind="percentile"))
    two = estimate(scores, rng(), protocol=Protocol(kind="basic"))
    assert float(one.high + two.low) == pytest.approx(2 * float(one.value))


def test_a_single_seed_has_no_interval_and_says_so():
    found = estimate([np.array([3.0]), np.array([1.0, 5.0])], rng())
    assert (found.low, found.high, found.n) == (None, None, 1)
    assert str(found) == "3 (n = 1)"
    alone = contrast([np.array([3.0])], [np.array([1.0, 2.0])], wins, rng())
    assert (float(alone.value), alone.low) == (1.0, None)


def test_smoothing_looks_back_only():
    values = np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 60.0]])
    np.testing.assert_allclose(
        smooth(values), [[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 14.8]], rtol=1e-12
    )
    np.testing.assert_array_equal(smooth(values, 1), values)
    with pytest.raises(SfpError, match="window of at least 1"):
        smooth(values, 0)


def test_improvement_counts_ties_half_and_averages_over_tasks():
    ours = [np.array([1.0, 2.0]), np.array([0.0, 0.0])]
    theirs = [np.array([1.0, 1.0]), np.array([5.0, 5.0])]
    assert float(contrast(ours, theirs, wins, rng()).value) == (0.75 + 0.0) / 2
    with pytest.raises(SfpError, match="same tasks on both sides, received 2 and 1"):
        contrast(ours, theirs[:1], wins, rng())


def test_difference_of_means():
    found = contrast([np.array([3.0, 5.0])], [np.array([1.0, 1.0])], gap, rng())
    assert float(found.value) == 3.0
    assert (float(found.low), float(found.high)) == (2.0, 4.0)


@pytest.mark.parametrize(
    ("count", "kept"), [(1, 1), (2, 2), (4, 3), (15, 3), (30, 3), (31, 4), (125, 13)]
)
def test_the_end_is_a_tenth_of_a_run_but_not_less_than_three(count, kept):
    values = np.arange(count, dtype=float)
    assert final(values) == values[-kept:].mean()


def test_sooner_compares_what_is_known_of_censored_times():
    """Solved at 3 and 8; solved at 5, given up at 5, given up at 9."""
    ours = [np.array([[3.0, 1], [8, 1]])]
    theirs = [np.array([[5.0, 1], [5, 0], [9, 0]])]
    # 3 is before all three; 8 is after the first, before the last, unknown to the other
    found = contrast(ours, theirs, lead, rng())
    assert float(found.value) == pytest.approx((3 + 1 - 1) / 6)
    assert float(contrast(theirs, ours, lead, rng()).value) == pytest.approx(-3 / 6)
    same = [np.array([[5.0, 1], [5, 0]])]
    assert float(contrast(same, same, lead, rng()).value) == 0.0


@pytest.mark.parametrize("scores", [[], [np.array([])]])
def test_nothing_to_estimate(scores):
    with pytest.raises(SfpError, match="at least one task with at least one seed"):
        estimate(scores, rng())


def test_an_unknown_interval():
    with pytest.raises(Exception, match="basicc"):  # ours, or of the type checker
        Protocol(kind=cast(Any, "basicc"))
    with pytest.raises(SfpError, match="repetitions of at least 1"):
        Protocol(repetitions=0)
