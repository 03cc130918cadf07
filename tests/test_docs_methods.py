"""Every method has a page, and the docs show what the code requires."""

from pathlib import Path

import pytest

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
