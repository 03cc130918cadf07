"""One action of the shipped flow: NumPy (`Prior.sampler`) against JAX.

    python benchmarks/act.py

Required: at most 0.2 ms a call for the sampler, history included.
"""

import sys
import time

import jax
import numpy as np

import sfp

LIMIT = 200e-6
CALLS = 3000


def median(call):
    """Seconds of a call, the median of many: others may use the machine too."""
    call()
    found = []
    for _ in range(CALLS):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return float(np.median(found))


def main():
    prior = sfp.load_prior("room")
    sample, key = prior.sampler(), jax.random.key(0)
    history = sample.begin()
    context = history.ravel()
    compiled = jax.jit(jax.vmap(prior.sample, in_axes=(0, None)))
    keys = jax.random.split(key, 1)

    def act():
        nonlocal history
        history = sample.push(history, sample(history))

    ours = median(act)
    theirs = median(lambda: np.asarray(compiled(keys, context)))
    print(f"prior.sampler()            {ours * 1e6:8.1f} us")
    print(f"jax.jit(jax.vmap(sample))  {theirs * 1e6:8.1f} us = {theirs / ours:.1f} x")
    if ours > LIMIT:
        sys.exit(f"required: at most {LIMIT * 1e6:.0f} us for a call of the sampler")


if __name__ == "__main__":
    main()
