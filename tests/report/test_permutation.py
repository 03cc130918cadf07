"""Permutation tests: against brute force, known values, and runs without difference."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfp.report import permutation
from sfp.report.binomial import high_limit, limits, low_limit, p_of_shares, tail
from sfp.report.claims import _guarded
from sfp.report.permutation import (
    LEVEL,
    Outcome,
    gehan_scores,
    holm,
    judge,
    permutation_test,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def brute_force(ours, theirs):
    """Every relabelling of every task, in whole fractions."""
    tasks = [
        ([Fraction(v) for v in x], [Fraction(v) for v in y])
        for x, y in zip(ours, theirs, strict=True)
    ]

    def gap(x, y):
        return sum(x) / len(x) - sum(y) / len(y)

    options = []
    for x, y in tasks:
        both, gaps = x + y, []
        for chosen in itertools.combinations(range(len(both)), len(x)):
            rest = [v for i, v in enumerate(both) if i not in chosen]
            gaps.append(gap([both[i] for i in chosen], rest))
        options.append(gaps)
    seen = sum(gap(x, y) for x, y in tasks)
    sums = [sum(one) for one in itertools.product(*options)]
    share = 1 / len(sums)
    return share * sum(s >= seen for s in sums), share * sum(s <= seen for s in sums)


@pytest.mark.parametrize(
    "sizes", [[(3, 3)], [(2, 4)], [(3, 3), (2, 2)], [(3, 2), (2, 3), (1, 2)]]
)
@pytest.mark.parametrize("kind", ["all or nothing", "normal", "tied"])
def test_all_relabellings_are_counted(sizes, kind):
    draw = rng(len(sizes))
    for _ in range(5):
        ours, theirs = (
            [
                {
                    "all or nothing": 430.0 * draw.integers(0, 2, n),
                    "normal": draw.normal(size=n),
                    "tied": draw.integers(0, 3, n) / 10,
                }[kind]
                for n in column
            ]
            for column in zip(*sizes, strict=True)
        )
        found = permutation_test(ours, theirs)
        if kind == "tied":  # tenths are no binary fractions: ties must survive that
            ours, theirs = ([np.rint(10 * v) for v in side] for side in (ours, theirs))
        assert (found.more, found.less) == pytest.approx(brute_force(ours, theirs))


def test_known_values():
    three = permutation_test([np.full(3, 430.0)], [np.zeros(3)])
    assert (three.more, three.less, three.least) == (1 / 20, 1.0, 1 / 20)
    two = permutation_test(2 * [np.full(2, 430.0)], 2 * [np.zeros(2)])
    assert two.more == two.least == 1 / 36
    scipys = stats.permutation_test(
        ([3.1, 4.7, 1.2, 8.8], [2.0, 0.4, 3.0]),
        lambda x, y: np.mean(x) - np.mean(y),
        alternative="greater",
        n_resamples=np.inf,
    )
    ours = permutation_test(
        [np.array([3.1, 4.7, 1.2, 8.8])], [np.array([2.0, 0.4, 3.0])]
    )
    assert ours.more == pytest.approx(scipys.pvalue)
    same = permutation_test([np.full(4, 7.0)], [np.full(4, 7.0)])
    assert (same.more, same.less) == (1.0, 1.0)


@pytest.mark.slow
def test_of_too_many_relabellings_some_are_drawn(monkeypatch):
    ours, theirs = [rng(1).normal(0.8, 1, 7)] * 2, [rng(2).normal(0, 1, 7)] * 2
    monkeypatch.setattr(permutation, "MOST", 10**8)
    exact = permutation_test(ours, theirs)  # 3432² relabellings
    monkeypatch.setattr(permutation, "MOST", 10**6)
    drawn = permutation_test(ours, theirs)
    assert drawn.more == permutation_test(ours, theirs).more
    error = math.sqrt(exact.more * (1 - exact.more) / permutation.DRAWS)
    assert 0.001 < exact.more < 0.1
    assert drawn.more == pytest.approx(exact.more, abs=4 * error)
    assert drawn.more != exact.more
    apart = permutation_test(6 * [np.full(3, 430.0)], 6 * [np.zeros(3)])
    assert apart.more == apart.least == 1 / (permutation.DRAWS + 1)


def test_what_is_not_finite_decides_nothing():
    found = permutation_test([np.array([np.nan, 9.0, 9.0, 9.0])], [np.zeros(4)])
    assert (found.more, found.less) == (1.0, 1.0)


def test_censored_times_are_ranked_as_gehan_does():
    """Without censoring Gehan's test is that of Wilcoxon, Mann and Whitney."""
    x, y = np.array([3.0, 5, 7, 11]), np.array([4.0, 9, 12, 13, 15])
    ours, theirs = ([np.stack([v, np.ones(len(v))], axis=1)] for v in (x, y))
    found = permutation_test(*gehan_scores(ours, theirs))
    exact = stats.mannwhitneyu(x, y, alternative="less", method="exact")
    assert found.more == pytest.approx(exact.pvalue)
    censored = [np.array([[4.0, 1], [6, 0], [9, 0]])], [np.array([[5.0, 1], [6, 0]])]
    (first,), (second,) = gehan_scores(*censored)
    np.testing.assert_allclose(5 * first, [4, -2, -2])
    np.testing.assert_allclose(5 * second, [2, -2])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_verdicts_need_enough_runs():
    def made(more, less, n):
        def reach(runs):
            return 1 / math.comb(2 * runs, runs)

        return Outcome(float(more), float(less), reach(n), reach)

    def said(*tests):
        return [verdict for verdict, *_ in judge(tests)]

    assert said(made(0.02, 1, 4)) == ["holds"]
    assert said(made(1, 0.02, 4)) == ["does not"]
    assert said(made(0.03, 0.97, 4)) == ["undecided"]
    assert said(made(0.05, 1, 3)) == ["too few runs: needs 4"]
    # Two claims: 1/70 is not half of 2.5 %, 1/252 is.
    assert said(*2 * [made(1 / 70, 1, 4)]) == 2 * ["too few runs: needs 5"]
    assert said(*2 * [made(1 / 252, 1, 5)]) == 2 * ["holds"]
    assert said(made(1 / 252, 1, 5), made(0.02, 1, 5)) == ["holds", "holds"]
    assert said(made(0.02, 1, 5), made(0.5, 1, 5)) == ["undecided", "undecided"]


