"""The scripted policy follows the law that FACTS decided on."""

import numpy as np
import pytest
from scipy.stats import norm

from sfp.data.scripted import NOISE, PATIENCE, REACHED, SPEED, Scripted
from sfp.envs import MazeBatch
from sfp.envs.maze import get_layout


def far_away(direction, count=40_000):
    """Actions of many points at the origin whose goal lies 30 cells away."""
    rng = np.random.default_rng(0)
    position = np.zeros((count, 2))
    script = Scripted(get_layout("room-large"), position, rng)
    script.goal = np.tile(30.0 * np.array(direction), (count, 1))
    return script.act(position, rng)


def test_the_constants_are_those_decided_on():
    assert (SPEED, NOISE, REACHED, PATIENCE) == (0.9, 0.05, 0.5, 60)


@pytest.mark.parametrize("direction", [(0.6, 0.8), (-0.8, 0.6), (0.7071, -0.7071)])
def test_mean_is_the_scaled_unit_vector_and_noise_is_white(direction):
    actions = far_away(direction)
    assert np.abs(actions).max() < 1  # nothing clipped in these directions
    error = 0.045 / np.sqrt(len(actions))
    assert (abs(actions.mean(axis=0) - 0.9 * np.array(direction)) < 4 * error).all()
    np.testing.assert_allclose(actions.std(axis=0), 0.045, rtol=0.02)
    assert abs(np.corrcoef(actions.T)[0, 1]) < 0.02
    z = (actions[:, 0] - 0.9 * direction[0]) / 0.045
    assert abs((z**4).mean() - 3) < 0.15  # Gaussian


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_along_an_axis_the_tail_is_clipped(axis, side):
    actions = far_away(side * np.eye(2)[axis])
    along, across = side * actions[:, axis], actions[:, 1 - axis]
    assert along.max() == 1
    expected = norm.sf(0.1 / 0.045)
    spread = np.sqrt(expected / len(actions))
    assert abs((along == 1).mean() - expected) < 4 * spread
    assert np.median(along) == pytest.approx(0.9, abs=0.001)
    assert abs(across.mean()) < 0.001


def test_without_noise_it_walks_straight():
    layout = get_layout("room")
    rng = np.random.default_rng(0)
    script = Scripted(layout, np.zeros((1, 2)), rng, noise=0.0)
    script.goal = np.array([[3.0, 4.0]])
    np.testing.assert_allclose(script.act(np.zeros((1, 2)), rng), [[0.54, 0.72]])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["room", "room-large", "maze", "corridor"])
def test_goals_change_when_reached_or_after_sixty_steps_and_only_then(name):
    rng = np.random.default_rng(1)
    batch = MazeBatch(name, 40, rng)
    script = Scripted(batch.maze.layout, batch.position, rng)
    age = np.zeros(40, int)
    reached = expired = 0
    for _ in range(200):
        before = script.goal.copy()
        near = np.hypot(*(before - batch.position).T) <= 0.5
        old = age >= 60
        action = script.act(batch.position, rng)
        changed = (script.goal != before).any(axis=1)
        np.testing.assert_array_equal(changed, near | old)
        reached += (near & ~old).sum()
        expired += (old & ~near).sum()
        age = np.where(changed, 1, age + 1)
        batch.step(action)
        cells = np.rint(script.goal).astype(int)
        assert all(batch.maze.layout.is_free(cell) for cell in cells[changed])
    assert reached > 100
    assert (expired > 0) == (name != "room")  # 29 cells are crossed in 46 steps


def walk(name, points=50, steps=400):
    rng = np.random.default_rng(2)
    batch = MazeBatch(name, points, rng)
    script = Scripted(batch.maze.layout, batch.position, rng)
    changes = stopped = full = 0
    for _ in range(steps):
        goal, position = script.goal, batch.position
        action = script.act(position, rng)
        moved = batch.step(action) - position
        changes += (script.goal != goal).any(axis=1).sum()
        stopped += (np.abs(moved - action) > 1e-6).any(axis=1).sum()
        full += (np.abs(action) == 1).any(axis=1).sum()
    return points * steps / changes, stopped / (points * steps), full / (points * steps)


def test_in_the_room_a_goal_lasts_about_seventeen_steps():
    lasts, stopped, full = walk("room")
    assert lasts == pytest.approx(17, abs=0.8)
    assert stopped < 0.002
    assert full < 0.004  # next to nothing saturates


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lasts"), [("maze", 28), ("corridor", 38)])
def test_among_walls_goals_are_reached_without_hitting_them_much(name, lasts):
    measured, stopped, _ = walk(name)
    assert measured == pytest.approx(lasts, rel=0.1)
    assert stopped < 0.01


@pytest.mark.slow
def test_same_generator_same_bits():
    def actions(seed):
        rng = np.random.default_rng(seed)
        batch = MazeBatch("maze", 10, rng)
        script = Scripted(batch.maze.layout, batch.position, rng)
        return np.stack(
            [batch.step(script.act(batch.position, rng)) for _ in range(20)]
        )

    np.testing.assert_array_equal(actions(0), actions(0))
    assert (actions(0) != actions(1)).all()
