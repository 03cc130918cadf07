"""Shapes and types of every public array are checked while tests run."""

import contextlib
import ctypes
import gc
import os
from pathlib import Path

from jaxtyping import install_import_hook

# One thread for JAX, as `--threads 1` gives. The import hook below imports JAX itself,
# so that `use_threads` would come too late.
cores = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(cores)})
import jax  # noqa: E402

jax.devices()
for thread in os.listdir("/proc/self/task"):
    with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
        os.sched_setaffinity(int(thread), cores)

hook = install_import_hook("sfp", "beartype.beartype")
hook.__enter__()

import matplotlib as mpl  # noqa: E402
import pytest  # noqa: E402

from sfp import compute  # noqa: E402

compute._chosen = 1
mpl.use("Agg")
compute.keep_compiled(Path(__file__).parent.parent / ".venv" / "xla")


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """Every module drops its compiled programs: all of them together take gigabytes.

    glibc keeps the memory that compilers have freed, a gigabyte per module, unless it
    is told to return it. Modules that share a program find it on disk.
    """
    yield
    jax.clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


@pytest.fixture(autouse=True)
def registries():
    """What a test or an example of the docs registers is forgotten behind it."""
    from sfp.data.sources.formats import FORMATS
    from sfp.exploration.explorers import EXPLORERS
    from sfp.priors.models import MODELS

    tables = [(table, dict(table)) for table in (FORMATS, EXPLORERS, MODELS)]
    yield
    for table, before in tables:
        table.clear()
        table.update(before)


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    """Every test has a Minari folder of its own."""
    folder = tmp_path / "datasets"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    return folder
