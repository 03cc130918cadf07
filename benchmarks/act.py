"""One action of a prior: NumPy (`Prior.sampler`) against JAX.

    python benchmarks/act.py

The flow that ships, and `memory` over 32 actions of six joints (weights do not matter
for the time). Required, history included: at most 0.2 ms a call for the flow's sampler,
and 0.1 ms for that of `memory`.
"""

import sys
import time

import jax
import numpy as np

import sfp
from sfp.data.trajectories import assemble

LIMITS = {"flow": 200e-6, "memory": 100e-6}
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


def priors():
    """By name: the shipped flow, and a fresh `memory` for six joints."""
    actions = np.random.default_rng(0).uniform(-1, 1, (10, 100, 6))
    episodes = [{"actions": episode.astype(np.float32)} for episode in actions]
    data = assemble(episodes, source="noise", low=-np.ones(6), high=np.ones(6))
    given = dict(model="memory", past_actions=32, epochs=1, epoch_steps=1)
    return {"flow": sfp.load_prior("room"), "memory": sfp.fit(data, **given)}


def main():
    late = []
    for name, prior in priors().items():
        ours, theirs = measure(prior)
        print(f"{name:7} prior.sampler()            {ours * 1e6:8.1f} us")
        ratio = f"{theirs * 1e6:8.1f} us = {theirs / ours:.1f} x"
        print(f"{name:7} jax.jit(jax.vmap(sample))  {ratio}")
        if ours > LIMITS[name]:
            late.append(f"{name} {LIMITS[name] * 1e6:.0f} us")
    if late:
        sys.exit(f"required for a call of the sampler: at most {', '.join(late)}")


def measure(prior):
    """Seconds of a sampler's call, and of JAX's."""
    sample, key = prior.sampler(), jax.random.key(0)
    history = sample.begin()
    context = history.ravel()
    compiled = jax.jit(jax.vmap(prior.sample, in_axes=(0, None)))
    keys = jax.random.split(key, 1)

    def act():
        nonlocal history
        history = sample.push(history, sample(history))

    return median(act), median(lambda: np.asarray(compiled(keys, context)))


if __name__ == "__main__":
    main()
