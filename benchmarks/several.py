"""Environment steps per second of SFP with two priors, relative to one, one core.

    python benchmarks/several.py

Whole training on `corridor` with one update per step, in turns within one process: the
shipped state-free prior alone, with pink noise, and with behavioural priors of two
models and fresh weights. First with the defaults of `sfp`, the paper's; then with those
of `sfp-quick`, which relabels goals, so that a behavioural prior is asked anew in every
update. Tests are no part of it. Required: 0.85; whoever misses it is named at the end.
A behavioural flow does with `sfp-quick`, because it is asked anew in every update.
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
from sfp.agents.methods import METHODS
from sfp.config import Mixture, Networks, settle
from sfp.envs.adapter import Environment
from sfp.priors.base import unit_prior
from sfp.priors.noises import noise_prior
from sfp.training.match import with_several

ROUNDS = 3
LEAST = 0.85
KINDS = "sfp", "sfp-quick"


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
    for kind in KINDS:
        for name, priors in sets.items():
            agent = make_agent(kind, environment, priors)
            hindsight = METHODS[kind].hindsight[""]
            runs.append(Ours(f"{kind}: {name}", agent, hindsight))
    speeds = Counter()
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in runs:
            speeds[one.name] = max(speeds[one.name], one.run(STEPS))
    ratios = {}
    for name, speed in speeds.items():
        ratios[name] = speed / speeds[f"{name.partition(':')[0]}: room"]
        print(f"{name:20} {speed:7.1f} steps/s   {ratios[name]:.2f} x one")
    late = [name for name, ratio in ratios.items() if ratio < LEAST]
    sys.exit(f"below {LEAST}: {', '.join(late)}" if late else 0)


def make_agent(kind, environment, priors):
    """The method with its defaults for so many priors."""
    method = METHODS[kind] if len(priors) == 1 else with_several(METHODS[kind])
    mixture = settle(Mixture(), method.defaults)
    networks = settle(Networks(), method.defaults)
    return sfp.SFP(environment.spec, priors, networks=networks, mixture=mixture)


if __name__ == "__main__":
    main()
