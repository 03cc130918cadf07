"""JAX's random numbers without JAX: the same bits, and nothing to compile.

XLA takes a second or more to compile the draws of a network's weights, NumPy makes them
in a millisecond. (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.)
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt32

Key = UInt32[np.ndarray, "2"]
ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)


def split(key: Key, count: int) -> UInt32[np.ndarray, "count 2"]:
    """The data of `jax.random.split`."""
    return np.stack(_hash(key, count), axis=1)


def uniform(key: Key, count: int, bound: float) -> Float[np.ndarray, " count"]:
    """`jax.random.uniform` from -bound to bound, in single precision."""
    first, second = _hash(key, count)
    # 23 random bits behind the exponent of 1 give a number from 1 to 2.
    ones = ((first ^ second) >> np.uint32(9)) | np.float32(1.0).view(np.uint32)
    share = ones.view(np.float32) - np.float32(1.0)
    low, width = np.float32(-bound), np.float32(bound) - np.float32(-bound)
    # One rounding at the end, as in a fused multiply-add.
    return (share * np.float64(width) + np.float64(low)).astype(np.float32)


def _hash(key: Key, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 with twenty rounds, of the counters 0 to count - 1."""
    keys = key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)
    left = np.full(count, keys[0], np.uint32)  # the counters' upper halves are 0
    with np.errstate(over="ignore"):
        right = np.arange(count, dtype=np.uint32) + keys[1]
        for turn in range(5):
            for by in ROTATIONS[turn % 2]:
                left += right
                right = (right << np.uint32(by)) | (right >> np.uint32(32 - by))
                right ^= left
            left += keys[(turn + 1) % 3]
            right += keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return left, right
