import numpy as np
import pytest

from sfp.envs import MazeBatch
from sfp.envs.maze import get_layout
from sfp.envs.wayfinder import Wayfinder


def test_goals_are_uniform_over_free_cells():
    layout = get_layout("maze")
    goals = Wayfinder(layout).draw_goal(40_000, np.random.default_rng(0))
    cells, counts = np.unique(np.rint(goals).astype(int), axis=0, return_counts=True)
    assert {tuple(c) for c in cells} == {tuple(c) for c in layout.cells}
    expected = 40_000 / len(layout.cells)
    chi = ((counts - expected) ** 2 / expected).sum() / (len(layout.cells) - 1)
    assert 0.6 < chi < 1.5
    offset = goals - np.rint(goals)
    assert offset.std() == pytest.approx(np.sqrt(1 / 12), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["room", "corridor", "maze"])
def test_every_goal_is_reached_in_about_the_shortest_time(name):
    layout = get_layout(name)
    rng = np.random.default_rng(0)
    way = Wayfinder(layout)
    batch = MazeBatch(layout, 300, rng)
    goal = way.draw_goal(300, rng)
    arrived = np.full(300, -1)
    for t in range(200):
        gap = np.hypot(*(goal - batch.position).T)
        arrived[(arrived < 0) & (gap < 0.6)] = t
        batch.step(way.direction(batch.position, goal))
    assert (arrived >= 0).all()
    start = tuple(int(v) for v in layout.starts[0])
    steps = layout.distances(start)
    ideal = np.array([steps[layout.index(c)] for c in np.rint(goal).astype(int)])
    assert (arrived <= ideal + 8).all()


def test_direction_is_a_unit_vector_and_zero_at_the_goal():
    way = Wayfinder(get_layout("room"))
    position = np.array([[0.0, 0.0], [3.0, 4.0]])
    goal = np.array([[3.0, 4.0], [3.0, 4.0]])
    np.testing.assert_allclose(way.direction(position, goal), [[0.6, 0.8], [0.0, 0.0]])
