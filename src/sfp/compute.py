"""How JAX computes here: compiled programs are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path

import jax


def keep_compiled(folder: Path | None = None) -> None:
    """Keep compiled programs on disk, so that the next process starts at once.

    Args:
        folder: by default `$JAX_COMPILATION_CACHE_DIR`, else `~/.cache/sfp/xla`.
    """
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