def _allowed(rate, count):
    """What a true error rate of `rate` exceeds once in a thousand simulations."""
    return stats.binom.ppf(0.999, count, rate) / count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "tasks"), [(2, 1), (2, 2), (3, 1), (3, 2), (5, 1), (5, 2), (10, 1)]
)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_runs_without_a_difference_are_rarely_told_apart(n, tasks, share):
    """All or nothing, as our runs are: at most 2.5 % a side."""
    draw, count, errors = rng(n + 100 * tasks), 1000, np.zeros(2)
    known: dict[bytes, Outcome] = {}
    for _ in range(count):
        runs = 430.0 * (draw.random((2, tasks, n)) < share)
        key = runs.sum(axis=2).tobytes()  # the order of runs does not matter
        if key not in known:
            known[key] = permutation_test(*(list(side) for side in runs))
        test = known[key]
        errors += [test.more <= LEVEL, test.less <= LEVEL]
    assert (errors / count <= _allowed(LEVEL, count)).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [(10, 10), (10, 5), (5, 5)])
def test_times_without_a_difference_are_rarely_told_apart(n, monkeypatch):
    """Two tasks, censored times as ours are; what is too much to enumerate is drawn."""
    monkeypatch.setattr(permutation, "DRAWS", 399)
    monkeypatch.setattr(permutation, "MOST", 100_000)
    draw, count, errors = rng(sum(n)), 500, np.zeros(2)
    for _ in range(count):
        sides = []
        for runs in n:
            ends = 2000.0 * draw.geometric(0.1, (2, runs))
            solved = ends < 40_000
            sides.append(list(np.stack([np.minimum(ends, 40_000), solved], axis=2)))
        test = permutation_test(*gehan_scores(*sides))
        errors += [test.more <= LEVEL, test.less <= LEVEL]
    assert (errors / count <= _allowed(LEVEL, count)).all()
    assert errors.sum() > 0  # it can tell apart at all


