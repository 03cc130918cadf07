"""Without a terminal: a line per evaluation and per epoch, on stderr."""

import sys

from sfp.progress import fitting_progress, training_progress


def test_a_line_per_evaluation(capsys):
    with training_progress("sfp on maze", 60_000) as (pulse, listen, prepared):
        prepared(0.5)
        prepared(1.0)
        pulse(50)
        listen(4000, {"charts/SPS": 400.0, "mixing/mean": 0.934})
        listen(4000, {"eval/mean_reward": 0.25, "eval/success_rate": 0.5})
        listen(60_000, {"eval/mean_reward": 1.0})
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "sfp on maze: learned from recordings",
        "sfp on maze: step 4,000 of 60,000, return 0.25, λ 0.93, success 50%, "
        "400 steps/s, about 0:02:20 left",
        "sfp on maze: step 60,000 of 60,000, return 1, λ 0.93, success 50%, "
        "400 steps/s",
    ]


def test_lambda_of_several_priors_is_shown_as_their_sum(capsys):
    weights = {"mixing/1": 0.4, "mixing/2": 0.5, "mixing/1/acted": 0.1}
    with training_progress("sfp on maze", 100) as (_, listen, _):
        listen(100, {"mixing/mean": 0.9, "eval/mean_reward": 1.0, **weights})
    assert "λ 0.90 = 0.400 + 0.500" in capsys.readouterr().err


def test_a_line_per_epoch(capsys):
    row = {"epoch": 1, "steps": 1000, "held_out": 0.5, "best": 0.5, "seconds": 2.04}
    with fitting_progress("fitting realnvp", 80, blocks=2) as advance:
        advance(1, None)
        advance(2, row)
        advance(3, row)
        advance(4, row | {"epoch": 2, "held_out": 0.25})
    with fitting_progress("fitting lscde", 80) as advance:
        advance(1, row | {"steps": 0})
    assert capsys.readouterr().err.splitlines() == [
        "fitting realnvp: epoch 1 of 80, held out 0.5000 nats, best 0.5000, 2.0 s",
        "fitting realnvp: epoch 2 of 80, held out 0.2500 nats, best 0.5000, 2.0 s",
        "fitting lscde: solved, held out 0.5000 nats, best 0.5000, 2.0 s",
    ]


def test_nobody_need_listen(monkeypatch, tmp_path):
    """Training goes on when whoever read its lines is gone."""
    closed = (tmp_path / "closed").open("w")
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    with training_progress("sac on room", 100) as (_, listen, _):
        listen(100, {"eval/mean_reward": 0.0})
