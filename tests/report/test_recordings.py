"""The page about recordings stands alone, marks noise and escapes names."""

import re

import numpy as np
import pytest

from sfp.cli import main
from sfp.data.trajectories import assemble
from sfp.report.html.recordings import recordings_page


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    smooth = [np.sin(np.arange(120) / 9 + i)[:, None] * [0.9, 0.5] for i in range(5)]
    noise = rng.uniform(-1, 1, (120, 2))
    episodes = [{"actions": a.astype(np.float32)} for a in [*smooth, noise]]
    for episode in episodes:
        episode["images"] = rng.integers(0, 255, (120, 200, 40, 3), np.uint8)
    names = ["<b>grip</b>", "lift"]
    return assemble(
        episodes, source="my <script>", low=[-1] * 2, high=[1] * 2, names=names
    )


def test_a_page_that_stands_alone(data):
    page = recordings_page(data)
    assert page.count('class="episode noise"') == 1
    assert page.index('id="episode-5"') < page.index('id="episode-0"')  # noise first
    assert page.count('class="episode"') == 5
    assert "<script" not in page
    assert "<b>grip" not in page
    assert "&lt;b&gt;grip&lt;/b&gt;" in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert page.count("data:image/png") == 6 * 6
    assert "1 episodes hold noise" in page


def test_a_limit_and_no_images(data):
    bare = assemble(
        [
            {"actions": data.actions[s:e]}
            for s, e in zip(data.starts, data.ends, strict=True)
        ],
        source="x",
    )
    page = recordings_page(bare, episodes=2)
    assert 'id="episode-5"' in page
    assert 'id="episode-0"' in page
    assert 'id="episode-1"' not in page
    assert "4 more are not shown" in page
    assert "data:image" not in page


def test_the_command_writes_one_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for take in range(3):
        wave = np.sin(take + np.arange(80) / 7)[:, None]
        np.savetxt(tmp_path / f"take{take}.csv", wave, delimiter=",")
    main(["view", str(tmp_path), "--out", "page.html", "--json"])
    assert '"episodes": 3' in capsys.readouterr().out
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with pytest.raises(SystemExit):
        main(["view", str(tmp_path), "--episodes", "0", "--out", "no.html"])
    assert not (tmp_path / "no.html").exists()
