"""The documentation site builds without a warning and documents every public name."""

import subprocess
import sys
from pathlib import Path

import pytest

import sfp

ROOT = Path(__file__).parent.parent
PAGE = '<h1 id="top">{}</h1><a href="{}">there</a>'


@pytest.mark.slow
def test_the_site_builds_and_every_public_name_is_in_its_reference(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q"]
    built = subprocess.run(
        [*command, ROOT / "docs", tmp_path], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    reference = (tmp_path / "api.html").read_text()
    names = [name for name in sfp.__all__ if name != "envs"]
    assert [name for name in names if f'id="sfp.{name}"' not in reference] == []
    book = (tmp_path / "notebooks" / "mountain_car.html").read_text()
    assert "SFP: solved" in book  # with what its cells printed and drew
    assert "data:image/png" in book


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    from links import broken

    return broken


@pytest.mark.parametrize(
    ("target", "is_broken"),
    [
        ("other.html", False),
        ("other.html#top", False),
        ("#top", False),
        ("https://example.org/nowhere", False),
        ("missing.html", True),
        ("other.html#missing", True),
        ("#missing", True),
    ],
)
def test_broken_links_are_found(tmp_path, broken, target, is_broken):
    (tmp_path / "index.html").write_text(PAGE.format("Index", target))
    (tmp_path / "other.html").write_text(PAGE.format("Other", "index.html"))
    assert broken(tmp_path) == ([f"index.html: {target}"] if is_broken else [])
