"""What people see of a grid while it runs."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from sfp.cli.watch import MARKS, Board, describe, draw, watching
from sfp.experiments.jobs import make_jobs
from sfp.experiments.plan import Overrides, make_plan
from sfp.experiments.progress import Progress
from sfp.experiments.schedule import Event


@pytest.fixture
def board():
    """Two runs, a prior and its data, and a walk."""
    given = Overrides(methods=("sfp", "actions-2"), tasks=("maze",), seeds=(0,))
    plans = [make_plan("conditioning", overrides=given), make_plan("psd")]
    return Board(plans, make_jobs(plans, Path("out")), 2)


def jobs(board):
    return {event.job.kind: event.job for event in board.known.values()}


def screen(board):
    console = Console(file=io.StringIO(), width=100)
    console.print(draw(board, MARKS))
    return console.file.getvalue()


def test_the_table_shows_every_run_and_how_far_it_is(board):
    text = screen(board)
    assert text.startswith("5 waiting; about 0:")
    assert [line.split() for line in text.splitlines() if "·" in line] == [
        ["1", "action", "·"],
        ["2", "actions", "·"],
    ]
    names = [e.job.name for e in board.known.values() if e.job.kind == "train"]
    for name, state in zip(names, ("running", "done"), strict=True):
        job = board.known[name].job
        board.hear(Event(job, state, Progress(4000, 0.5)))
    found = jobs(board)
    board.hear(Event(found["prior"], "running", Progress(3, held_out=2.5)))
    log = Path("out/logs/x.log")
    board.hear(Event(found["explore"], "failed", reason="no disk", log=log))
    text = screen(board)
    assert f"{names[0]}: step 4,000 of 40,000, success 50%" in text
    assert "epoch 3 of 80, held out 2.500" in text
    assert f"{found['explore'].name} failed: no disk (see out/logs/x.log)" in text
    assert "1 action   ▸" in text
    assert "2 actions  ✓" in text
    assert text.startswith("1 done, 2 running, 1 waiting, 1 failed; about ")


def test_jobs_describe_themselves(board):
    found = jobs(board)
    said = {kind: describe(Event(job, "running")) for kind, job in found.items()}
    assert said == {
        **{"data": "recording", "prior": "fitting", "explore": "walking"},
        "train": "step 0 of 40,000",
    }


def test_the_time_left_falls_with_what_is_done(board, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sfp.cli.watch.time.monotonic", lambda: now[0])
    plans, events = board.plans, board.known.values()
    board = Board(plans, [replace(e.job, cost=100.0) for e in events], 2)
    one, two, *others = [event.job for event in board.known.values()]
    assert board.left() == 5 * 100 / 2  # as estimated, on both cores
    board.hear(Event(one, "done"))  # was there before
    assert board.left() == 4 * 100 / 2
    board.hear(Event(two, "running"))
    now[0] = 50.0
    board.hear(Event(two, "done"))
    assert board.left() == 3 * 50.0  # one cost 50 seconds
    board.hear(Event(others[0], "done"))  # was there too, or was made elsewhere
    assert board.left() == 2 * 50.0
    half = Progress(others[1].total // 2)
    board.hear(Event(others[1], "running", half))  # was begun before
    assert board.left() == pytest.approx(1.5 * 50.0)
    for job in others:
        board.hear(Event(job, "failed", reason="no"))
    assert board.left() == 0.0


def test_elsewhere_it_is_a_line_per_change(board, capsys):
    run = jobs(board)["train"]
    with watching(board) as hear:
        for step in (0, 1000, 2000):
            hear(Event(run, "running", Progress(step)))
        hear(Event(run, "failed", reason="no disk", log=Path("x.log")))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" (")[0] for line in lines] == [
        f"running {run.name}",
        f"failed {run.name}: no disk: see x.log",
    ]
