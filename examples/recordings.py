"""Recordings of a hand that moves a stick to and fro, each time at another pace.

python examples/recordings.py recordings     # writes 60 CSV files, one per episode

They know nothing of a car, a valley or a goal: only how a hand moves.
"""

import sys
from pathlib import Path

import numpy as np


def write(folder, episodes=60, steps=300, seed=0):
    rng = np.random.default_rng(seed)
    Path(folder).mkdir(parents=True)
    for take in range(episodes):
        pace, phase = rng.uniform(40, 140), rng.uniform(0, 2 * np.pi)
        stick = np.sin(2 * np.pi * np.arange(steps) / pace + phase)
        stick = np.clip(stick + rng.normal(0, 0.05, steps), -1, 1)
        np.savetxt(f"{folder}/{take}.csv", stick[:, None], delimiter=",")


if __name__ == "__main__":
    write(sys.argv[1])
