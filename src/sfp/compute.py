"""How JAX computes here: how many threads, and compiled programs that are kept."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import resource
import sys
import warnings
from pathlib import Path

from sfp.errors import SfpError, at_least

_chosen: int | None = None

FEATURES = (
    *("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile"),
    *("asimd", "sve", "sve2", "bf16"),
)
"""Of CPUs; XLA writes other programs, with other roundings, where one is missing."""


def use_threads(count: int) -> None:
    """Let JAX compute with that many threads, or with all cores if there are fewer.

    JAX counts the cores it may use when it is imported. It is shown `count` of them;
    afterwards the process may run on any core again, so that two runs side by side do
    not share one.

    Raises:
        SfpError: JAX has been imported already, with another number of threads.
    """
    global _chosen
    at_least(1, threads=count)
    if "jax" in sys.modules:
        if min(count, available()) != threads():
            raise SfpError(
                f"expected {count} threads before JAX starts, but JAX already runs "
                f"with {threads()}: call sfp.compute.use_threads({count}) first, or "
                "use a new process."
            )
        return
    if not hasattr(os, "sched_setaffinity"):
        if count < available():
            warnings.warn(
                f"this system cannot limit JAX to {count} of {available()} threads: "
                "runs side by side will share the cores.",
                stacklevel=2,
            )
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:count])
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)  # noqa: FBT003
    jax.devices()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread), cores)
    _chosen = min(count, len(cores))


def available() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """How many threads JAX computes with; sums depend on it."""
    return available() if _chosen is None else _chosen


@functools.cache
def cpu_kind() -> str:
    """The CPU by its name and features: on another kind the bits may be others."""
    told: dict[str, str] = {}
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            name, _, value = line.partition(":")
            told.setdefault(name.strip(), value.strip())
    name = told.get("model name") or platform.processor() or platform.machine()
    flags = (told.get("flags") or told.get("Features") or "").split()
    return " ".join([name, *(feature for feature in FEATURES if feature in flags)])


def check_memory(what: str, needed: int, remedy: str) -> None:
    """Refuse what needs more bytes than there are, before it takes any.

    XLA would abort the process, a recording would fill the memory first.
    """
    limits = [resource.getrlimit(resource.RLIMIT_AS)[0]]
    limits += [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(OSError, ValueError):  # of a container, if it has one
        limits += [int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8"))]
    most = min(limit for limit in limits if limit > 0)  # no limit is -1
    if needed > most:
        raise SfpError(
            f"{what} need {needed / 1e9:.1f} GB, the process may have "
            f"{most / 1e9:.1f} GB: {remedy}."
        )


def keep_compiled(folder: Path | None = None) -> None:
    """Keep compiled programs on disk, so that the next process starts at once.

    Args:
        folder: by default `$JAX_COMPILATION_CACHE_DIR`, else `~/.cache/sfp/xla-KIND`:
            machines that share a home may have other CPUs.
    """
    import jax

    given = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    try:
        chosen = folder or Path(given or _default())
        chosen.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or not ours: compile each time
        return
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    # Of a program that another process is writing, or was killed over: JAX says that it
    # cannot be read, and compiles it.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache")
    least = os.environ.get("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", 0.5)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", float(least))


def _default() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    kind = hashlib.sha256(cpu_kind().encode()).hexdigest()[:8]
    return Path(cache or Path.home() / ".cache") / "sfp" / f"xla-{kind}"
