"""Generated mazes: what holds for every seed."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from sfp.envs.generator import CHOOSING, REPORTING, SIZES, generate
from sfp.envs.layout import NEIGHBOURS
from sfp.errors import SfpError

WAYS = {"small": (40, 70), "medium": (80, 120), "large": (140, 200)}
SEEDS = [*range(0, 70), *range(1000, 1070), 2**32 - 1]


def neighbours(layout):
    """The free neighbours of every free cell."""
    cells = {tuple(cell) for cell in layout.cells.tolist()}
    return {
        (x, y): [(x + i, y + j) for i, j in NEIGHBOURS if (x + i, y + j) in cells]
        for x, y in cells
    }


def distances(near, goal):
    """Steps from every cell to the goal."""
    found, queue = {goal: 0}, [goal]
    for cell in queue:
        for other in near[cell]:
            if other not in found:
                found[other] = found[cell] + 1
                queue.append(other)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_every_maze_is_solvable_far_and_full_of_dead_ends(size):
    least, most = WAYS[size]
    for seed in SEEDS:
        layout = generate(seed, size)
        (start,), (goal,) = (
            map(tuple, c.tolist()) for c in (layout.starts, layout.goals)
        )
        near = neighbours(layout)
        distance = distances(near, goal)
        # Every free cell is joined to the goal, and none is farther than the start.
        assert len(distance) == layout.free.sum()
        assert least <= distance[start] <= most
        assert max(distance.values()) == distance[start]
        degrees = {cell: len(others) for cell, others in near.items()}
        # A tree: one passage less than there are cells, so no loop and one way only.
        assert sum(degrees.values()) // 2 == len(degrees) - 1
        ends = {cell for cell, degree in degrees.items() if degree == 1}
        assert {start, goal} <= ends
        assert len(ends) - 2 >= {"small": 2, "medium": 4, "large": 6}[size]
        assert max(degrees.values()) >= 3


@pytest.mark.slow
def test_the_ways_span_40_to_200_and_differ():
    ways = {size: [generate(s, size).shortest_way for s in range(20)] for size in SIZES}
    assert min(ways["small"]) < 50
    assert max(ways["large"]) > 180
    for size, found in ways.items():
        assert len(Counter(found)) >= 4, size


@pytest.mark.slow
def test_the_same_seed_gives_the_same_maze_and_others_give_others():
    generate.cache_clear()
    one = {size: generate(3, size).to_ascii() for size in SIZES}
    generate.cache_clear()
    assert one == {size: generate(3, size).to_ascii() for size in SIZES}
    assert len({generate(seed, "small").to_ascii() for seed in range(200)}) == 200
    # The bits that a seed means, in every version: results refer to them.
    text = "\n".join(one.values()).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == "ff0981e751c76c43"


def test_seeds_for_choosing_and_for_reporting_are_disjoint():
    assert not set(CHOOSING) & set(REPORTING)
    assert min(len(CHOOSING), len(REPORTING)) >= 100


@pytest.mark.slow
def test_start_and_goal_are_not_always_on_the_same_side():
    starts = np.array([generate(s, "small").starts[0] for s in range(100)])
    goals = np.array([generate(s, "small").goals[0] for s in range(100)])
    assert 0.25 < (starts[:, 0] < goals[:, 0]).mean() < 0.75


def test_an_unknown_size():
    with pytest.raises(
        SfpError, match="unknown size of a maze 'larg': did you mean large"
    ):
        generate(0, "larg")
