"""What reaches a terminal, a closed stream, or a locale without UTF-8: one line."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from sfp.cli import console as printing
from sfp.cli import main
from sfp.errors import SfpError, plain
from sfp.progress import progress

NASTY = "[/b]\x1b]0;title\x07\x9b2J\u202e"
SPELT = r"[/b]\x1b]0;title\x07\x9b2J\u202e"
ROOT = Path(__file__).parent.parent


def test_control_characters_are_spelt():
    assert plain(NASTY) == SPELT
    assert plain("λ\tç\n") == "λ\tç\n"
    assert str(SfpError(f"x {NASTY}")) == f"x {SPELT}"


@pytest.mark.parametrize("wide", [False, True])
def test_tables_take_names_as_they_are(capsys, monkeypatch, wide):
    monkeypatch.setattr(
        printing, "_Console", lambda **_: Console(width=200 if wide else 20)
    )
    rows = [{"name": NASTY, NASTY: "[red]x", "value": 1.0, "last": "y" * 30}]
    printing.show(rows, json=False, title=NASTY, head=[NASTY], notes=[NASTY])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\x9b" not in said
    assert said.count("title") >= 3


def test_progress_takes_names_as_they_are(monkeypatch):
    seen = io.StringIO()
    monkeypatch.setattr(
        "sfp.progress.Console",
        lambda **_: Console(file=seen, force_terminal=True, width=200),
    )
    with progress(NASTY, 3) as advance:
        advance(1, label=f"now {NASTY}")
    assert SPELT in seen.getvalue()
    assert "\x1b]0;" not in seen.getvalue()


@pytest.mark.parametrize("word", ["\ud800", "a\0b"])
def test_words_that_are_no_text(capsys, word):
    with pytest.raises(SystemExit) as end:
        main(["train", "room", "--method", "sac", "--out", word])
    assert end.value.code == 2
    line = capsys.readouterr().err
    assert line == f"sfp: {word!a} is no text: expected words as a shell has them.\n"


@pytest.mark.parametrize("option", ["--steps", "--capacity", "--bank", "--seed"])
def test_numbers_beyond_64_bit_on_the_command_line(capsys, option):
    with pytest.raises(SystemExit) as end:
        main(["train", "maze", "--out", "never", option, str(10**30)])
    assert end.value.code == 2
    name = option.removeprefix("--")
    assert f"{name} within 64 bit, received one of 100 bit" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["reproduce", "transfer", "--dry-run", "--seeds", "0", str(2**63)],
        ["explore", "room", "--position", str(2**63)],
        ["report", ".", "--window", str(-(2**63))],
    ],
)
def test_such_numbers_in_any_command(capsys, words):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert "within 64 bit, received one of 64 bit" in capsys.readouterr().err


def run(words, redirect=""):
    """In a process whose locale knows ASCII only."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C"}
    env |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    shell = ["sh", "-c", f'exec "$@" {redirect}', "sh"]
    command = [*shell, sys.executable, "-m", "sfp", *words]
    return subprocess.run(command, env=env, capture_output=True, timeout=120)


@pytest.mark.slow
def test_a_report_where_the_locale_is_ascii(tmp_path):
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    config = '{"task": "λ", "method": "sfp", "seed": 0}'
    (run_folder / "config.json").write_text(config, encoding="utf-8")
    (run_folder / "eval.csv").write_text(
        "step,eval/mean_reward\n100,1.0\n", encoding="utf-8"
    )
    done = run(["report", str(tmp_path)])
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1  # the warning: no SHA256SUMS in that folder
    assert "λ" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_closed_stderr(tmp_path):
    """What is opened next must not take its number."""
    done = run(["report", str(tmp_path / "nowhere")], "2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")
    done = run(["list", "tasks"], "2>&-")
    assert done.returncode == 0
    assert b"maze" in done.stdout
