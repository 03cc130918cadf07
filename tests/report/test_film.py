"""Test episodes outside mazes: moving pictures inside the report."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

import environments  # noqa: F401  (registers probe/Drift-v0)
from folders import make_run, sign
from sfp.report.html import write, write_report
from sfp.report.html.film import FRAMES, Reel


def solved(root, name, **given):
    """A run in an environment that is no maze, called solved."""
    return make_run(root / name, task="probe/Drift-v0", policy=True, **given)


def films(root, **given):
    written = write_report(root, root / "report.html", **given)
    text = written.path.read_text()
    return written, re.findall(r'class="film" alt="(.*?)" src="(.*?)"', text)


@pytest.mark.slow
def test_a_solved_task_is_filmed(tmp_path):
    solved(tmp_path, "one")
    solved(tmp_path, "other", method="sac", solves_at=None)
    written, ((title, source),) = films(tmp_path)
    assert title == "sfp on probe/Drift-v0, seed 0"
    film = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
    assert film.format == "WEBP"
    assert film.n_frames > 5
    text = written.path.read_text()
    assert re.search(r"return -?[\d.]+ after \d+ steps", text)
    assert written.path.read_text() == films(tmp_path)[0].path.read_text()
    assert films(tmp_path, replays=False)[1] == []


@pytest.mark.slow
def test_what_cannot_be_filmed(tmp_path, monkeypatch):
    """Another environment of that name, one that has to be imported, too many."""
    folder = solved(tmp_path, "one")
    config = json.loads((folder / "config.json").read_text())
    changed = ({"env": "{'length': 3}"}, {"task": "planted:Drift-v0"})
    for change in changed:
        (folder / "config.json").write_text(json.dumps(config | change))
        sign(folder)
        written, found = films(tmp_path)
        assert found == []
        assert not written.warnings
    (folder / "config.json").write_text(json.dumps(config))
    sign(folder)
    monkeypatch.setattr(write, "FILMS", 0)
    written, found = films(tmp_path)
    assert found == []
    assert "1 of 1 runs are not filmed" in written.warnings[0]


@pytest.mark.slow
def test_a_reel_keeps_pictures_evenly():
    reel = Reel()
    for t in range(1000):
        reel(np.full((200, 400, 3), t % 251, np.uint8))
    assert FRAMES / 2 <= len(reel.frames) <= FRAMES
    assert reel.frames[0].size == (360, 180)
    seen = [np.asarray(frame)[0, 0, 0] for frame in reel.frames]
    np.testing.assert_array_equal(np.diff(seen[:5].copy()).astype(int), [32] * 4)
