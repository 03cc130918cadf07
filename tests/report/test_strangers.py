"""Folders of strangers: damaged cells, and configs that ask for more than reading."""

import json

import pytest

from folders import make_run, save_policy
from sfp.cli import main
from sfp.errors import SfpError
from sfp.files import write_checksums
from sfp.report.html import write_report
from sfp.training.trained import Trained

HUGE = "1" + "0" * 400


@pytest.mark.parametrize("name", ["eval", "train"])
@pytest.mark.parametrize("cell", [HUGE, "9" * 5000, "1e400", "nan", "x", "²"])
def test_one_damaged_cell_does_not_end_a_report(tmp_path, name, cell):
    make_run(tmp_path / "good")
    for place in (0, 1):
        bad = make_run(tmp_path / f"bad{place}", seed=1 + place)
        path = bad / f"{name}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        fields = lines[2].split(",")
        fields[place] = cell
        lines[2] = ",".join(fields)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    written = write_report(tmp_path, tmp_path / "report.html")
    assert any("bad0" in warning for warning in written.warnings)
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("cell", [HUGE, "1e400", "nan"])
def test_a_foreign_table_with_huge_numbers(tmp_path, cell):
    make_run(tmp_path / "good")
    table = f"explorer,coverage,coverage_std\na,{cell},{cell}\n"
    (tmp_path / "explore-room.csv").write_text(table, encoding="utf-8")
    main(["report", str(tmp_path), "--json"])
    assert "explore-room" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"task": 5}, "is no policy's: task is '5'"),
        ({"depth": "2"}, "is no policy's: depth is '2'"),
        ({"more": 1}, "is no policy's: missing or unknown: more"),
        ({"task": "planted:Env-v0"}, "pass --task planted:Env-v0 if you trust it"),
    ],
)
def test_a_policy_that_asks_for_more(tmp_path, capsys, monkeypatch, change, reason):
    (tmp_path / "planted.py").write_text("raise SystemExit('code ran')")
    monkeypatch.syspath_prepend(tmp_path)
    save_policy(tmp_path / "run", "maze")
    policy = tmp_path / "run" / "policy"
    config = json.loads((policy / "config.json").read_text()) | change
    (policy / "config.json").write_text(json.dumps(config))
    (policy / "SHA256SUMS").unlink()
    write_checksums(policy)  # a stranger's folder is sound in itself
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(tmp_path / "run"), "--episodes", "1"])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    if "planted" not in reason:
        with pytest.raises(SfpError):
            Trained.load(policy)
