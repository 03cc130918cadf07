"""Environment steps per second of SFP with two priors, relative to one, one core.

    python benchmarks/several.py

Whole training on `corridor` with one update per step, in turns within one process: the
shipped state-free prior alone, with pink noise, and with behavioural priors of two
models and fresh weights. First as in the paper; then with hindsight, the better of two
values and normalised critics, as in `sfp-quick`: there a behavioural prior is asked
anew in every update. Tests are no part of it. Required: 0.85.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import sys
from collections import Counter

import gymnasium as gym
from loop import STEPS, TASK, Ours
from methods import prior_of

import sfp
from sfp.config import Mixture, Networks
from sfp.envs.adapter import Environment
from sfp.priors.base import unit_prior
from sfp.priors.noises import noise_prior

ROUNDS = 3
LEAST = 0.85
KINDS = {
    "sfp": (0.0, Mixture(), Networks()),
    "quick": (4.0, Mixture(td_value="best"), Networks(critic_norm=True)),
}


def main():
    keep_compiled()
    environment = Environment(gym.make(TASK))
    inputs = environment.spec.inputs
    room = unit_prior(sfp.load_prior("room"))
    others = {
        "pink": unit_prior(noise_prior("pink", environment.low, environment.high)),
        "mixture": prior_of("mixture", state=inputs),
        "flow": prior_of("realnvp", state=inputs),
    }
    sets = {"room": (room,)} | {f"room, {k}": (room, v) for k, v in others.items()}
    runs = []
    for kind, (hindsight, mixture, networks) in KINDS.items():
        for name, priors in sets.items():
            agent = sfp.SFP(
                environment.spec, priors, networks=networks, mixture=mixture
            )
            runs.append(Ours(f"{kind}: {name}", agent, hindsight))
    speeds = Counter()
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in runs:
            speeds[one.name] = max(speeds[one.name], one.run(STEPS))
    ratios = {}
    for name, speed in speeds.items():
        ratios[name] = speed / speeds[f"{name.partition(':')[0]}: room"]
        print(f"{name:20} {speed:7.1f} steps/s   {ratios[name]:.2f} x one")
    sys.exit(min(ratios.values()) < LEAST)


if __name__ == "__main__":
    main()
