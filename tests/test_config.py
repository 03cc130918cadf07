import math
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from sfp.config import Mixture, Networks, Schedule, settle
from sfp.errors import SfpError


@pytest.mark.parametrize(
    ("group", "settings", "message"),
    [
        (Schedule, {"steps": 0}, "steps of at least 1, received 0"),
        (Schedule, {"batch": 0}, "batch of at least 1, received 0"),
        (Schedule, {"iteration": -1}, "iteration of at least 1, received -1"),
        (Schedule, {"n_step": 0}, "n_step of at least 1, received 0"),
        (Schedule, {"warmup": -1}, "warmup of at least 0, received -1"),
        (Schedule, {"capacity": 99}, r"at least a batch \(100\), received 99"),
        (Schedule, {"capacity": 2, "batch": 1}, "received 2"),
        (Schedule, {"gamma": 1.0}, r"gamma within \[0, 1\), received 1.0"),
        (Schedule, {"gamma": math.nan}, r"gamma within \[0, 1\), received nan"),
        (Networks, {"width": 0}, "width of at least 1, received 0"),
        (Networks, {"alpha": 0.0}, "alpha above 0, received 0.0"),
        (Networks, {"learning_rate": 0.0}, "learning_rate above 0, received 0.0"),
        (Networks, {"learning_rate": math.nan}, "learning_rate above 0, received nan"),
        (Networks, {"polyak": 1.5}, r"polyak within \[0, 1\], received 1.5"),
        (Mixture, {"mixing_start": 1.0}, r"mixing_start within \(0, 1\), received 1.0"),
        (Mixture, {"mixing_fixed": -0.1}, r"mixing_fixed within \[0, 1\]"),
        (Mixture, {"bank": -1}, "bank of at least 0, received -1"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_in_one_line(group, settings, message):
    with pytest.raises(SfpError, match=message) as caught:
        group(**settings)
    assert "\n" not in str(caught.value)


def test_the_defaults_are_the_tables_of_the_paper():
    schedule, mixture = settle(Schedule(), {}), settle(Mixture(), {})
    networks = Networks()
    assert (schedule.batch, schedule.n_step, schedule.gamma) == (100, 10, 0.99)
    assert (schedule.kept, schedule.warmup) == (500_000, 10_000)
    assert (networks.width, networks.depth) == (256, 2)
    assert (networks.learning_rate, networks.polyak) == (1e-3, 0.995)
    assert (mixture.mixing_width, mixture.mixing_depth) == (128, 2)
    assert (mixture.mixing_start, mixture.mixing_gradient_scale) == (0.95, 1e-9)


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        ("context", "steam", "context 'steam': did you mean stream"),
        ("entropy_weight", "half", "entropy_weight 'half': known: full, mixed"),
        ("mixing_loss_at", "nxt", "mixing_loss_at 'nxt': did you mean next"),
        ("td_value", "mean", "td_value 'mean': known: best, expected, policy"),
    ],
)
def test_a_word_that_means_nothing_is_refused_not_taken_for_the_default(
    name, word, message
):
    """Without the types that only tests check: users meet `__post_init__` alone."""
    given = SimpleNamespace(**(asdict(Mixture()) | {name: word}))
    with pytest.raises(SfpError, match=message):
        Mixture.__post_init__(given)
