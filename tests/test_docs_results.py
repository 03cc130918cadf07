"""The tables on the results pages are those that `sfp report` wrote."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES = sorted((ROOT / "results").rglob("tables.md"))
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))


def page_of(path):
    """An experiment has the page of its name; Meta-World's transfer has its own."""
    suite, experiment = path.parts[-3:-1]
    name = experiment if suite == "point-maze" else suite
    return ROOT / "docs" / "results" / f"{name}.md"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_every_row_is_on_its_page_in_order(path):
    rows = [line for line in path.read_text().splitlines() if line]
    page = page_of(path).read_text().splitlines()
    first = page.index(rows[0])
    tables = [line for line in page[first:] if line.startswith("|")]
    assert tables[: len(rows)] == rows


def test_there_are_tables():
    assert TABLES


def split(page):
    """The running text of a page and its provenance."""
    text, heading, provenance = page.read_text().partition("\n## Provenance\n")
    assert heading, f"{page.name} has no provenance"
    return text, provenance


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_says_where_its_numbers_come_from(page):
    head, _, *rows = split(page)[1].strip().splitlines()
    assert head == "| measurement | command | commit | date |"
    assert rows
    for row in rows:
        cells = re.split(r"(?<!\\) \| ", row.strip("| "))
        assert len(cells) == 4, row
        assert re.search(r"\b[0-9a-f]{7}\b", cells[2]), row
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", cells[3]), row


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "docs" / "results.md"], ids=lambda page: page.stem
)
def test_running_text_has_no_commits_and_no_targets(page):
    text = page.read_text().partition("\n## Provenance\n")[0]
    assert not re.findall(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7}\b", text)
    assert not re.findall(r"required|\(aim|prototype", text)


def test_the_summary_links_to_every_page():
    summary = (ROOT / "docs" / "results.md").read_text()
    missing = [page.name for page in PAGES if f"(results/{page.name})" not in summary]
    assert missing == []
