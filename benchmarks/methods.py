"""Environment steps per second of every method, relative to our SAC, one core.

    python benchmarks/methods.py

Whole training on `corridor` with one update per step, in turns within one process.
Priors of methods other than SFP have the right structure and fresh weights: speed does
not depend on them. Required: none below 0.5 without a reason (docs/results.md).
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import sys
from collections import Counter

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from loop import STEPS, TASK, Ours

import sfp
from sfp.agents.methods import METHODS, Ingredients
from sfp.config import Baselines, Mixture, Networks, Schedule
from sfp.data.trajectories import assemble
from sfp.envs.adapter import Environment
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.models import MODELS, SKILLS

ROUNDS = 3


def recordings():
    rng = np.random.default_rng(0)
    names = ("actions", "observations", "goals")
    episodes = [
        {name: rng.uniform(0, 1, (500, 2)).astype(np.float32) for name in names}
        for _ in range(40)
    ]
    return assemble(episodes, source="random", low=-np.ones(2), high=np.ones(2))


def prior_of(model, *, past=0, state=0):
    built = (MODELS | SKILLS)[model].build(2, 2 * past + state, key=jax.random.key(0))
    ones = jnp.ones(2)
    frame = Frame(-ones, ones, jnp.zeros(state), jnp.ones(state))
    seeds = jnp.zeros((16, past, 2))
    return Prior(built, frame, seeds, Conditioning(past, state=state > 0))


def main():
    keep_compiled()
    environment = Environment(gym.make(TASK))
    room = sfp.load_prior("room")
    priors = {
        "parrot-state": prior_of("parrot", state=4),
        "sac-kl": prior_of("gaussian", past=1),
        "spirl": prior_of("skills", state=4),
    }
    methods = []
    for name, method in METHODS.items():
        if method.sees_images:
            continue
        given = Ingredients(
            environment.spec,
            Schedule(),
            Networks(alpha=0.02),
            Mixture(),
            Baselines(),
            priors=(priors.get(name, room),) if method.takes == "prior" else (),
            data=recordings() if method.takes == "data" else None,
        )
        methods.append(Ours(name, method.build(given), method.hindsight[""]))
    speeds = Counter()
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in methods:
            speeds[one.name] = max(speeds[one.name], one.run(STEPS))
    for name, speed in speeds.items():
        print(f"{name:14} {speed:7.1f} steps/s   {speed / speeds['sac']:.2f} x SAC")
    sys.exit(min(speeds.values()) < 0.5 * speeds["sac"])


if __name__ == "__main__":
    main()
