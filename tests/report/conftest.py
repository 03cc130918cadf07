"""One report that several tests look at."""

import pytest

from folders import make_everything
from sfp.report.html import write_report


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A report with everything in it: damaged, unfinished, nasty, to be watched."""
    root = make_everything(tmp_path_factory.mktemp("results") / "out")
    return write_report(root, root / "report.html")
