"""How many past actions: what is chosen, and why."""

import numpy as np
import pytest

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
from sfp.exploration.choose import Candidate, choose, find_past_actions
from sfp.priors.fit import Fitting

TINY = Fitting(epochs=1, epoch_steps=4, batch=64)


def candidates(*rows):
    return [Candidate(k, nats, 1.0, *rest) for k, nats, *rest in rows]


@pytest.mark.parametrize(
    ("rows", "chosen", "why"),
    [
        ([(0, -1.0), (1, 2.49), (2, 2.50), (5, 2.3)], 1, "2.490 nats"),
        ([(1, 2.0, 0.6, 0.02, 1.0), (10, 2.5, 0.3, 0.02, 1.0)], 1, "60.0%"),
        ([(1, 2.0, 0.60, 0.02, 1.0), (2, 2.5, 0.59, 0.02, 1.0)], 2, "likeliest"),
        ([(1, 2.0, 0.0, 0.0, 0.9), (2, 2.5, 0.0, 0.0, 0.5)], 1, "covers 0.90"),
    ],
)
def test_goals_decide_then_coverage_then_likelihood(rows, chosen, why):
    best, told = choose(candidates(*rows))
    assert best.past_actions == chosen
    assert why in told


def data(low=-1.0, high=1.0, dims=2, steps=30):
    rng = np.random.default_rng(0)
    smooth = np.sin(np.cumsum(0.3 * rng.standard_normal((20, steps, dims)), axis=1))
    return Trajectories(
        (smooth.reshape(-1, dims) * high).astype(np.float32),
        np.arange(1, 21) * steps,
        np.full(dims, low, np.float32),
        np.full(dims, high, np.float32),
    )


@pytest.mark.slow
def test_candidates_are_fitted_explore_and_are_told_of(monkeypatch):
    monkeypatch.setattr("sfp.exploration.choose.CANDIDATES", (0, 2, 50))
    monkeypatch.setattr("sfp.exploration.choose.EPISODES", {True: 3, False: 1})
    how = {"model": "gaussian", "fitting": TINY, "seed": 0}
    chosen, notes = find_past_actions(data(), "auto", state=False, env="maze", **how)
    assert chosen.past_actions in (0, 2)  # no episode has 50 actions
    assert [note.split(",")[0] for note in notes[:-1]] == [
        "past actions 0",
        "past actions 2",
    ]
    assert "coverage" in notes[0]
    assert notes[-1].startswith(f"Chosen: {chosen.past_actions} past actions: ")
    again, told = find_past_actions(data(), "auto", state=False, env="maze", **how)
    assert (again, told) == (chosen, notes)


def test_a_number_is_taken_as_it_is_but_the_environment_must_fit():
    chosen, notes = find_past_actions(data(), 3, state=False, env="maze")
    assert (chosen.past_actions, notes) == (3, [])
    with pytest.raises(SfpError, match=r"within \[-2, 2\].*the environment"):
        find_past_actions(data(-2.0, 2.0), 3, state=False, env="maze")
    with pytest.raises(SfpError, match="3 dimensions, the environment takes 2"):
        find_past_actions(data(dims=3), "auto", state=False, env="maze")
    with pytest.raises(SfpError, match="auto is for state-free priors"):
        find_past_actions(data(), "auto", state=True, env=None)
