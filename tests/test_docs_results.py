"""The tables in the docs are those that `sfp report` wrote."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES = sorted((ROOT / "results").rglob("tables.md"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_every_row_is_on_the_page(path):
    page = set((ROOT / "docs" / "results.md").read_text().splitlines())
    rows = [line for line in path.read_text().splitlines() if line]
    assert [row for row in rows if row not in page] == []


def test_there_are_tables():
    assert TABLES
