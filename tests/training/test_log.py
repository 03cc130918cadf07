"""Tables: tidy, whole after a cut, and nothing unknown in them."""

import csv
import sys
from types import SimpleNamespace

import pytest

from faults import scalars
from sfp.errors import SfpError
from sfp.training.log import TABLES, Clock, Log, read_table
from sfp.training.track import track


@pytest.fixture
def log(tmp_path):
    """An open one."""
    log = Log(tmp_path)
    log.open(0)
    yield log
    log.close()


def rows(folder):
    return [(row["step"], row["losses/q"]) for row in read_table(folder, "train")]


def test_an_unknown_number_raises(log):
    with pytest.raises(
        SfpError, match=r"losses/typo: expected numbers that train\.csv"
    ):
        log.write("train", 50, {"losses/typo": 1.0})
    with pytest.raises(KeyError):
        log.write("trains", 50, {})
    assert log.rows["train"] == []


def test_rows_after_the_checkpoint_are_forgotten_and_a_cut_one_too(tmp_path, log):
    values = (0.1, -0.0, 1e-30, 12345678.9, float("nan"))
    for step, value in zip(range(50, 300, 50), values, strict=True):
        log.write("train", step, {"losses/q": value, "charts/episodes": 3.0})
    log.close()
    path = tmp_path / "train.csv"
    whole = path.read_text()
    assert whole.splitlines()[0] == ",".join(TABLES["train"])
    for cut in range(1, len(whole.splitlines()[-1])):
        path.write_text(whole[:-cut])
        assert len(read_table(tmp_path, "train")) == 4
    again = Log(tmp_path)
    again.open(150)
    assert rows(tmp_path) == [(50, 0.1), (100, 0.0), (150, 1e-30)]
    assert [type(row["step"]) for row in again.rows["train"]] == [int] * 3
    again.write("train", 200, {"losses/q": values[3], "charts/episodes": 3.0})
    again.write("train", 250, {"losses/q": values[4], "charts/episodes": 3.0})
    again.close()
    assert path.read_text() == whole
    steps = [step for tag, step, _ in scalars(tmp_path / "events") if tag == "losses/q"]
    assert steps == [50, 100, 150, 200]  # a NaN is no point of a curve


def test_listeners_hear_of_known_numbers_only():
    heard = []
    log = Log(None, (lambda step, row: heard.append((step, row)),))
    log.open(0)
    log.write("eval", 100, {"eval/mean_reward": 2.0, "eval/success_rate": None})
    assert heard == [(100, {"eval/mean_reward": 2.0})]
    assert log.rows["eval"][0]["eval/success_rate"] is None


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("0.25", "a quarter", "not made of numbers"),
        ("0.25", "0.25,,,,,,,,,,,,,,,,,,,,", "not made of numbers"),
        (",0.25,,,,,,,,,,,,\n", "\n", "not made of numbers"),
        ("\n50,", "\nfifty,", "not made of numbers"),
        ("losses/q,", "losses/v,", "other columns: another version"),
    ],
)
def test_damaged_tables_are_one_line(tmp_path, log, old, new, match):
    log.write("train", 50, {"losses/q": 0.25})
    path = tmp_path / "train.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(SfpError, match=match):
        read_table(tmp_path, "train")
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(SfpError, match="damaged"):
        read_table(tmp_path, "train")


def test_a_table_of_an_earlier_version_is_read_and_gone_on_with(tmp_path, log):
    log.write("train", 50, {"losses/q": 0.25, "mixing/mean": 0.5})
    log.close()
    path = tmp_path / "train.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name != "losses/kl"]
    line = ",".join(rows[0][name] for name in names)
    path.write_text(",".join(names) + "\n" + line + "\n")
    (row,) = read_table(tmp_path, "train")
    assert (row["losses/q"], row["mixing/mean"], row["losses/kl"]) == (0.25, 0.5, None)
    again = Log(tmp_path)
    again.open(50)
    again.write("train", 100, {"losses/kl": 2.0})
    again.close()
    assert [r["losses/kl"] for r in read_table(tmp_path, "train")] == [None, 2.0]


def test_no_table_no_rows(tmp_path):
    assert read_table(tmp_path, "train") == []
    (tmp_path / "train.csv").write_text("step,cha")
    assert read_table(tmp_path, "train") == []


def test_a_clock_goes_on_where_the_run_stopped(monkeypatch):
    times = iter([10.0, 12.0, 13.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    clock = Clock(1000, seconds=60.0)
    assert clock.read(1100) == {"charts/SPS": 50.0, "charts/seconds": 62.0}
    assert clock.read(1200) == {"charts/SPS": 100.0, "charts/seconds": 63.0}


def test_a_disk_that_is_full_when_closing_is_no_second_error(tmp_path, log):
    class Full:
        def close(self):
            raise OSError(28, "No space left on device")

    log._files["train"].close()
    log._files["train"] = Full()
    log.close()
    log.close()


@pytest.mark.parametrize(
    "told",
    [10**9, {"../../secret": [1, ""]}, {"train": ["4", ""]}, {"train": [-1, ""]}],
)
def test_tables_that_a_stranger_s_checkpoint_tells_of(tmp_path, told):
    """`Checkpoints.load` takes a TypeError for damage; no other file is opened."""
    with pytest.raises(TypeError, match=r"tables is|rows of train are"):
        Log(tmp_path).check({"tables": told})


def test_a_tracker_hears_every_row(monkeypatch):
    heard = []
    fake = SimpleNamespace(
        init=lambda **given: heard.append(given),
        log=lambda values, step: heard.append((step, values)),
    )
    monkeypatch.setitem(sys.modules, "trackio", fake)
    send = track("trackio", "maze", {"seed": 3})
    send(50, {"eval/mean_reward": 0.5})
    assert heard == [
        {"project": "sfp", "name": "maze", "config": {"seed": 3}},
        (50, {"eval/mean_reward": 0.5}),
    ]
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SfpError, match="--track wandb needs it: pip install wandb"):
        track("wandb", "maze", {})
