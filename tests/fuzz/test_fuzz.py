"""A few cases of each fuzzer; `make soak` runs thousands.

They run in a process of their own: this one has started JAX, and cannot be forked.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def passes(*words):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, words)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("what", "cases"), [("files", 50), ("environments", 5), ("commands", 5)]
)
def test_every_case_succeeds_or_is_refused_in_one_line(what, cases):
    passes(HERE / "run.py", "--what", what, "--cases", cases)


@pytest.mark.parametrize("kind", ["fit", "collection"])  # test_flipped.py has a run's
def test_a_flipped_bit_is_refused_or_repaired(kind):
    passes(HERE / "flips.py", "--only", kind)
