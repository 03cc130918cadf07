"""The type that holds D_exp: what it refuses, and what it does to whole episodes."""

import dataclasses
import re

import numpy as np
import pytest

from sfp.data.trajectories import Trajectories, assemble
from sfp.envs.adapter import bounds_of
from sfp.errors import SfpError

LENGTHS = (5, 2, 7, 3, 4)


def encoded(lengths=LENGTHS, dims=2, **changes):
    """Actions that say which episode, step and dimension they are, within [-1, 1]."""
    ends = np.cumsum(lengths)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    step = np.concatenate([np.arange(n) for n in lengths])
    code = episode[:, None] / 10 + step[:, None] / 1000 + np.arange(dims) / 1e5
    fields = {
        "actions": code.astype(np.float32),
        "ends": ends,
        "low": -np.ones(dims, np.float32),
        "high": np.ones(dims, np.float32),
        "source": "here",
        **changes,
    }
    return Trajectories(**fields)


def episodes_of(data, column="actions"):
    values = getattr(data, column)
    return [values[a:b] for a, b in zip(data.starts, data.ends, strict=True)]


def test_boundaries_and_sizes():
    data = encoded(dims=3)
    assert data.starts.tolist() == [0, 5, 7, 14, 17]
    assert data.ends.tolist() == [5, 7, 14, 17, 21]
    assert data.lengths.tolist() == list(LENGTHS)
    assert (len(data), data.dims) == (5, 3)
    assert data.columns == ("actions",)
    more = encoded(goals=np.zeros((21, 2)), images=np.zeros((21, 4, 4, 3), np.uint8))
    assert more.columns == ("actions", "goals", "images")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.rate = 3.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"actions": np.zeros((0, 2), np.float32), "ends": np.zeros(0, int)},
            "here is empty: expected at least one episode of 2 actions.",
        ),
        ({"ends": np.zeros(0, int)}, "here is empty: expected"),
        ({"actions": np.zeros((0, 2), np.float32)}, "here is empty: expected"),
        (
            {"ends": np.array([5, 20])},
            "here: the last episode ends at 20 but there are 21 actions",
        ),
        ({"ends": np.array([5, 22])}, "ends at 22 but there are 21 actions"),
        (
            {"ends": np.array([5, 6, 14, 14, 15, 21])},
            "here: episode 1 has 1 action(s) (3 such), expected at least 2: a prior "
            "needs a past and a next action. Leave them out with --drop-short",
        ),
        ({"ends": np.array([0, 21])}, "episode 0 has 0 action(s) (1 such)"),
        ({"ends": np.array([14, 7, 21])}, "episode 1 has -7 action(s) (1 such)"),
        (
            {"low": np.float32([-1, 0.5]), "high": np.float32([1, 0.5])},
            "here: the bounds of action dimension 1 are [0.5, 0.5]: expected low < "
            "high.",
        ),
        ({"low": np.float32([np.nan, -1])}, "dimension 0 are [nan, 1]"),
        (
            {"observations": np.zeros((20, 4))},
            "here: 20 observations for 21 actions: expected one each.",
        ),
        ({"goals": np.zeros((22, 4))}, "22 goals for 21 actions"),
        ({"images": np.zeros((1, 8, 8, 3), np.uint8)}, "1 images for 21 actions"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(SfpError, match=re.escape(message)):
        encoded(**changes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("row", "where"), [(0, (0, 0)), (4, (0, 4)), (5, (1, 0)), (20, (4, 3))]
)
def test_nan_and_infinity_are_named_by_episode_and_step(value, row, where):
    actions = encoded().actions.copy()
    actions[row, 1] = value
    with pytest.raises(SfpError) as caught:
        encoded(actions=actions)
    assert str(caught.value) == (
        f"here: the action of episode {where[0]}, step {where[1]} is NaN or infinite "
        "(1 such steps): expected numbers. Repair the recording or leave that episode "
        "out."
    )
    actions[row:, 0] = value
    with pytest.raises(SfpError, match=rf"\({21 - row} such steps\)"):
        encoded(actions=actions)


def test_select_takes_whole_episodes_in_the_order_asked():
    data = encoded(observations=np.arange(21.0)[:, None])
    some = data.select([3, 0])
    before, after = episodes_of(data), episodes_of(some)
    np.testing.assert_array_equal(after[0], before[3])
    np.testing.assert_array_equal(after[1], before[0])
    assert len(after) == 2
    assert some.observations.ravel().tolist() == [14, 15, 16, 0, 1, 2, 3, 4]
    assert (some.source, some.low.tolist()) == ("here", [-1, -1])
    assert data.select(range(5)).fingerprint == data.fingerprint
    with pytest.raises(SfpError, match="empty"):
        data.select([])


@pytest.mark.parametrize(
    ("share", "count"), [(1.0, 8), (0.75, 6), (0.5, 4), (0.25, 2), (1e-9, 1)]
)
def test_keep_leaves_that_share_of_whole_episodes_in_order(share, count):
    data = encoded((3, 2, 4, 2, 5, 3, 2, 6))
    kept = data.keep(share, np.random.default_rng(0))
    assert len(kept) == count
    number = [round(10 * float(e[0, 0])) for e in episodes_of(kept)]
    assert number == sorted(set(number))
    for e, episode in zip(number, episodes_of(kept), strict=True):
        np.testing.assert_array_equal(episode, episodes_of(data)[e])


def test_keep_draws_every_episode_equally_often_and_by_the_seed():
    data = encoded((2,) * 8)
    counts = np.zeros(8)
    for seed in range(400):
        kept = data.keep(0.25, np.random.default_rng(seed))
        for episode in episodes_of(kept):
            counts[round(10 * float(episode[0, 0]))] += 1
    assert counts.sum() == 800
    assert (abs(counts - 100) < 4 * np.sqrt(400 * 0.25 * 0.75)).all()
    again = [data.keep(0.5, np.random.default_rng(3)).fingerprint for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize(
    ("share", "count"), [(0.0, 0), (0.25, 2), (0.5, 4), (0.75, 6), (1.0, 8)]
)
def test_uniform_replaces_whole_episodes_and_no_others(share, count):
    lengths = (3, 2, 40, 2, 50, 3, 2, 60)
    low, high = np.float32([0.1, -4.0]), np.float32([0.3, 6.0])
    data = encoded(lengths, low=low, high=high, observations=np.arange(162.0)[:, None])
    noisy = data.replace_by_uniform(share, np.random.default_rng(0))
    replaced = 0
    for old, new in zip(episodes_of(data), episodes_of(noisy), strict=True):
        same = old == new
        assert same.all() or not same.any()
        if not same.any():
            replaced += 1
            assert (new >= low).all()
            assert (new <= high).all()
    assert replaced == count
    np.testing.assert_array_equal(noisy.observations, data.observations)
    np.testing.assert_array_equal(noisy.ends, data.ends)
    assert noisy.actions.dtype == np.float32


def test_uniform_replaces_every_episode_equally_often():
    data = encoded((2,) * 8)
    counts = np.zeros(8)
    for seed in range(200):
        noisy = data.replace_by_uniform(0.25, np.random.default_rng(seed))
        counts += [
            (old != new).all()
            for old, new in zip(episodes_of(data), episodes_of(noisy), strict=True)
        ]
    assert counts.sum() == 400
    assert (abs(counts - 50) < 4 * np.sqrt(200 * 0.25 * 0.75)).all()


def test_uniform_is_uniform_within_the_bounds_and_by_the_seed():
    low, high = np.float32([-3.0, 10.0]), np.float32([1.0, 10.5])
    data = encoded((50_000,), low=low, high=high)
    noisy = data.replace_by_uniform(1.0, np.random.default_rng(0))
    unit = (noisy.actions - low) / (high - low)
    counts = np.stack([np.histogram(unit[:, i], 20, (0, 1))[0] for i in (0, 1)])
    assert (abs(counts - 2500) < 5 * np.sqrt(2500)).all()
    assert abs(np.corrcoef(unit.T)[0, 1]) < 0.02
    again = data.replace_by_uniform(1.0, np.random.default_rng(0))
    other = data.replace_by_uniform(1.0, np.random.default_rng(1))
    assert noisy.fingerprint == again.fingerprint != other.fingerprint


def test_uniform_stays_inside_bounds_that_float32_rounds():
    """One float apart: low + (high - low) * u could leave the box by rounding."""
    low = np.float32([1.0, -3e38, 0.1])
    high = np.float32([np.nextafter(np.float32(1), np.float32(2)), 3e38, 0.7])
    data = encoded((20_000,), dims=3, low=low, high=high)
    noisy = data.replace_by_uniform(1.0, np.random.default_rng(0))
    assert (noisy.actions >= low).all()
    assert (noisy.actions <= high).all()


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5, np.nan, np.inf])
def test_shares_outside_the_unit_interval_are_refused(share):
    rng = np.random.default_rng(0)
    with pytest.raises(SfpError, match=r"share to keep in \(0, 1\], received"):
        encoded().keep(share, rng)
    if share != 0.0:
        with pytest.raises(SfpError, match=r"share to replace in \[0, 1\], received"):
            encoded().replace_by_uniform(share, rng)


