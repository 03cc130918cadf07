"""How JAX computes here: how many threads, and compiled programs that are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_chosen: int | None = None


def use_threads(count: int) -> None:
    """Let JAX compute with that many threads; call it before anything imports JAX.

    JAX counts the cores it may use when it starts. It is shown `count` of them, and
    afterwards may run on any: two runs side by side do not meet on one core.
    """
    global _chosen
    if "jax" in sys.modules or not hasattr(os, "sched_setaffinity"):
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:count])
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)  # noqa: FBT003
    jax.devices()
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)
    _chosen = min(count, len(cores))


def threads() -> int:
    """How many threads JAX computes with; sums depend on it."""
    if _chosen is not None:
        return _chosen
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_compiled(folder: Path | None = None) -> None:
    """Keep compiled programs on disk, so that the next process starts at once.

    Args:
        folder: by default `$JAX_COMPILATION_CACHE_DIR`, else `~/.cache/sfp/xla`.
    """
    import jax

    given = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    try:
        chosen = folder or Path(given or _default())
        chosen.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or not ours: compile each time
        return
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _default() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return Path(cache or Path.home() / ".cache") / "sfp" / "xla"
