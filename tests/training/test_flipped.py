"""Every file of a half-done run that is read back, flipped in turn: never silent."""

import json
import os
import shutil
import warnings

import pytest
from safetensors.numpy import load_file, save_file

import sfp
from environments import SMALL
from faults import outcome, whole
from sfp.errors import Interrupted, SfpError
from sfp.files import write_checksums
from sfp.report.records import read_run

pytestmark = pytest.mark.slow


def train(out, **kwargs):
    return sfp.train("probe/Drift-v0", method="sac", **SMALL, out=out, **kwargs)


@pytest.fixture(scope="module")
def half_done(tmp_path_factory):
    """A run that was interrupted at step 350, and the outcome of a whole one."""
    folder = tmp_path_factory.mktemp("half-done")

    def stop(step):
        if step == 350:
            raise KeyboardInterrupt

    with pytest.raises((Interrupted, KeyboardInterrupt)):
        train(folder / "run", progress=stop)
    train(folder / "whole")
    return folder / "run", outcome(folder / "whole")


@pytest.fixture
def run(tmp_path, half_done):
    shutil.copytree(half_done[0], tmp_path / "run")
    return tmp_path / "run"


def flip(path, share=0.5):
    content = bytearray(path.read_bytes())
    content[int(len(content) * share)] ^= 1
    path.write_bytes(content)


def test_every_file_flipped_is_refused_or_repaired(tmp_path, half_done):
    """What is not read back may be flipped as it likes: events, the lock, a video."""
    names = sorted(
        str(path.relative_to(half_done[0]))
        for path in half_done[0].rglob("*")
        if path.is_file() and path.stat().st_size
    )
    read_back = [name for name in names if not name.startswith("events")]
    assert len(read_back) > 12
    refused, repaired, harmless, said = [], [], [], []
    for name in read_back:
        run = tmp_path / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(half_done[0], run)
        flip(run / name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                train(run, resume=True)
            except SfpError as error:
                refused.append(name)
                said.append(str(error))
                continue
        assert outcome(run) == half_done[1], name
        whole(run)
        (repaired if caught else harmless).append(name)
    assert not [line for line in said if "\n" in line]
    assert {"SHA256SUMS", "config.json", "versions.json"} <= set(refused)
    assert any("replay" in name for name in refused + repaired)
    assert any("step-000000300" in name for name in repaired)
    # A checkpoint that is passed by, and pieces that the newest one does not need.
    assert all("step-000000200" in n or "replay" in n for n in harmless), harmless


@pytest.mark.parametrize("name", ["train", "eval", "timing"])
@pytest.mark.parametrize("how", ["emptied", "deleted", "row", "newline", "edited"])
def test_no_row_of_a_table_is_lost(run, half_done, name, how):
    path = run / f"{name}.csv"
    rows = path.read_text().splitlines(keepends=True)
    if how == "deleted":
        path.unlink()
    elif how == "edited":
        path.write_text("".join([*rows[:2], rows[2].replace("0", "1"), *rows[3:]]))
    else:
        kept = {"emptied": "", "row": "".join(rows[:-3])}
        path.write_text(kept.get(how, "".join(rows[:3]).removesuffix("\n")))
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            train(run, resume=True)
        except SfpError as error:
            said.append(str(error))
    said += [str(warning.message) for warning in caught]
    assert len(said) == 1
    assert f"{name}.csv" in said[0]
    if caught:
        assert outcome(run) == half_done[1]


def test_going_back_repairs_a_row_after_the_checkpoint_before(run, half_done):
    rows = (run / "train.csv").read_text().splitlines(keepends=True)
    (at,) = [i for i, row in enumerate(rows) if row.startswith("300,")]
    rows[at] = rows[at].replace("300,", "300,9")
    (run / "train.csv").write_text("".join(rows))
    with pytest.warns(UserWarning, match=r"train\.csv is damaged.*back to step 200"):
        train(run, resume=True)
    assert outcome(run) == half_done[1]


def test_a_run_of_an_earlier_version_goes_on_and_is_marked(run, half_done):
    """Without digests of its tables, its documents and the pieces of its replay."""
    (run / "SHA256SUMS").unlink()
    for piece in (run / "checkpoint" / "replay").iterdir():
        save_file(load_file(piece), piece)
    for folder in (run / "checkpoint").glob("step-*"):
        meta = json.loads((folder / "meta.json").read_text())
        del meta["tables"], meta["verified"]
        (folder / "meta.json").write_text(json.dumps(meta))
        (folder / "SHA256SUMS").unlink()
        write_checksums(folder)
    with pytest.warns(UserWarning, match="has no SHA256SUMS: it is unver") as caught:
        train(run, resume=True)
    assert len(caught) == 1
    found, expected = outcome(run), half_done[1]
    assert found["policy"] == expected["policy"]
    assert found["train"] == expected["train"]
    assert found["finished"] == expected["finished"] | {"verified": False}
    assert not (run / "SHA256SUMS").exists()
    assert not read_run(run).verified


def test_a_finished_run_is_checked_before_it_is_shown(run):
    train(run, resume=True)
    assert read_run(run).verified
    checked = ("config.json", "versions.json", "finished.json", "SHA256SUMS")
    for name in (*checked, "train.csv", "eval.csv", "timing.csv"):
        right = (run / name).read_bytes()
        for share in (0.01, 0.5, 0.99):
            flip(run / name, share)
            with pytest.raises(SfpError):
                read_run(run)
            with pytest.raises(SfpError):
                train(run, resume=True)
            (run / name).write_bytes(right)
    lines = (run / "SHA256SUMS").read_text().splitlines(keepends=True)
    for kept in range(len(lines)):
        (run / "SHA256SUMS").write_text("".join(lines[:kept]))
        with pytest.raises(SfpError, match=r"SHA256SUMS is (damaged|truncated)"):
            read_run(run)


def test_planted_links_in_a_run_are_not_written_through(run, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years of work")
    shutil.rmtree(run / "events")
    (run / "events").symlink_to(precious)
    for name in ("train.draft", f".draft-{os.getpid()}-finished.json"):
        (run / name).symlink_to(precious / "thesis")
    train(run, resume=True)
    assert [path.name for path in precious.iterdir()] == ["thesis"]
    assert (precious / "thesis").read_text() == "years of work"
