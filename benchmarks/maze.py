"""One maze step against a Pendulum step; a batch of mazes against one by one.

    python benchmarks/maze.py

Required: a maze step at most 4x a Pendulum step; 4000 mazes together at least 20x as
fast per step as one by one.
"""

import sys
import time

import gymnasium as gym
import numpy as np

import sfp  # noqa: F401  (registers the mazes)
from sfp.envs import MazeBatch

STEPS, ROUNDS, COUNT = 5000, 5, 4000


def single(env_id):
    """Seconds per step, best of several rounds; resets are not counted."""
    env = gym.make(env_id)
    rng = np.random.default_rng(0)
    space = env.action_space
    actions = rng.uniform(space.low, space.high, (STEPS, *space.shape))
    actions = actions.astype(np.float32)
    best = np.inf
    for _ in range(ROUNDS):
        total = 0.0
        for first in range(0, STEPS, 100):
            env.reset(seed=first)
            began = time.perf_counter()
            for action in actions[first : first + 100]:
                env.step(action)
            total += time.perf_counter() - began
        best = min(best, total / STEPS)
    return best


def batched():
    """Seconds per step of one maze in a batch, best of several rounds."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (20, COUNT, 2))
    best = np.inf
    for _ in range(ROUNDS):
        batch = MazeBatch("maze", COUNT, rng)
        began = time.perf_counter()
        for action in actions:
            batch.step(action)
        best = min(best, (time.perf_counter() - began) / (len(actions) * COUNT))
    return best


def main():
    pendulum, maze, together = single("Pendulum-v1"), single("sfp/Maze-v0"), batched()
    print(f"Pendulum step      {pendulum * 1e6:8.2f} us")
    print(f"maze step          {maze * 1e6:8.2f} us = {maze / pendulum:.2f} x Pendulum")
    print(
        f"one of {COUNT} mazes {together * 1e6:8.3f} us = {maze / together:.0f} x as "
        "fast as one by one"
    )
    sys.exit(maze > 4 * pendulum or maze < 20 * together)


if __name__ == "__main__":
    main()
