"""The notebook of the docs still runs and still says what is printed in it."""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

BOOK = Path(__file__).parent.parent.parent / "docs/notebooks/mountain_car.ipynb"


def said(book):
    """Who solved the task, and the minutes that it took."""
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    text = "".join(out.get("text", "") for out in outputs)
    verdicts = re.findall(r"^(SFP|SAC.*): (solved|not solved)", text, re.M)
    (minutes,) = re.findall(r"^([\d.]+) minutes of one core", text, re.M)
    return dict(verdicts), float(minutes)


def test_the_prior_solves_what_sac_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("XLA_FLAGS")  # which make tests compile sooner and run slower
    book = nbformat.read(BOOK, as_version=4)
    printed, minutes = said(book)
    assert minutes < 5
    expected = {"SFP": "solved", "SAC": "not solved", "SAC with pink noise": "solved"}
    assert printed == expected
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, timeout=1200, resources=where).execute()
    printed, minutes = said(book)
    assert printed == expected
    assert minutes < 5
