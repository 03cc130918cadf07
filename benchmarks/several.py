"""Environment steps per second of SFP with two priors, relative to one, one core.

    python benchmarks/several.py

Whole training on `corridor` with one update per step, in turns within one process: the
shipped state-free prior alone, with pink noise, and with a behavioural prior of the
same model and fresh weights, without hindsight and with it (4, as `sfp-quick` has it):
then a behavioural prior is asked anew in every update. Tests are no part of it.
Required: 0.85.
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
from sfp.envs.adapter import Environment
from sfp.priors.base import unit_prior
from sfp.priors.noises import noise_prior

ROUNDS = 5
LEAST = 0.85
HINDSIGHT = (0.0, 4.0)


def main():
    keep_compiled()
    environment = Environment(gym.make(TASK))
    room = unit_prior(sfp.load_prior("room"))
    pink = unit_prior(noise_prior("pink", environment.low, environment.high))
    state = prior_of("realnvp", state=environment.spec.inputs)
    sets = {"room": (room,), "room, pink": (room, pink), "room, state": (room, state)}
    runs = [
        Ours(f"{name}; {hindsight:g}", sfp.SFP(environment.spec, priors), hindsight)
        for hindsight in HINDSIGHT
        for name, priors in sets.items()
    ]
    speeds = Counter()
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in runs:
            speeds[one.name] = max(speeds[one.name], one.run(STEPS))
    ratios = []
    for name, speed in speeds.items():
        alone = speeds[f"room; {name.rpartition(' ')[2]}"]
        ratios.append(speed / alone)
        print(f"{name:14} {speed:7.1f} steps/s   {ratios[-1]:.2f} x one")
    sys.exit(min(ratios) < LEAST)


if __name__ == "__main__":
    main()
