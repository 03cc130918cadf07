"""Locomotion: steps per second of whole training runs, and the environment's share.

    python benchmarks/locomotion.py      (needs the extra: pip install -e '.[bench]')

One process, one core, the sparse tasks `halfcheetah` and `ant`: our SAC, and SFP with a
flow over ten past actions, against the SAC of Stable-Baselines3 and SBX with the same
networks (2 x 256), batch (100) and rhythm (50 steps, then 50 updates), in turns. What
the flow has learned has no part in its speed: it is fitted for one step. Required: our
SAC at least 2x Stable-Baselines3 and as fast as SBX.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import sys
import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np
import sbx
import stable_baselines3 as sb3
from loop import STEPS, Ours
from peers import Theirs

import sfp
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.envs.adapter import Environment, make_env
from sfp.envs.registry import get_task
from sfp.priors.base import unit_prior

TASKS, ROUNDS = ("halfcheetah", "ant"), 3
PARTS = ("environment", "act", "replay", "bank", "update")


def flow(dims):
    """A flow over ten past actions, of the size that is fitted by default."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for take in range(4):
            actions = rng.uniform(-1.0, 1.0, (200, dims))
            np.savetxt(Path(folder) / f"{take}.csv", actions, delimiter=",")
        data = sfp.load(folder)
        return unit_prior(sfp.fit(data, past_actions=10, epochs=1, epoch_steps=1))


def measure(task):
    """Steps per second of everybody, and what a step of ours is spent on."""
    named, spec = get_task(task).env_id, Environment(make_env(task)).spec
    prior = flow(spec.action)
    runs = [
        Ours("sfp SAC", SAC(spec, alpha=0.2), 0.0, named),
        Ours("sfp SFP", SFP(spec, (prior,), alpha=0.005), 0.0, named),
        Theirs(sb3, "Stable-Baselines3 SAC", gym.make(named), 0.2),
        Theirs(sbx, "SBX SAC", gym.make(named), 0.2),
    ]
    speeds, shares = {}, {}
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in runs:
            speed = one.run(STEPS)
            if speed <= speeds.get(one.name, 0.0):
                continue
            speeds[one.name] = speed
            if isinstance(one, Ours):
                spent = one.spent
                shares[one.name] = {p: spent[p] / spent["all"] for p in PARTS}
    return speeds, shares


def main():
    keep_compiled()
    bars = {}
    for task in TASKS:
        speeds, shares = measure(task)
        for name, speed in speeds.items():
            told = ", ".join(f"{p} {s:.1%}" for p, s in shares.get(name, {}).items())
            print(f"{task:12} {name:22} {speed:6.1f} steps/s  {told}", flush=True)
        sac, sb, sx = (speeds[n] for n in ("sfp SAC", *(list(speeds)[2:])))
        bars[f"{task}: SAC / Stable-Baselines3"] = sac / sb, 2.0
        bars[f"{task}: SAC / SBX"] = sac / sx, 1.0
        bars[f"{task}: SFP / SAC"] = speeds["sfp SFP"] / sac, 0.0
    for name, (value, bar) in bars.items():
        print(f"{name:40} {value:5.2f}" + (f"  (at least {bar})" if bar else ""))
    sys.exit(any(value < bar for value, bar in bars.values()))


if __name__ == "__main__":
    main()