def test_fingerprint_changes_with_actions_boundaries_and_bounds_only():
    data = encoded()
    nudged = data.actions.copy()
    nudged[20, 1] = np.nextafter(nudged[20, 1], np.float32(1))
    swapped = data.actions[::-1].copy()
    different = [
        encoded(actions=nudged),
        encoded(actions=swapped),
        encoded(ends=np.array([5, 7, 14, 21])),
        encoded(low=np.float32([-1, -2])),
        encoded(high=np.float32([1, 2])),
        encoded(dims=3),
        # the same bytes in another shape
        encoded(
            actions=data.actions.reshape(-1, 1),
            ends=2 * data.ends,
            low=data.low[:1],
            high=data.high[:1],
        ),
    ]
    prints = [data.fingerprint, *(d.fingerprint for d in different)]
    assert len(set(prints)) == len(prints)
    assert all(re.fullmatch("[0-9a-f]{64}", p) for p in prints)
    same = encoded(
        source="there",
        rate=50.0,
        observations=np.zeros((21, 1)),
        ends=data.ends.astype(np.int32),
        actions=np.asfortranarray(data.actions),
    )
    assert same.fingerprint == data.fingerprint


def joined(*episodes, **options):
    recorded = [{"actions": np.asarray(e)} for e in episodes]
    return assemble(recorded, source="here", **options)


