"""How good the experts of locomotion are: returns, and how far they get.

    python benchmarks/experts.py [TASK ...]

The dense return is that of Gymnasium's own environment, over 10 episodes. `beyond` is
the share of 100 episodes of 500 steps in which the displacement passes x_max.
"""

import sys

import gymnasium as gym
import numpy as np

from sfp.data.walking import Walker, known_experts, load_expert
from sfp.envs.locomotion import ROBOTS
from sfp.envs.registry import get_task


def dense_return(who: Walker, name: str, seed: int) -> float:
    env, total = gym.make(f"{name}-v5"), 0.0
    seen, _ = env.reset(seed=seed)
    over = False
    while not over:
        seen, reward, terminated, truncated, _ = env.step(act(who, seen))
        total += float(reward)
        over = terminated or truncated
    return total


def displacement(who: Walker, task: str, seed: int) -> float:
    env, farthest = get_task(task).make(), 0.0
    seen, _ = env.reset(seed=seed)
    for _ in range(500):
        seen, _, terminated, _, info = env.step(act(who, seen))
        farthest = max(farthest, info["displacement"])
        if terminated:
            break
    return farthest


def act(who: Walker, seen: np.ndarray) -> np.ndarray:
    return who.act(None, seen, np.random.default_rng(0))[0]


def main() -> None:
    print("task          return  displacement (m)  beyond x_max")
    for task in sys.argv[1:] or known_experts():
        who, robot = load_expert(get_task(task)), ROBOTS[task]
        returns = [dense_return(who, robot.name, seed) for seed in range(10)]
        far = np.array([displacement(who, task, seed) for seed in range(100)])
        beyond = (far >= robot.x_max).mean()
        print(f"{task:12} {np.mean(returns):7.0f} {far.mean():17.1f} {beyond:13.2f}")


if __name__ == "__main__":
    main()
