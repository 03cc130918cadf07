"""One forward pass for NumPy and JAX: acting uses NumPy, learning JAX.

Weights do not change between updates, and one small network in NumPy costs a tenth of a
compiled call, so an actor's weights are NumPy arrays.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def namespace(array: Any) -> Any:
    return np if isinstance(array, np.ndarray | np.generic) else jnp


def along(vector: Any, like: Any) -> Any:
    """A vector for the last axis of `like`: ones in front, up to the same rank."""
    return vector[(None,) * (like.ndim - 1)] if like.ndim > 1 else vector


def relu(x: Any) -> Any:
    """max(x, 0); its gradient at 0 is 0, as `jax.nn.relu` has it."""
    return np.maximum(x, 0.0) if namespace(x) is np else jax.nn.relu(x)


def normalise(x: Any, epsilon: float = 1e-6) -> Any:
    """Layer normalisation over the last axis: mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True) + epsilon
    if namespace(x) is np:
        return centred / np.sqrt(variance)
    return centred * jax.lax.rsqrt(variance)
