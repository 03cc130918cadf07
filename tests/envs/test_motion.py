"""No wall is ever crossed, and the vectorised step equals an exact slow one."""

from fractions import Fraction

import numpy as np
import pytest

from sfp.envs import Layout, MazeBatch
from sfp.envs.maze import LAYOUTS, get_layout
from sfp.envs.motion import HAIR, REPULSION, Motion

MAPS = {
    **{name: name for name in LAYOUTS},
    "checkers": "\n" + "S..#.\n.#...\n...#G\n.#.#.\n.....",
    "slit": "\n####\n#SG#\n####",
}


class NoPush(np.random.Generator):
    """A generator that pushes nobody back from a wall."""

    def random(self, size):
        return np.zeros(size)


def exact_step(layout, position, move):
    """One point, exact arithmetic, event by event; walls do not push back."""
    point = [Fraction(float(v)) for v in position]
    way = [Fraction(float(v)) for v in move]
    cell = [round(v) for v in point]
    assert layout.is_free(cell)
    left = Fraction(1)
    while left > 0:
        hits = []
        for axis in (0, 1):
            if way[axis] != 0:
                side = 1 if way[axis] > 0 else -1
                line = cell[axis] + Fraction(side, 2)
                time = (line - point[axis]) / way[axis]
                if time < left:
                    hits.append((time, axis, side, line))
        if not hits:
            return [float(p + w * left) for p, w in zip(point, way, strict=True)]
        time, axis, side, line = min(hits)
        point = [p + w * time for p, w in zip(point, way, strict=True)]
        point[axis] = line
        left -= time
        behind = list(cell)
        behind[axis] += side
        if layout.is_free(tuple(behind)):
            cell = behind
        else:
            way[axis] = Fraction(0)
    return [float(p) for p in point]


def moves(kind, position, rng):
    """Moves within the action box that try to get through walls."""
    count = len(position)
    if kind == "random":
        return rng.uniform(-1, 1, (count, 2))
    if kind == "full":
        return rng.choice([-1.0, 0.0, 1.0], (count, 2))
    corner = np.floor(position) + 0.5  # the nearest crossing of grid lines below
    corner += rng.integers(-1, 2, (count, 2))
    gap = corner - position
    if kind == "graze":  # through the corner, or past it by a hair
        scale = 1 / np.maximum(np.abs(gap).max(axis=1, keepdims=True), 1e-12)
        aim = gap * np.where(np.abs(gap).max(axis=1, keepdims=True) < 1, scale, 1.0)
        aim += rng.choice([0.0, 1e-16, -1e-16, 1e-9, -1e-9], (count, 2))
    else:  # "line": end on the grid line itself or one float beside it
        aim = np.nextafter(gap, gap + rng.choice([-1.0, 0.0, 1.0], (count, 2)))
    return np.clip(aim, -1, 1)


KINDS = ("random", "full", "graze", "line")


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPS)
def test_no_wall_is_ever_crossed_in_a_million_steps(name):
    layout = get_layout(MAPS[name])
    rng = np.random.default_rng(1)
    batch = MazeBatch(layout, 2000, rng)
    padded, corner = layout.padded, np.array(layout.origin) - 1
    persistent = rng.choice([-1.0, 1.0], (2000, 2))
    for t in range(500):
        before = batch.position
        kind = KINDS[t % len(KINDS)]
        move = moves(kind, before, rng)
        if t % 8 == 7:  # push into the same wall again and again
            move = persistent
        after = batch.step(move)
        if t % 50 == 49:
            persistent = rng.choice([-1.0, 1.0], (2000, 2))
        old = np.rint(before).astype(int)
        new = np.rint(after).astype(int)
        assert padded[tuple((new - corner).T)].all(), "a point is inside a wall"
        hop = new - old
        assert np.abs(hop).max() <= 1
        by_x = padded[tuple((old + hop * [1, 0] - corner).T)]
        by_y = padded[tuple((old + hop * [0, 1] - corner).T)]
        assert (by_x | by_y).all(), "a point slipped through a corner"
        line = np.abs(after - new)
        assert line.max() <= 0.5 - HAIR / 2, "a point stands on a grid line"
        drift = (after - before) * np.sign(move)
        assert (drift <= np.abs(move) + REPULSION).all()
        assert (drift >= -REPULSION).all()


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_exact_arithmetic(name, kind):
    layout = get_layout(MAPS[name])
    rng = np.random.default_rng(2)
    step = Motion(layout)
    cells = layout.cells[rng.integers(len(layout.cells), size=300)]
    position = cells + rng.uniform(-0.5 + 1e-6, 0.5 - 1e-6, (300, 2))
    move = moves(kind, position, rng)
    if kind in ("graze", "line"):  # through the corner itself both ways round are right
        move = np.clip(move + rng.choice([-1e-6, 1e-6], (300, 2)), -1, 1)
    after = step(position, move, NoPush(np.random.PCG64(0)))
    expected = np.array(
        [exact_step(layout, p, m) for p, m in zip(position, move, strict=True)]
    )
    np.testing.assert_allclose(after, expected, rtol=0, atol=3e-9)


def test_a_wall_stops_one_axis_and_lets_the_other_slide():
    layout = Layout.from_ascii("####\n#SG#\n####")
    start = layout.starts[0].astype(float)
    after = Motion(layout)(
        start[None], np.array([[0.7, 1.0]]), np.random.default_rng(0)
    )[0]
    assert after[0] == start[0] + 0.7
    assert start[1] + 0.5 - REPULSION <= after[1] < start[1] + 0.5


def test_repulsion_is_random_and_small():
    layout = Layout.from_ascii("####\n#SG#\n####")
    start = np.repeat(layout.starts.astype(float), 1000, axis=0)
    after = Motion(layout)(
        start, np.tile([-1.0, 0.0], (1000, 1)), np.random.default_rng(0)
    )
    gap = after[:, 0] - (start[:, 0] - 0.5)
    assert gap.min() > 0
    assert gap.max() <= REPULSION + 1e-12
    assert abs(gap.mean() - REPULSION / 2) < 3e-4


def test_float_rounding_cannot_skip_a_cell():
    """31.5 - 2^-48 + 1 rounds up to 32.5, which is two cells away."""
    cells = "\n" + "S" + "." * 39 + "G"
    layout = get_layout(cells)
    edge = np.nextafter(31.5, 0.0)
    after = Motion(layout)(
        np.array([[edge, 0.0]]), np.array([[1.0, 0.0]]), np.random.default_rng(0)
    )
    assert np.rint(after[0, 0]) == 32