def test_assemble_joins_in_order_as_float32_and_leaves_its_input_alone():
    one, two = np.full((2, 3), 0.5), np.full((3, 3), 0.25, np.float16)
    episodes = [
        {"actions": one, "observations": np.zeros((2, 1))},
        {"actions": two, "observations": np.ones((3, 1))},
    ]
    data = assemble(episodes, source="here", rate=20.0)
    assert data.actions.dtype == np.float32
    assert data.actions[:, 0].tolist() == [0.5, 0.5, 0.25, 0.25, 0.25]
    assert data.observations.ravel().tolist() == [0, 0, 1, 1, 1]
    assert data.ends.tolist() == [2, 5]
    assert (data.rate, data.source) == (20.0, "here")
    assert episodes[0]["actions"] is one
    assert episodes[1]["actions"] is two


def test_one_dimensional_actions_become_one_column():
    data = joined([0.1, 0.2, 0.3], [0.4, 0.5])
    assert data.actions.shape == (5, 1)
    assert data.ends.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        (
            [np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 4))],
            "here: actions of episode 2 have 4 dimensions, those before 2: expected "
            "one width. Split the recordings by action space.",
        ),
        (
            [np.zeros((3, 2)), np.zeros((3, 2), int)],
            "here: actions of episode 1 are of type int64, expected floats: sfp is for "
            "continuous (Box) actions. If these are continuous, store them as float32.",
        ),
        ([np.zeros((3, 2), bool)], "of type bool"),
        ([np.zeros((3, 2), complex)], "of type complex128"),
        ([np.array([["a", "b"]])], "of type <U1"),
        ([np.array([[None, 1.0]])], "of type object"),
        (
            [np.zeros((3, 2, 2))],
            "here: actions of episode 0 have shape (3, 2, 2), expected (steps, "
            "dimensions).",
        ),
        ([np.zeros((3, 0))], "have shape (3, 0)"),
        ([np.float64(0.5)], "have shape ()"),
        ([], "here is empty: expected at least one episode of 2 actions."),
        ([np.zeros((0, 2))], "here is empty"),
        ([np.zeros((3, 2)), np.zeros((1, 2))], "episode 1 has 1 action(s) (1 such)"),
        ([np.zeros((3, 2)), np.zeros((0, 2))], "episode 1 has 0 action(s) (1 such)"),
        ([np.zeros((3, 2)), np.full((2, 2), np.nan)], "episode 1, step 0 is NaN"),
        ([np.full((2, 1), 1e300)], "episode 0, step 0 is NaN or infinite (2 such"),
    ],
)
def test_assemble_refuses(episodes, message):
    with pytest.raises(SfpError, match=re.escape(message)):
        joined(*episodes)


