"""What users install: the wheel and the sdist have all parts, and the wheel works."""

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import sfp
from sfp.versions import DISTRIBUTION, install

ROOT = Path(__file__).parent.parent
STEM = f"{DISTRIBUTION.replace('-', '_')}-{sfp.__version__}"
SOURCES = {
    f"sfp/{path.relative_to(ROOT / 'src' / 'sfp')}"
    for path in (ROOT / "src" / "sfp").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}


def build(source, folder, *kinds):
    kinds = [word for kind in kinds for word in ("-t", kind)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *kinds]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, "wheel", "sdist")
    return folder / f"{STEM}-py3-none-any.whl", folder / f"{STEM}.tar.gz"


@pytest.mark.slow
def test_the_wheel_has_every_file_and_its_name(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if name.startswith("sfp/")}
        told = email.message_from_bytes(wheel.read(f"{STEM}.dist-info/METADATA"))
    assert names == SOURCES
    assert "sfp/py.typed" in names
    pretrained = {f"sfp/priors/pretrained/{n}/config.json" for n in ("room", "reach")}
    assert pretrained <= names
    assert (told["Name"], told["Version"]) == (DISTRIBUTION, sfp.__version__)
    assert told["Project-URL"].startswith("Homepage, https://openreview.net/")
    extras = told.get_all("Provides-Extra")
    assert "metaworld" in extras
    assert install("metaworld") == "pip install 'state-free-priors[metaworld]'"


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built[1]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    build(tmp_path / STEM, tmp_path, "wheel")
    with zipfile.ZipFile(tmp_path / built[0].name) as wheel:
        assert {name for name in wheel.namelist() if name.startswith("sfp/")} == SOURCES


USE = """
import sfp
prior = sfp.load_prior("room")
print(sfp.__file__, sfp.__version__, prior.dims, *dir(sfp))
"""


@pytest.mark.slow
def test_the_wheel_installs_and_works(built, tmp_path):
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    pip += ["--no-compile", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*pip, str(built[0])], check=True)
    env = os.environ | {"PYTHONPATH": str(target)}

    def run(*words):
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(
            command, env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    where, version, dims, *names = run("-c", USE)
    assert Path(where).is_relative_to(target)
    assert (version, dims) == (sfp.__version__, "2")
    assert {"fit", "train", "load_prior", "__version__"} <= set(names)
    assert run(target / "bin" / "sfp", "--version") == ["sfp", sfp.__version__]


def test_nobody_is_told_to_install_the_other_sfp():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "src").rglob("*.py")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"pip install ['\"]?sfp", text), page


def test_the_citation_has_the_version():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sfp.__version__}\n" in cited


def test_versions_are_pinned_by_name():
    """No path of a machine, no address: pip would refuse or follow it."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [
        line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+-]+", line)
    ] == []
