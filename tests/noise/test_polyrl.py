"""PolyRL: how it turns, how its chains grow, and when they end."""

import math
from copy import deepcopy

import jax
import numpy as np
import pytest
from scipy import stats

from sfp.arrays import load_tree, save_tree
from sfp.errors import SfpError
from sfp.exploration.explorers import explore
from sfp.noise.polyrl import PolyRL, turn

SIGMAS = 5.0
"""Tolerances in standard errors: chance alone hardly ever gets there."""


def directions(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def follow(walk, path, *, seed=0):
    """Give a walk the states of `path` (steps, n, state); yield what it does."""
    rng = np.random.default_rng(seed)
    state = walk.begin(path.shape[1], 2, path[0])
    for position in path:
        action, state = walk.draw(state, position, rng)
        yield action, state


def ideal_chains(theta, n, length, *, seed=0):
    """Freely rotating chains in the plane: unit bonds, the angle ±theta."""
    rng = np.random.default_rng(seed)
    turns = theta * rng.choice([-1.0, 1.0], size=(length - 1, n))
    turns[0] = rng.uniform(0, 2 * np.pi, n)
    heading = np.cumsum(turns, axis=0)
    bonds = np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    return np.concatenate([np.zeros((1, n, 2)), np.cumsum(bonds, axis=0)])


@pytest.mark.parametrize("dims", [2, 3, 6])
def test_turn_bends_by_the_angle_towards_the_point(dims):
    rng = np.random.default_rng(0)
    previous, point = rng.uniform(-1, 1, size=(2, 50, dims))
    angle = rng.normal(0.35, 0.13, 50)
    action = turn(previous, point, angle)
    u = directions(previous)
    cosine = (directions(action) * u).sum(axis=1)
    np.testing.assert_allclose(np.arccos(cosine), np.abs(angle), atol=1e-7)
    along = np.abs((point * u).sum(axis=1))
    np.testing.assert_allclose(np.linalg.norm(action, axis=1), along / np.cos(angle))
    # In the plane of u and P, on P's side of u for a positive angle.
    across = point - (point * u).sum(axis=1, keepdims=True) * u
    side = (action * directions(across)).sum(axis=1)
    np.testing.assert_allclose(side, along * np.tan(angle), atol=1e-12)
    plane = np.stack([u, point, action], axis=1)
    assert np.linalg.svd(plane, compute_uv=False)[:, 2:].max(initial=0) < 1e-12


def test_angles_are_normal_around_theta():
    """From (1, 0) the next action is clipped only beyond 45 degrees: 4 in 10,000."""
    walk, rng = PolyRL(), np.random.default_rng(0)
    state = walk.begin(20_000, 2, np.zeros((20_000, 2)))
    _, state = walk.draw(state, np.zeros((20_000, 2)), rng)
    ahead = np.broadcast_to(np.float32([1.0, 0.0]), (20_000, 2))
    action, _ = walk.draw(state._replace(action=ahead), np.zeros((20_000, 2)), rng)
    angle = np.arctan2(np.abs(action[:, 1]), action[:, 0])
    sigma = math.sqrt(0.017)
    assert abs(angle.mean() - 0.35) < SIGMAS * sigma / np.sqrt(20_000)
    assert abs(angle.var() - 0.017) < SIGMAS * 0.017 * np.sqrt(2 / 20_000)
    folded = stats.foldnorm(0.35 / sigma, scale=sigma)
    assert stats.kstest(angle, folded.cdf).pvalue > 1e-3
    left = (action[:, 1] > 0).mean()  # to both sides alike
    assert abs(left - 0.5) < SIGMAS * 0.5 / np.sqrt(20_000)


def test_directions_persist():
    """Unclipped, in the plane: E[u_0 · u_k] = E[cos η]^k = (cos θ exp(-σ²/2))^k."""
    rng = np.random.default_rng(0)
    first = action = rng.uniform(-1, 1, size=(20_000, 2))
    per_step = math.cos(0.35) * math.exp(-0.017 / 2)
    for k in range(1, 16):
        point = rng.uniform(-1, 1, size=action.shape)
        action = turn(action, point, rng.normal(0.35, math.sqrt(0.017), 20_000))
        cosine = (directions(first) * directions(action)).sum(axis=1)
        error = cosine.std() / np.sqrt(20_000)
        assert abs(cosine.mean() - per_step**k) < SIGMAS * error


def test_a_chain_begins_with_a_uniform_action():
    ((action, _),) = follow(PolyRL(), np.zeros((1, 10_000, 2)))
    for dim in (0, 1):
        assert stats.kstest(action[:, dim], "uniform", (-1, 2)).pvalue > 1e-3
    product = (action[:, 0] * action[:, 1]).mean()
    assert abs(product) < SIGMAS / 3 / np.sqrt(10_000)


def test_actions_are_within_bounds_and_remembered_as_executed():
    rng, walk = np.random.default_rng(0), PolyRL(theta=1.2, variance=0.3)
    position = np.zeros((500, 3))
    state = walk.begin(500, 3, position)
    clipped = 0
    for _ in range(50):
        action, state = walk.draw(state, position, rng)
        assert action.dtype == np.float32
        assert np.abs(action).max() <= 1
        clipped += (np.abs(action) == 1).sum()
        np.testing.assert_array_equal(state.action, action)
        position = position + action
    assert clipped > 100


@pytest.mark.parametrize("dims", [1, 2, 5])
def test_the_chain_is_measured_as_it_grows(dims):
    path = np.cumsum(np.random.default_rng(1).normal(size=(40, 3, dims)), axis=0)
    path += 100.0
    for t, (_, state) in enumerate(follow(PolyRL(), path), start=1):
        chain = path[:t]
        assert (state.length == t).all()
        np.testing.assert_allclose(state.mean, chain.mean(axis=0))
        spread = chain.var(axis=0).sum(axis=-1)
        np.testing.assert_allclose(state.gyration, spread, atol=1e-11)
        np.testing.assert_array_equal(state.last, path[t - 1])
        bonds = (np.diff(chain, axis=0) ** 2).sum(axis=(0, 2))
        np.testing.assert_allclose(state.bonds, bonds)
        powers = math.cos(0.35) ** (t - np.arange(1, t))
        np.testing.assert_allclose(state.cross, np.arange(1, t) @ powers)


@pytest.mark.slow
@pytest.mark.parametrize("theta", [0.0, 0.35, 1.2])
def test_expected_growth_is_that_of_ideal_chains(theta):
    path = ideal_chains(theta, 20_000, 25)
    walk = PolyRL(theta=theta, beta=1e-9)  # never ends a chain
    before = None
    for t, (_, state) in enumerate(follow(walk, path), start=1):
        assert (state.length == t).all()
        if t > 2:  # from the second bond on, the length of a bond is known
            growth = state.gyration - (t - 1) / t * before.gyration
            surprise = growth - walk.expect(before)
            error = surprise.std() / np.sqrt(20_000)
            assert abs(surprise.mean()) < SIGMAS * error + 1e-9
            # Precise enough to see each term of the sum.
            if theta > 0:
                assert 2 * SIGMAS * error < (t - 1) / t**2
        before = state


def test_bounds_are_markov_and_second_moment():
    expected = np.array([0.0, 1.0, 4.0])
    low, high = PolyRL(beta=0.01).bounds(expected)
    np.testing.assert_allclose(high, [0, 100, 400])
    np.testing.assert_allclose(low, (1 - math.sqrt(1.98)) * expected)
    low, high = PolyRL(beta=0.9).bounds(expected)
    np.testing.assert_allclose(high, expected / 0.9)
    np.testing.assert_allclose(low, (1 - math.sqrt(0.2)) * expected)


def straight(steps, jump=0.0):
    """One row: states a unit apart, and a last one a jump away from them."""
    x = np.append(np.arange(steps), steps - 1.0 + jump)
    return np.stack([x, np.zeros_like(x)], axis=-1)[:, None]


@pytest.mark.parametrize(("beta", "restarts"), [(0.01, False), (0.9, True)])
def test_a_stuck_walker_begins_anew_unless_beta_is_small(beta, restarts):
    *_, (_, state) = follow(PolyRL(beta=1e-9), straight(3))
    assert state.length == 4
    lengths = []
    for _ in range(200):
        state = PolyRL(beta=beta).lengthen(state, state.last)
        lengths.append(int(state.length[0]))
    assert (1 in lengths) is restarts
    assert (lengths == list(range(5, 205))) is not restarts


def test_the_lower_bound_never_binds_with_the_papers_beta():
    """The least X there is, 0, ends no chain; with a beta above 1/2 it ends them."""
    path = np.cumsum(np.random.default_rng(0).normal(size=(50, 100, 2)), axis=0)
    ended = {0.01: 0, 0.49: 0, 0.51: 0}
    for beta in ended:
        for _, state in follow(PolyRL(beta=1e-9), path):
            back = PolyRL(beta=beta).lengthen(state, state.mean)  # X = 0
            ended[beta] += (back.length[state.length > 1] == 1).sum()
    assert ended == {0.01: 0, 0.49: 0, 0.51: 49 * 100}


@pytest.mark.parametrize(("jump", "restarts"), [(5.0, False), (500.0, True)])
def test_a_jump_begins_anew(jump, restarts):
    *_, (_, before), (_, after) = follow(PolyRL(), straight(10, jump))
    assert before.length == 10
    assert after.length == (1 if restarts else 11)
    if restarts:
        np.testing.assert_array_equal(after.mean, [[9.0 + jump, 0.0]])
        for field in ("gyration", "bonds", "cross"):
            assert getattr(after, field) == 0


def test_only_the_row_that_jumps_begins_anew_and_its_action_is_uniform():
    calm = np.repeat(straight(10), 5000, axis=1)
    wild = np.repeat(straight(10, 500.0), 5000, axis=1)
    *_, (before, _), (action, state) = follow(PolyRL(), np.hstack([calm, wild]))
    assert (state.length[:5000] == 11).all()
    assert (state.length[5000:] == 1).all()
    cosine = (directions(before) * directions(action)).sum(axis=1)
    assert cosine[:5000].min() > 0
    assert abs(cosine[5000:].mean()) < SIGMAS / np.sqrt(2 * 5000)
    for dim in (0, 1):
        assert stats.kstest(action[5000:, dim], "uniform", (-1, 2)).pvalue > 1e-3


def test_a_walker_that_never_moved_begins_anew_when_it_does():
    path = np.zeros((6, 1, 2))
    path[5:] = 0.1
    lengths = [int(state.length[0]) for _, state in follow(PolyRL(), path)]
    assert lengths == [1, 2, 3, 4, 5, 1]


def test_in_one_dimension_the_direction_is_kept():
    rng, walk = np.random.default_rng(0), PolyRL()
    position = np.zeros((2000, 1))
    state = walk.begin(2000, 1, position)
    first, state = walk.draw(state, position, rng)
    for _ in range(20):
        position = position + first
        action, state = walk.draw(state, position, rng)
        np.testing.assert_array_equal(np.sign(action), np.sign(first))
    assert stats.kstest(np.abs(action[:, 0]), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("size", [0.0, 1e-30])
def test_without_a_previous_direction_the_point_is_the_action(size):
    point = np.array([[0.3, -0.4], [0.1, 0.9]])
    previous = np.array([[size, -size], [1.0, 0.0]])
    action = turn(previous, point, np.array([0.35, 0.35]))
    np.testing.assert_array_equal(action[0], point[0])
    np.testing.assert_allclose(action[1], [0.1, 0.1 * math.tan(0.35)])


def test_a_point_straight_ahead_or_behind_keeps_the_direction():
    previous = np.array([[0.5, 0.0], [0.5, 0.0]])
    point = np.array([[0.3, 0.0], [-0.3, 0.0]])
    action = turn(previous, point, np.array([0.35, 0.35]))
    np.testing.assert_allclose(action, [[0.3, 0.0], [0.3, 0.0]])


def test_a_saved_memory_goes_on_with_the_same_bits(tmp_path):
    walk, rng = PolyRL(beta=0.6), np.random.default_rng(0)
    position = np.zeros((4, 2), np.float32)
    state = walk.begin(4, 2, position)
    lengths = []
    for _ in range(40):
        save_tree(tmp_path / "state", state)
        restored = load_tree(tmp_path / "state", jax.tree.map(np.zeros_like, state))
        expected, after = walk.draw(state, position, deepcopy(rng))
        action, restored_after = walk.draw(restored, position, rng)
        np.testing.assert_array_equal(action, expected)
        for old, kept, new, same in zip(
            *map(jax.tree.leaves, (state, restored, after, restored_after)), strict=True
        ):
            assert isinstance(new, np.ndarray)
            assert (new.shape, new.dtype) == (old.shape, old.dtype)
            np.testing.assert_array_equal(old, kept)  # not modified by the draw
            np.testing.assert_array_equal(new, same)
        state = restored_after
        position = position + action
        lengths.append(state.length)
    assert (np.diff(lengths, axis=0) < 0).any()  # restarts were among it


@pytest.mark.slow
def test_table_1_polyrl_in_the_large_room():
    """FACTS: the authors' code gives 0.0268 ± 0.0020 and 0.979 ± 0.019, 10 times."""
    (polyrl,) = explore("room-large", ["polyrl"])
    assert 0.022 < polyrl.gyration.mean() < 0.034
    assert polyrl.gyration.std(ddof=1) < 0.006
    assert 0.95 < polyrl.coverage.mean() <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"theta": -0.1}, r"theta within \[0, π/2\), received -0.1"),
        ({"theta": 1.6}, r"theta within \[0, π/2\), received 1.6"),
        ({"theta": math.nan}, "received nan"),
        ({"variance": -1.0}, r"variance within \[0, inf\), received -1.0"),
        ({"variance": math.inf}, r"variance within \[0, inf\), received inf"),
        ({"beta": 0.0}, r"beta within \(0, 1\), received 0.0"),
        ({"beta": 1.0}, r"beta within \(0, 1\), received 1.0"),
        ({"beta": math.nan}, "received nan"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused_in_one_line(settings, message):
    with pytest.raises(SfpError, match=message) as caught:
        PolyRL(**settings)
    assert "\n" not in str(caught.value)
