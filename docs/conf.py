"""The documentation site: `make docs` builds it from these pages and the docstrings."""

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

import sfp

sys.path.insert(0, str(Path(__file__).parent))
from links import broken
from notebook import NotebookParser

for name in sfp.__all__:  # `sfp` imports its names on first use; autodoc looks at dir()
    setattr(sfp, name, getattr(sfp, name))

project = "sfp"
author = "the authors of sfp"
release = version = sfp.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md"]  # index.md includes it
root_doc = "index"

myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

napoleon_use_ivar = True  # attributes once, not again beside autodoc's
default_role = "code"  # docstrings write `names` as Markdown does
autodoc_typehints_format = "short"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"sfp {release}"
html_copy_source = False
html_show_copyright = False


def check_links(app: Sphinx, error: Exception | None) -> None:
    """Warn of links within the site that lead nowhere: warnings are errors."""
    for line in [] if error else broken(Path(app.outdir)):
        logging.getLogger(__name__).warning("broken link: %s", line)


def leave_out(app: Sphinx, what: str, name: str, obj: Any, _: Any, lines: list) -> None:
    """Leave out docstrings of modules: the page introduces them."""
    if what == "module":
        lines.clear()


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("autodoc-process-docstring", leave_out)
    app.connect("build-finished", check_links)
