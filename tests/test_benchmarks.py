"""Scripts beside the package: what they import from it is there."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(
    (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").glob("*.py"))
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_names_are_where_a_script_looks_for_them(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("sfp."):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")


def test_there_are_scripts():
    assert len(SCRIPTS) > 10
