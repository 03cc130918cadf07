"""Solved: success in every episode, or a return, in two evaluations in a row."""

import gymnasium as gym
import pytest

import sfp
from sfp.envs.solved import Solved, as_return, known_threshold, threshold_of
from sfp.training.verdict import solved_at, verdict


def rows(*rates, returns=None):
    returns = returns or [0.0] * len(rates)
    return [
        {"step": 100 * i, "eval/success_rate": rate, "eval/mean_reward": value}
        for i, (rate, value) in enumerate(zip(rates, returns, strict=True), 1)
    ]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((), None),
        ((1.0,), None),
        ((1.0, 0.9, 1.0), None),
        ((0.0, 1.0, 1.0), 200),
        ((1.0, 0.9, 1.0, 1.0, 0.0), 300),
        ((None, None), None),
    ],
)
def test_solved_is_twice_in_a_row(rates, expected):
    assert solved_at(rows(*rates), Solved()) == expected


def test_a_run_without_tests_says_so():
    assert "ended before its first test (--eval-every)" in verdict([], Solved())


@pytest.mark.parametrize(
    ("rule", "success", "mean_return", "expected"),
    [
        (Solved(), None, 1e9, None),
        (Solved(), 1.0, -5.0, True),
        (Solved(), 0.9, 1e9, False),
        (Solved(threshold=90.0), None, 90.0, True),
        (Solved(threshold=90.0), None, 89.9, False),
        (Solved(threshold=90.0), 0.0, 95.0, False),  # the environment knows better
        (Solved(95.0, 90.0), None, 93.6, False),
        (Solved(95.0, 90.0), 0.0, 95.0, True),  # the user decides
    ],
)
def test_the_rule(rule, success, mean_return, expected):
    assert rule(success, mean_return) is expected


def test_a_mountain_car_is_solved_at_90():
    assert threshold_of(gym.make("MountainCarContinuous-v0")) == 90.0
    assert known_threshold("MountainCarContinuous-v0") == 90.0
    assert known_threshold("Pendulum-v1") is known_threshold("no/Such-v0") is None
    rule = Solved(threshold=90.0)
    seen = rows(None, None, None, returns=[-3.0, 93.6, 93.7])
    assert solved_at(seen, rule) == 200
    assert verdict(seen, rule) == (
        "Solved at step 200: a mean return of at least 90 (the reward_threshold of the "
        "environment), twice in a row."
    )
    assert verdict(seen, Solved(95.0, 90.0)) == (
        "Not solved: that takes a mean return of at least 95 (--solved-at), twice in a "
        "row."
    )
    assert "--solved-at RETURN sets one" in verdict(seen, Solved())
    assert "success in every test episode" in verdict(rows(0.0, 1.0), rule)


@pytest.mark.parametrize("held", ["90", True, float("nan"), float("inf"), [90], None])
def test_what_a_file_may_hold_is_no_return(held):
    assert as_return(held) is None


SMALL = dict(method="sac", steps=300, warmup=300, update_after=300, batch=8, width=8)
SMALL |= dict(eval_every=100, eval_episodes=1, capacity=500, log_every=100)


@pytest.mark.slow
def test_until_solved_and_the_folder_go_by_the_return(tmp_path):
    """Standing still costs a pendulum at most 16.3 a step, 3260 an episode."""
    given = SMALL | dict(until_solved=True, solved_at=-3300.0, out=tmp_path / "run")
    policy = sfp.train("Pendulum-v1", **given)
    assert policy.solved_at == 100
    assert [row["step"] for row in policy.evaluations] == [100, 200]
    again = sfp.train("Pendulum-v1", **given)
    assert again.solved_at == 100
    with pytest.raises(sfp.SfpError, match=r"solved_at -3300.0 -> -3400.0"):
        sfp.train("Pendulum-v1", **given | {"solved_at": -3400.0})
