"""Trees of arrays on disk: safetensors, checked leaf by leaf, nothing that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from sfp.errors import SfpError


def save_tree(path: Path, tree: Any) -> None:
    """Write every array of a tree under its path in the tree."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    named = {_name(key): np.asarray(leaf, order="C") for key, leaf in leaves}
    path.write_bytes(save(named))  # not save_file: its errors are no OSErrors


def load_tree(path: Path, like: Any, *, finite: bool = False) -> Any:
    """Read a tree with the structure, shapes and types of `like`.

    Args:
        path: what `save_tree` wrote.
        like: a tree of arrays, or of their shapes and types.
        finite: refuse NaN and infinite numbers.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    try:
        with safe_open(path, framework="numpy") as file:
            names = [_name(key) for key, _ in leaves]
            strange = sorted(set(file.keys()) ^ set(names))
            if strange:
                raise SfpError(
                    f"{path} holds other arrays than expected (first: {strange[0]!r}): "
                    "it was made with another configuration or version."
                )
            values = [
                _checked(file.get_tensor(name), leaf, f"{path}: {name}", finite=finite)
                for name, (_, leaf) in zip(names, leaves, strict=True)
            ]
    except (SafetensorError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise SfpError(
            f"cannot read {path}: {reason}. The file is truncated or damaged."
        ) from error
    return jax.tree_util.tree_unflatten(structure, values)


def _checked(value: np.ndarray, like: Any, what: str, *, finite: bool) -> Any:
    if value.shape != like.shape or value.dtype != like.dtype:
        raise SfpError(
            f"{what} is {value.dtype}{list(value.shape)}, expected "
            f"{np.dtype(like.dtype)}{list(like.shape)}."
        )
    if finite and not np.isfinite(value).all():
        raise SfpError(f"{what} holds NaN or infinite numbers; do not trust this file.")
    return value if isinstance(like, np.ndarray) else jnp.asarray(value)


def _name(key: Any) -> str:
    return jax.tree_util.keystr(key)