def test_the_simulation_would_notice_an_interval():
    """Bootstrap intervals of two runs, which decided before, err far too often."""
    draw, wrong = rng(), 0
    for _ in range(1000):
        ours, theirs = 430.0 * (draw.random((2, 2)) < 0.5)
        wrong += ours.min() > theirs.max()  # all resampled differences are above 0
    assert wrong / 1000 > _allowed(LEVEL, 1000)


@pytest.mark.parametrize(("n", "rate"), [(3, 1.0), (5, 1.0), (10, 1.0), (5, 0.8)])
def test_as_well_as_is_not_said_of_what_is_worse_by_the_margin(n, rate):
    """Runs that fail a quarter more often: the permutation alone would be fooled."""
    draw, count, alone, both = rng(n), 400, 0, 0
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for _ in range(count):
        x, y = draw.random(n) < 0.75 * rate, draw.random(n) < rate
        key = int(x.sum()), int(y.sum())
        if key not in known:
            test = permutation_test([430.0 * x], [0.75 * 430.0 * y])
            safe = _guarded(test, (key[0], n), (key[1], n), share=0.75)
            known[key] = test.more, safe.more
        alone += known[key][0] <= LEVEL
        both += known[key][1] <= LEVEL
    assert both / count <= _allowed(LEVEL, count)
    if (rate, n) == (1.0, 5):
        assert alone / count > _allowed(LEVEL, count)


def test_as_well_as_can_be_shown():
    level = np.full(16, 430.0)
    test = permutation_test([level], [0.75 * level])
    assert _guarded(test, (16, 16), (16, 16), share=0.75).more <= LEVEL
    assert _guarded(test, (15, 15), (15, 15), share=0.75).more > LEVEL
    few = permutation_test(2 * [level[:1]], 2 * [0.75 * level[:1]])
    few = _guarded(few, (2, 2), (2, 2), share=0.75, tasks=2)
    assert judge([few])[0][0] == "too few runs: needs 8"
    five = permutation_test([level[:5]], [np.zeros(5)])
    five = _guarded(five, (5, 5), (0, 5), share=0.75)
    assert five.more == pytest.approx(five.least) == pytest.approx(0.0289, abs=1e-4)
    assert judge([five])[0][0] == "too few runs: needs 16"
    worse = permutation_test([np.zeros(8)], [0.75 * level[:8]])
    assert _guarded(worse, (0, 8), (8, 8), share=0.75).less <= LEVEL


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 33])
def test_limits_are_those_of_clopper_and_pearson(n):
    for k in range(n + 1):
        exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        assert limits((k, n)) == pytest.approx((exact.low, exact.high), abs=1e-9)
        assert tail((k, n), 0.3) == pytest.approx(stats.binom.sf(k - 1, n, 0.3))


def test_none_of_n_by_hand():
    assert low_limit((0, 3), 0.025) == 0.0
    assert high_limit((0, 3), 0.025) == pytest.approx(1 - 0.025 ** (1 / 3))
    assert high_limit((3, 3), 0.025) == 1.0


def test_two_shares():
    assert p_of_shares((16, 16), (16, 16), 0.75)[0] == pytest.approx(2 * 0.75**16)
    assert p_of_shares((0, 4), (4, 4), 1.0)[0] == 1.0
    more, less = p_of_shares((3, 9), (8, 10), 1.0)
    assert p_of_shares((8, 10), (3, 9), 1.0) == pytest.approx((less, more))
