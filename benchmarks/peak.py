"""The best large fp32 matrix product of XLA or NumPy on this core, FLOP/s."""

import time

import jax
import jax.numpy as jnp
import numpy as np


def peak(size=2048, rounds=4):
    square = np.random.default_rng(0).standard_normal((size, size), np.float32)
    product, best = jax.jit(jnp.matmul), 0.0
    for multiply in (np.matmul, lambda a, b: product(a, b).block_until_ready()):
        for _ in range(rounds):
            began = time.perf_counter()
            multiply(square, square)
            best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best
