"""Imports point one way: from later stages of the data flow to earlier ones."""

import ast
import re
from pathlib import Path

import pytest

import sfp
from checked import CHECKED

ROOT = Path(sfp.__file__).parent
STAGES = (
    "nets",
    "noise",
    "envs",
    "data",
    "priors",
    "exploration",
    "agents",
    "training",
    "experiments",
    "report",
    "bridges",
    "interface.py",
    "cli",
)
"""In the order of the data flow; whatever stands beside the folders comes first."""

PATHS = sorted(
    path
    for path in ROOT.rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py") or path.parent != ROOT
)


def imported(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return {name.split(".")[1] for name in found if name.startswith("sfp.")}


def late_imports(stage: str, source: str) -> set[str]:
    """Stages that come after `stage` and that `source` imports nevertheless."""
    rank = STAGES.index(stage) if stage in STAGES else -1
    return {
        name for name in imported(source) & set(STAGES) if STAGES.index(name) > rank
    }


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_imports_a_later_stage(path):
    top = path.relative_to(ROOT).parts[0]
    assert late_imports(top, path.read_text()) == set()


def test_the_check_itself_sees_a_wrong_import():
    assert late_imports("envs", "from sfp.data.replay import x") == {"data"}
    assert late_imports("envs", "from sfp import data") == {"data"}
    assert late_imports("files.py", "import sfp.envs.maze") == {"envs"}
    assert late_imports("data", "from sfp.envs import maze") == set()
    assert late_imports("training", "import sfp.cli.console") == {"cli"}


def test_every_module_that_annotates_arrays_is_checked_while_tests_run():
    """`conftest.py` installs the check of shapes and types for these alone."""
    for path in PATHS:
        if re.search(r"\bjaxtyping\b|\bsfp\.types\b", path.read_text()):
            module = ".".join(("sfp", *path.relative_to(ROOT).with_suffix("").parts))
            assert module.startswith((*CHECKED, "sfp.types")), module
