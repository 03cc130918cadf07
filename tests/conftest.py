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
# Without its newer way to fuse loops XLA compiles an update in a third of the time.
QUICKLY = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICKLY}"

from jaxtyping import install_import_hook  # noqa: E402

from checked import CHECKED  # noqa: E402

# One thread for JAX, as `--threads 1` gives. The import hook below imports JAX itself,
# so that `use_threads` would come too late.
cores = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(cores)})
import jax  # noqa: E402

jax.devices()
for thread in os.listdir("/proc/self/task"):
    with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
        os.sched_setaffinity(int(thread), cores)

hook = install_import_hook(CHECKED, "beartype.beartype")
hook.__enter__()

import matplotlib as mpl  # noqa: E402
import pytest  # noqa: E402

from sfp import compute  # noqa: E402

compute._chosen = 1
mpl.use("Agg")
compute.keep_compiled(CACHE)
MOST = 1 << 30
"""Bytes of memory from which a module drops the compiled programs."""

THOROUGH = Path(__file__).with_name("thorough.txt")


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run thorough.txt alone")


def pytest_collection_modifyitems(config, items):
    """`make test` leaves out what `thorough.txt` names, `make thorough` the rest."""
    lines = THOROUGH.read_text().splitlines()
    names = tuple(line for line in lines if line and not line.startswith("#"))
    wanted = config.getoption("--thorough")
    if not wanted and any("::" in word for word in config.args):
        return  # somebody asks for tests by name
    ids = [item.nodeid for item in items]
    files = {name.partition("::")[0] for name in ids}
    for name in names:
        if name.partition("::")[0] in files:
            assert any(each.startswith(name) for each in ids), f"no test is {name}"
    kept = [item for item in items if item.nodeid.startswith(names) == wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture(autouse=True, scope="session")
def quickly_compiled():
    """Compiling takes longer than running here: do without most optimisations.

    So do child processes.
    """
    jax.config.update("jax_disable_most_optimizations", True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "True")
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

    known, compiler = {}, loop.compile_updates

    def compiled(agent):
        if type(agent) is not SAC:
            return compiler(agent)
        kind = agent.spec, agent.alpha, agent.networks, agent.critic
        if kind not in known:
            known[kind] = compiler(agent)
        return known[kind]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "compile_updates", compiled)
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
