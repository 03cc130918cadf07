"""`sfp report`: what it prints, where it writes, what it says of bad input."""

import json
import warnings

import pytest

from folders import make_grid, make_run
from sfp.cli import main
from sfp.report import plots


@pytest.fixture
def run(capsys):
    def run(*args):
        capsys.readouterr()
        code = 0
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            try:
                main(["report", *map(str, args)])
            except SystemExit as stop:
                code = stop.code
        return code, *capsys.readouterr()

    return run


def test_a_report_beside_the_runs(run, tmp_path):
    make_grid(tmp_path, seeds=2)
    make_run(tmp_path / "bad")
    (tmp_path / "bad" / "config.json").write_text("")
    code, out, err = run(tmp_path)
    assert code == 0
    assert (tmp_path / "report.html").is_file()
    assert f"Written: {tmp_path / 'report.html'}" in out
    assert err.count("\n") == 1
    assert err.startswith("sfp: warning: left out bad: ")
    assert "bad/config.json is damaged" in err


@pytest.mark.slow
def test_figures_for_print_and_one_document(run, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(plots, "save", lambda _, path: saved.append(path) or path)
    make_grid(tmp_path / "grid", seeds=1)
    out, figures = tmp_path / "r.html", tmp_path / "figures"
    code, text, _ = run(
        tmp_path / "grid", "--out", out, "--figures", figures, "--json", "--window", 2
    )
    held = json.loads(text)
    assert code == 0
    assert held["rows"][0] == {
        "section": "grid",
        "task": "corridor",
        "method": "sfp",
        "return": 100.0,
        "low": None,
        "high": None,
        "n": 1,
        "solved": 1,
        "solved_at": 300,
    }
    assert held["files"][0] == str(out)
    assert {path.parent for path in saved} == {figures / "grid"}


def test_bad_input_is_one_line(run, tmp_path):
    make_run(tmp_path / "a")
    (tmp_path / "file").write_text("")
    for args, reason in (
        ((tmp_path / "nowhere",), "is no folder"),
        ((tmp_path, "--out", tmp_path / "file" / "r.html"), "cannot write"),
        ((tmp_path, "--window", 0), "window of at least 1"),
    ):
        code, _, err = run(*args)
        assert code == 2
        assert err.count("\n") == 1
        assert reason in err
