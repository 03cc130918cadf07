"""The map of places, against slow searches."""

import numpy as np
import pytest

from sfp.data.places import REMEMBERED, Places


def test_near_points_are_one_place_and_distances_have_units():
    places = Places(np.array([1.0, 10.0]), apart=1.0)
    assert places.visit(np.array([0.0, 0.0])) == 0
    assert places.visit(np.array([0.9, 0.0])) == 0
    assert places.visit(np.array([0.0, 9.0])) == 0
    assert places.visit(np.array([1.1, 0.0])) == 1
    assert places.visit(np.array([0.8, 0.0])) == 1  # the nearest, not the first
    assert places.visits.tolist() == [3, 2]


def test_there_is_no_end_of_places():
    places = Places(np.ones(1), apart=0.4)
    found = [places.visit(np.array([float(x)])) for x in [*range(200), *range(200)]]
    assert found == [*range(200)] * 2
    assert places.visits.tolist() == [2] * 200


@pytest.mark.parametrize("seed", range(5))
def test_ways_are_the_shortest(seed):
    rng, count = np.random.default_rng(seed), 30
    places = Places(np.ones(1), apart=0.1)
    for x in range(count):
        places.visit(np.array([float(x)]))
    length = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
    for here, there in rng.integers(count, size=(50, 2)):
        places.join(int(here), int(there), np.array([here, there]))
        if here != there:
            length[here, there] = 1.0
    for over in range(count):  # Floyd and Warshall
        length = np.minimum(length, length[:, [over]] + length[[over]])
    for target in range(count):
        way = places.way_to(target)
        for here in range(count):
            assert way.knows(here) == np.isfinite(length[here, target])
            if not way.knows(here):
                continue
            assert way.length[here] == length[here, target]
            walked, steps = here, 0
            while walked != target:
                following = int(way.next[walked])
                np.testing.assert_array_equal(
                    places.action(walked, following, rng), [walked, following]
                )
                walked, steps = following, steps + 1
            assert steps == length[here, target]


def test_who_leaves_the_way_comes_back_to_it_from_near():
    places = Places(np.ones(1), apart=1.0)
    first, second = (places.visit(np.array([x])) for x in (0.0, 2.0))
    places.join(first, second, np.zeros(1))
    way = places.way_to(second)
    later = places.visit(np.array([-1.9]))
    assert not way.knows(later)
    assert places.on_the_way(np.array([-1.9]), way) == first
    assert places.on_the_way(np.array([-2.1]), way) == -1
    assert places.on_the_way(np.array([1.1]), way) == second


def test_the_newest_actions_are_drawn_from():
    places, rng = Places(np.ones(1), apart=0.1), np.random.default_rng(0)
    here, there = (places.visit(np.array([x])) for x in (0.0, 1.0))
    for action in range(REMEMBERED + 3):
        places.join(here, there, np.array([action]))
    drawn = {int(places.action(here, there, rng)[0]) for _ in range(200)}
    assert drawn == set(range(3, REMEMBERED + 3))
