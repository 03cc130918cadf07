"""What `sfp report --figures` saved can be read again, and gives the same."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from folders import make_experiment, make_grid
from sfp.cli import main
from sfp.report import plots
from sfp.report.claims import check
from sfp.report.groups import group_runs
from sfp.report.results import read_results
from sfp.report.saved import read_section

CLAIMS = [
    {"text": "more", "better": "SFP", "worse": "SAC", "tasks": ["maze", "corridor"]},
    {"text": "none", "better": "", "worse": "SAC", "tasks": ["maze"]}
    | {"measure": "solved"},
]


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "save", lambda _, path: path)  # figures take long
    make_grid(tmp_path / "out")
    make_experiment(tmp_path / "out", claims=CLAIMS, aggregate=["maze", "corridor"])
    report(tmp_path / "out", tmp_path / "saved")
    return tmp_path / "saved"


def report(folder, figures):
    main(["report", str(folder), "--figures", str(figures), "--no-replays"])


@pytest.mark.slow
def test_tables_give_the_same_tables(saved, tmp_path):
    report(saved, tmp_path / "again")
    (saved / "report.html").unlink()
    files = sorted(path.relative_to(saved) for path in saved.rglob("*.*"))
    assert {file.name for file in files} >= {"claims.csv", "tables.md", "section.json"}
    for file in files:
        assert (tmp_path / "again" / file).read_text() == (saved / file).read_text()


@pytest.mark.slow
def test_verdicts_follow_what_the_tables_say(saved, tmp_path):
    path = saved / "transfer" / "runs.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["method"] == "SAC":
            row["return"] = "900"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    report(saved, tmp_path / "again")
    with (tmp_path / "again/transfer/claims.csv").open(newline="") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    assert verdicts == ["does not", "too few runs: needs 7"]


@pytest.mark.slow
def test_runs_come_before_tables(saved, tmp_path):
    saved.rename(tmp_path / "out" / "figures")
    (section,) = read_results(tmp_path / "out").sections
    assert section.runs[0].config


@pytest.mark.slow
@pytest.mark.parametrize("name", ["runs", "summary", "curves"])
def test_damaged_tables_are_named(saved, name):
    (saved / "transfer" / f"{name}.csv").write_text("a,b\n1,2\n")
    with pytest.raises(Exception, match="its tables are damaged"):
        read_results(saved)


@pytest.mark.slow
def test_an_unfinished_run_stays_unfinished(saved):
    path = saved / "transfer" / "summary.csv"
    path.write_text(path.read_text().replace("True", "False", 1))
    (section,) = read_results(saved).sections
    assert [run.end is None for run in section.runs].count(True) == 1
    about = json.loads((saved / "transfer" / "section.json").read_text())
    assert [claim["text"] for claim in about["claims"]] == ["more", "none"]


RESULTS = sorted((Path(__file__).parents[2] / "results").glob("*/*/section.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_committed_verdicts_follow_from_the_committed_runs(path):
    section = read_section(path.parents[1], path, [])
    groups, _ = group_runs(section.runs)
    found = check(section.claims, groups, np.random.default_rng(0))
    with path.with_name("claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [one.verdict for one in found] == [row["verdict"] for row in rows]
    p = [str(one.pair.test.more) if one.pair else "" for one in found]
    assert p == [row["p"] for row in rows]


def test_there_are_committed_results():
    assert len(RESULTS) == 8
