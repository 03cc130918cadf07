import numpy as np
import pytest

from sfp.data.novelty import novelty


def slowly(places, seen, itself):
    """The definition, pair by pair."""
    scale = [column.std() or 1.0 for column in seen.T.astype(np.float64)]
    nearest = []
    for i, place in enumerate(places):
        others = [
            np.linalg.norm((place - other) / scale)
            for j, other in enumerate(seen)
            if not itself[i, j]
        ]
        nearest.append(min(others, default=np.inf))
    known = [d for d in nearest if np.isfinite(d)]
    return [np.log1p(d / np.mean(known)) if np.isfinite(d) else 0.0 for d in nearest]


def test_novelty_against_a_slow_loop():
    rng = np.random.default_rng(0)
    visited = rng.normal(size=(40, 3)).astype(np.float32) * [1.0, 100.0, 0.0] + 7.0
    after, seen = rng.integers(40, size=30), rng.integers(40, size=20)
    itself = after[:, None] == seen[None]
    assert itself.any()
    found = novelty(visited[after], visited[seen], itself)
    np.testing.assert_allclose(
        found, slowly(visited[after], visited[seen], itself), rtol=1e-4
    )


def test_a_place_far_from_all_others_is_newest_whatever_its_units():
    seen = np.random.default_rng(0).normal(size=(50, 2))
    places = np.concatenate([seen[:5], [[9.0, 0.0]]])
    itself = np.zeros((6, 50), bool)
    for units in ([1.0, 1.0], [1e-3, 1e3]):
        assert novelty(places * units, seen * units, itself).argmax() == 5


@pytest.mark.parametrize("itself", [False, True])
def test_where_nothing_differs_all_is_equally_new(itself):
    places = np.full((3, 2), 0.5)
    assert (novelty(places, places, np.full((3, 3), itself)) == 1.0).all()
