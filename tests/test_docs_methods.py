"""Every method has a page, and the docs show what the code requires."""

import re
from pathlib import Path

import pytest

import sfp
from sfp.agents.methods import METHODS, requirements

FOLDER = Path(__file__).parent.parent / "docs" / "methods"


def test_the_table_says_what_the_code_requires():
    lines = (FOLDER / "README.md").read_text().splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    head, *rows = table
    expected = requirements()
    assert head == list(expected[0])
    assert rows == [
        [f"`{row['method']}`", *(row[name] for name in head[1:])] for row in expected
    ]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name):
    page = (FOLDER / f"{name}.md").read_text()
    assert page.startswith(f"# `{name}`: ")
    assert "What your data must contain" in page
    assert "What must match" in page
    assert f"]({name}.md)" in (FOLDER / "README.md").read_text()


PAGES = sorted(FOLDER.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_equations_are_where_the_page_says(page):
    text, source = page.read_text(), Path(sfp.__file__).parent
    for path in re.findall(r"\(`([\w/]+\.py)`", text):
        assert (source / path).is_file(), f"{page.name} names {path}"
    for name, path in re.findall(r"`([\w.]+)` \(`([\w/]+\.py)`\)", text):
        code = (source / path).read_text()
        assert re.search(rf"(def|class) {name.split('.')[-1]}\b", code), name
