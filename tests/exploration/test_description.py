"""What `sfp data` says about recordings, and each warning exactly when it is due."""

from dataclasses import replace

import numpy as np
import pytest

from sfp.data.trajectories import Trajectories, assemble
from sfp.exploration.description import describe, noisy_episodes

WARNINGS = {
    "constant": "is constant",
    "discrete": "takes few distinct values",
    "saturated": "sit on a bound",
    "outside": "lie outside",
    "repeated": "repeat the one before",
    "little": "uses little of its range",
    "uncorrelated": "hardly correlated",
    "noisy": "without any correlation",
    "few": "a prior wants tens of thousands",
    "bounds": "does not say the action bounds",
}


def smooth(steps=10_000, episodes=20, dims=2, seed=0, amplitude=0.6):
    """Correlated, continuous, inside the bounds: nothing to complain about."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 2 * np.pi, (episodes, 1, dims))
    time = np.arange(steps // episodes)[:, None]
    wave = amplitude * np.sin(time / 7 + phase) + 0.02 * rng.standard_normal(
        (episodes, len(time), dims)
    )
    return wave.astype(np.float32)


def data(values, **options):
    options = {"low": -np.ones(values.shape[2]), "high": np.ones(values.shape[2])} | (
        options
    )
    return assemble([{"actions": v} for v in values], source="here", **options)


def kinds(found):
    """Which warnings there are, and that each is known."""
    result = []
    for line in found.warnings:
        matching = [kind for kind, text in WARNINGS.items() if text in line]
        assert len(matching) == 1, line
        result += matching
    return result


def test_good_recordings_have_no_warnings():
    assert kinds(describe(data(smooth()))) == []


def altered(kind):
    """Good recordings with one thing wrong in dimension 1."""
    values, rng = smooth(), np.random.default_rng(1)
    column = values[:, :, 1]
    if kind == "constant":
        column[:] = 0.25
    elif kind == "discrete":
        column[:] = np.where(column > 0, 1, -1)
    elif kind == "saturated":
        column[rng.random(column.shape) < 0.02] = 1
    elif kind == "outside":
        column[3, 7] = 1.25
    elif kind == "repeated":
        column[:] = np.repeat(column[:, ::2], 2, axis=1)
    elif kind == "little":
        column *= 0.02
    elif kind == "uncorrelated":
        values[:] = rng.uniform(-0.9, 0.9, values.shape)
    elif kind == "noisy":
        values[[2, 11]] = rng.uniform(-0.9, 0.9, values[:2].shape)
    elif kind == "few":
        return data(values[:, :499])
    elif kind == "bounds":
        return data(values, low=None, high=None)
    return data(values)


@pytest.mark.parametrize("kind", WARNINGS)
def test_each_warning_appears_alone(kind):
    found = describe(altered(kind))
    assert kinds(found) == [kind]
    if kind not in ("uncorrelated", "noisy", "few", "bounds"):
        assert found.warnings[0].startswith("dimension 1")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("constant", "dimension 1 is constant (0.25): there is nothing to learn"),
        ("discrete", "dimension 1 takes few distinct values, discrete (2): a density"),
        ("outside", "dimension 1: 0.01% of the actions lie outside [-1, 1]; they wil"),
        ("repeated", "dimension 1: 50.1% of the actions repeat the one before exactl"),
        ("few", "only 9980 steps: a prior wants"),
    ],
)
def test_words(kind, message):
    assert describe(altered(kind)).warnings[0].startswith(message)


def test_thresholds():
    values = smooth()
    values[:, :4, 0] = 1  # 4 of 500: 0.8 %
    assert kinds(describe(data(values))) == []
    values[:, :6, 0] = 1  # 1.2 %, and 5 of 499 repeat
    assert kinds(describe(data(values))) == ["saturated"]
    values = smooth()
    values[:, 1:26, 0] = values[:, :1, 0]  # 25 of 499 repeat: 5.01 %
    assert kinds(describe(data(values))) == ["repeated"]
    values[:, 25, 0] += 0.1  # 24 of 499
    assert kinds(describe(data(values))) == []
    for deviation, expected in ((0.041, []), (0.039, ["little"])):  # of a range of 2
        values = smooth()
        values[:, :, 0] *= deviation / values[:, :, 0].std()
        assert kinds(describe(data(values))) == expected
    many = smooth()
    many[:, :, 0] = np.round(8 * many[:, :, 0] / 0.68) / 8  # 17 values
    assert len(np.unique(many[:, :, 0])) == 17
    assert "discrete" not in kinds(describe(data(many)))


def test_saturation_counts_what_is_a_rounding_away_from_the_bound():
    values = smooth()
    values[:, ::10, 0] = np.float32(1 - 1e-6)
    values[:, 1::10, 0] = np.float32(-1 + 1e-6)
    row = describe(data(values)).rows[0]
    assert row["saturated"] == pytest.approx(0.2)
    assert row["outside"] == 0


def test_noise_among_good_recordings_is_found():
    good = data(smooth())
    spoiled = good.replace_by_uniform(0.25, np.random.default_rng(3))
    changed = [
        e
        for e in range(len(good))
        if (good.actions != spoiled.actions)[good.starts[e] : good.ends[e]].any()
    ]
    assert noisy_episodes(spoiled, [0, 1]).tolist() == changed
    assert len(changed) == round(0.25 * len(good))
    (warning,) = describe(spoiled).warnings
    assert warning.startswith(f"{len(changed)} of {len(good)} episodes ({changed[0]}, ")
    assert not describe(good).warnings
    kept = spoiled.select(np.setdiff1d(np.arange(len(good)), changed))
    assert kinds(describe(kept)) == ["few"]


def test_short_and_still_episodes_are_not_called_noise():
    rng = np.random.default_rng(0)
    pieces = [rng.uniform(-1, 1, (5, 2)), np.full((60, 2), 0.5), smooth()[0]]
    found = assemble(
        [{"actions": piece} for piece in pieces],
        source="here",
        low=-np.ones(2),
        high=np.ones(2),
    )
    assert noisy_episodes(found, [0, 1]).tolist() == []


def test_alternating_actions_are_correlated_though_negatively():
    values = np.random.default_rng(0).uniform(0.2, 0.9, (20, 500, 1)).astype(np.float32)
    values[:, ::2] *= -1
    found = describe(data(values))
    assert found.rows[0]["correlation"] < -0.8
    assert kinds(found) == []


def test_one_correlated_dimension_is_enough():
    values = smooth()
    values[:, :, 0] = np.random.default_rng(0).uniform(-1, 1, values.shape[:2]) * 0.9
    assert kinds(describe(data(values))) == []


def test_constants_alone_are_not_called_uncorrelated():
    values = np.full((20, 500, 2), 0.5, np.float32)
    assert kinds(describe(data(values))) == ["constant", "constant"]


def test_numbers_by_hand():
    actions = np.float32([[0, 1], [0.5, 1], [0.5, -1], [-1, 1], [2, 1]])
    data = Trajectories(
        actions,
        ends=np.array([3, 5]),
        low=np.float32([-1, -1]),
        high=np.float32([1, 1]),
        source="by hand",
        rate=25.0,
        observations=np.zeros((5, 1)),
    )
    found = describe(data)
    assert found.summary == {
        "source": "by hand",
        "episodes": 2,
        "steps": 5,
        "shortest": 2,
        "median": 2.5,
        "longest": 3,
        "dimensions": 2,
        "rate": 25.0,
        "columns": "actions, observations",
        "bounds": "declared",
        "fingerprint": found.summary["fingerprint"],
    }
    first, second = found.rows
    assert first["dimension"] == 0
    assert "name" not in first
    named = describe(replace(data, names=("x", "grip")))
    assert [row["name"] for row in named.rows] == ["x", "grip"]
    assert any("dimension 0 (x): 20.00%" in line for line in named.warnings)
    assert (first["low"], first["high"], first["min"], first["max"]) == (-1, 1, -1, 2)
    assert first["mean"] == pytest.approx(0.4)
    assert first["std"] == pytest.approx(np.sqrt(1.1 - 0.16))
    assert first["saturated"] == 2 / 5  # -1, and 2 that will be clipped to 1
    assert first["outside"] == 1 / 5
    assert first["repeated"] == 1 / 3  # 0.5 after 0.5; -1 after 0.5 is a new episode
    before, after = np.array([0, 0.5, -1]), np.array([0.5, 0.5, 2])
    expected = np.corrcoef(before, after)[0, 1]
    assert first["correlation"] == pytest.approx(expected)
    assert first["kind"] == "continuous"
    assert second["saturated"] == 1
    assert second["repeated"] == 2 / 3
    assert second["correlation"] == 0  # what came before was 1 each time
    assert all(list(row) == list(first) for row in found.rows)


def test_episode_boundaries_are_not_crossed():
    """Within episodes the sign alternates; from one to the next it is repeated."""
    episode = np.float32([[0.5], [-0.5], [0.5], [-0.5]])
    found = describe(data(np.stack([episode, -episode] * 50)))
    assert found.rows[0]["repeated"] == 0
    assert found.rows[0]["correlation"] == pytest.approx(-1)


def test_low_frequency_is_the_share_slower_than_twenty_steps():
    time = np.arange(500)
    slow, fast = np.sin(2 * np.pi * time / 50), np.sin(2 * np.pi * time / 5)
    values = np.stack([slow, fast, slow + fast, 0 * slow], axis=1) / 2.5
    row = describe(data(np.stack([values] * 3).astype(np.float32))).rows
    shares = [r["low_frequency"] for r in row]
    np.testing.assert_allclose(shares, [1, 0, 0.5, 0], atol=1e-5)


def test_huge_bounds_and_data_outside_of_them_do_not_overflow():
    values = smooth()
    huge = np.full(2, 3.4e38)
    found = describe(data(values, low=-huge, high=huge))
    assert kinds(found) == ["little", "little"]
    assert found.rows[0]["saturated"] == 0
    found = describe(data(values + 50))
    assert [row["outside"] for row in found.rows] == [1, 1]
