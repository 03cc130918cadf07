"""Shapes and types of every public array are checked while tests run."""

from pathlib import Path

from jaxtyping import install_import_hook

hook = install_import_hook("sfp", "beartype.beartype")
hook.__enter__()

import matplotlib as mpl  # noqa: E402
import pytest  # noqa: E402

from sfp.compute import keep_compiled  # noqa: E402

mpl.use("Agg")
keep_compiled(Path(__file__).parent.parent / ".venv" / "xla")


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    """Every test has a Minari folder of its own."""
    folder = tmp_path / "datasets"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    return folder