def test_drop_short_leaves_out_short_episodes_only():
    lengths = (1, 3, 0, 2, 1)
    data = joined(*(np.full((n, 2), n / 10) for n in lengths), drop_short=True)
    assert data.ends.tolist() == [3, 5]
    assert set(data.actions.ravel().tolist()) == {np.float32(0.3), np.float32(0.2)}
    with pytest.raises(SfpError, match="empty"):
        joined(np.zeros((1, 2)), drop_short=True)
    # what is left out need not fit
    joined(np.zeros((1, 5)), np.zeros((4, 2)), np.zeros((0,)), drop_short=True)


def bounds(episode, **options):
    data = joined(episode, **options)
    return data.low.tolist(), data.high.tolist(), data.bounds_known


def test_bounds_are_declared_or_one_or_observed_in_this_order():
    small = np.array([[0.5, -1.0], [-0.25, 1.0]])
    large = np.array([[0.5, -1.0], [-0.25, 3.0]])
    declared = {"low": np.array([-2, -4]), "high": np.array([2, 5])}
    assert bounds(large, **declared) == ([-2, -4], [2, 5], True)
    assert bounds(small) == ([-1, -1], [1, 1], False)
    assert bounds(large) == ([-1, -1], [1, 3], False)
    assert bounds(large, low=declared["low"]) == ([-1, -1], [1, 3], False)
    # data outside of declared bounds does not move them
    assert bounds(large, low=[-1, -1], high=[1, 1]) == ([-1, -1], [1, 1], True)


def test_infinite_bounds_are_taken_from_the_data_dimension_by_dimension():
    large = np.array([[0.5, -1.0, 0.0], [-0.25, 3.0, 1.0]])
    low, high = [-np.inf, -4, np.nan], [2, np.inf, 7]
    assert bounds(large, low=low, high=high) == ([-1, -1, -1], [1, 3, 1], False)
    assert bounds(large, low=[-3, -4, -5], high=[2, 1e300, 7]) == (
        [-3, -1, -5],
        [2, 3, 7],
        False,
    )


@pytest.mark.parametrize("value", [3.0, -1.5, 1e9, -3e38])
def test_a_constant_outside_one_gets_bounds_around_it(value):
    low, high, known = bounds(np.full((4, 1), value))
    assert low[0] < np.float32(value) < high[0]
    assert not known
    assert np.isfinite(low[0])
    assert np.isfinite(high[0])


def test_bounds_of_the_wrong_width_are_refused():
    message = "here: 3 lower and 1 upper bounds for actions of 2 dimensions"
    with pytest.raises(SfpError, match=message):
        joined(np.zeros((3, 2)), low=np.zeros(3), high=np.ones(1))
    with pytest.raises(SfpError, match="1 lower and 1 upper bounds"):
        joined(np.zeros((3, 2)), low=np.array(-1.0), high=np.array(1.0))
    with pytest.raises(SfpError, match="expected low < high"):
        joined(np.zeros((3, 2)), low=[1, -1], high=[-1, 1])


def test_columns_of_other_lengths_are_refused():
    episode = {"actions": np.zeros((3, 2)), "goals": np.zeros((4, 2))}
    with pytest.raises(SfpError, match="4 goals for 3 actions: expected one each"):
        assemble([episode], source="here")


def test_bounds_of_an_environment():
    episodes = [{"actions": np.full((30, 2), 0.5, np.float32)}]
    data = assemble(episodes, source="mine")
    assert not data.bounds_known
    bounded = data.bounded(*bounds_of("maze"))
    assert bounded.bounds_known
    np.testing.assert_array_equal(bounded.low, [-1, -1])
    wide = data.bounded([-2, 0], [2, 4])
    np.testing.assert_allclose(wide.unit_actions[0], [0.25, -0.75])
    with pytest.raises(SfpError, match="2 dimensions, the environment takes 1"):
        data.bounded(*bounds_of("Pendulum-v1"))
    with pytest.raises(SfpError, match=r"states other action bounds.*leave out --env"):
        wide.bounded(*bounds_of("maze"))
