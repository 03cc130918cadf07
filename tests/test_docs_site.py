"""The documentation site builds without a warning and documents every public name."""

import subprocess
import sys
from pathlib import Path

import pytest

import sfp

ROOT = Path(__file__).parent.parent
PAGE = '<h1 id="top">{}</h1><a href="{}">there</a>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q"]
    built = subprocess.run(
        [*command, ROOT / "docs", folder], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in sfp.__all__ if name != "envs"])
def test_every_public_name_is_in_the_reference(site, name):
    assert f'id="sfp.{name}"' in (site / "api.html").read_text()


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
