"""Steps per second of one learner with several slow simulators (`--envs N`).

Each simulator waits 10 ms in every step, as one on another machine or with a heavy
engine does. The peer is the same run with a single environment.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import argparse
import time

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

import sfp


class Slow(gym.Env):
    """A point that drifts; a step takes `seconds`."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (8,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, seconds=0.01):
        self.seconds = seconds

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.left = self.np_random.normal(size=8), 200
        return self.place.astype(np.float32), {}

    def step(self, action):
        time.sleep(self.seconds)
        self.place[:2] += 0.1 * action
        self.left -= 1
        reward = float(np.linalg.norm(self.place[:2]) < 0.2)
        return self.place.astype(np.float32), reward, False, self.left == 0, {}


def rate(count, steps, seconds):
    """Environment steps per second once everything is compiled."""
    clock = []
    settings = dict(
        method="sac",
        steps=steps,
        iteration=48,
        update_after=96,
        eval_every=10 * steps,
        progress=lambda step: clock.append((step, time.perf_counter())),
    )
    if count == 1:
        sfp.train(Slow(seconds), eval_env=Slow(0.0), **settings)
    else:
        many = AsyncVectorEnv(
            [lambda: Slow(seconds)] * count,
            context="spawn",
            autoreset_mode=AutoresetMode.DISABLED,
        )
        try:
            sfp.train(many, eval_env=Slow(0.0), **settings)
        finally:
            many.close()
    half = len(clock) // 2
    (first, begin), (last, end) = clock[half], clock[-1]
    return (last - first) / (end - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1920)
    parser.add_argument("--seconds", type=float, default=0.01)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8])
    args = parser.parse_args()
    alone = None
    for count in args.counts:
        made = rate(count, args.steps, args.seconds)
        alone = alone or made
        print(
            f"envs {count}: {made:7.1f} steps/s, {made / alone:.2f} x one", flush=True
        )


if __name__ == "__main__":
    main()
