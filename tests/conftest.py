"""Shapes and types of every public array are checked while tests run."""

import contextlib
import ctypes
import gc
import os
from pathlib import Path

# Every program that is compiled is kept on disk, for both workers and for the processes
# that tests start: most are small, but there are thousands.
CACHE = Path(__file__).parent.parent / ".venv" / "xla"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(CACHE)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"

from jaxtyping import install_import_hook  # noqa: E402

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
compute.keep_compiled(CACHE)
MOST = 1 << 30
"""Bytes of memory from which a module drops the compiled programs."""

SMALL = ("agents", "training")
"""Folders whose networks are small: compiling them takes longer than running them."""


@pytest.fixture(autouse=True, scope="module")
def optimised(request):
    """Small networks are compiled without most optimisations; child processes, too."""
    quick = request.path.parent.name in SMALL
    jax.config.update("jax_disable_most_optimizations", quick)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", str(quick))
        yield


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """Modules drop compiled programs from time to time: all together take gigabytes.

    glibc keeps the memory that compilers have freed, a gigabyte per module, unless it
    is told to return it. Modules that share a program find it on disk.
    """
    yield
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    if pages * os.sysconf("SC_PAGE_SIZE") > MOST:
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)


@pytest.fixture(autouse=True, scope="module")
def shared():
    """A module's runs of SAC that are compiled alike share their programs."""
    from sfp.agents.sac import SAC
    from sfp.training import loop

    def share(compiler):
        known = {}

        def compiled(agent):
            if type(agent) is not SAC:
                return compiler(agent)
            kind = agent.spec, agent.alpha, agent.networks, agent.critic
            if kind not in known:
                known[kind] = compiler(agent)
            return known[kind]

        return compiled

    with pytest.MonkeyPatch.context() as patch:
        for name in ("compile_init", "compile_updates"):
            patch.setattr(loop, name, share(getattr(loop, name)))
        yield


@pytest.fixture(autouse=True)
def registries():
    """What a test or an example of the docs registers is forgotten behind it."""
    from gymnasium import registry

    from sfp.data.sources.formats import FORMATS
    from sfp.envs import SUITES, TASKS
    from sfp.exploration.explorers import EXPLORERS
    from sfp.priors.models import MODELS

    open_tables = (FORMATS, EXPLORERS, MODELS, TASKS, SUITES, registry)
    tables = [(table, dict(table)) for table in open_tables]
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
