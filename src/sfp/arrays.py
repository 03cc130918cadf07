"""Trees of arrays on disk, checked leaf by leaf."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sfp.errors import SfpError
from sfp.tensors import load_arrays, save_arrays


def save_tree(path: Path, tree: Any, notes: Any = None) -> None:
    """Write every array of a tree under its path in the tree; notes are JSON."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    save_arrays(path, {_name(key): np.asarray(leaf) for key, leaf in leaves}, notes)


def load_tree(
    path: Path, like: Any, *, finite: bool = False, sealed: bool = False
) -> Any:
    """Read a tree with the structure, shapes and types of `like`."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    arrays, _ = load_arrays(path, sealed=sealed)
    names = [_name(key) for key, _ in leaves]
    strange = sorted(set(arrays) ^ set(names))
    if strange:
        raise SfpError(
            f"{path} holds other arrays than expected (first: {strange[0]!r}): "
            "it was made with another configuration or version."
        )
    values = [
        _checked(arrays[name], leaf, f"{path}: {name}", finite=finite)
        for name, (_, leaf) in zip(names, leaves, strict=True)
    ]
    return jax.tree_util.tree_unflatten(structure, values)


def check_part(path: Path, name: str, part: Any) -> None:
    """Refuse a file in which the part of that name is not of this structure."""
    arrays, _ = load_arrays(path)
    leaves, _ = jax.tree_util.tree_flatten_with_path({name: part})
    expected = {_name(key): leaf for key, leaf in leaves}
    begin = _name((jax.tree_util.DictKey(name),))
    strange = sorted({own for own in arrays if own.startswith(begin)} ^ {*expected})
    if strange:
        raise SfpError(f"{path} and this version differ in {strange[0]!r}.")
    for own, leaf in expected.items():
        _checked(arrays[own], leaf, f"{path}: {own}", finite=False)


def _checked(value: np.ndarray, like: Any, what: str, *, finite: bool) -> Any:
    if value.shape != like.shape or value.dtype != like.dtype:
        raise SfpError(
            f"{what} is {value.dtype}{list(value.shape)}, expected "
            f"{np.dtype(like.dtype)}{list(like.shape)}."
        )
    if finite and not np.isfinite(value).all():
        raise SfpError(f"{what} holds NaN or infinite numbers; do not trust this file.")
    return np.array(value) if isinstance(like, np.ndarray) else jnp.asarray(value)


def _name(key: Any) -> str:
    return jax.tree_util.keystr(key)
