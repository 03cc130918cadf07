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
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    given = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    chosen = folder or Path(given or default / "sfp" / "xla")
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
