"""Dense sanity: our SAC beside Stable-Baselines3's on HalfCheetah-v5, same settings.

    python benchmarks/dense.py --seed 0     (needs the extra: pip install -e '.[bench]')

Standard settings on both sides: 1-step, no goals, α = 0.2, batch 100, 2 x 256, Adam
1e-3, 10,000 uniform steps without updates, then 50 steps and 50 updates in turn, 50,000
steps in all. One process, one thread. Writes one CSV per seed: the mean return of 10
test episodes with the policy's mean, every 10,000 steps. Required: our final mean over
three seeds at least 0.8x theirs.
"""

import argparse
import os
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import gymnasium as gym
import numpy as np
import stable_baselines3 as sb3
import torch
from stable_baselines3.common.callbacks import BaseCallback

import sfp
from sfp.report.tables import save_csv
from sfp.training.evaluate import FIRST_SEED

TASK = "HalfCheetah-v5"
EPISODES = 10


def test(predict):
    env, totals = gym.make(TASK), []
    for i in range(EPISODES):
        observation, _ = env.reset(seed=FIRST_SEED + i)
        total, over = 0.0, False
        while not over:
            observation, reward, ended, cut, _ = env.step(predict(observation))
            total, over = total + float(reward), ended or cut
        totals.append(total)
    return float(np.mean(totals))


def ours(seed, steps, every):
    trained = sfp.train(
        TASK,
        method="sac",
        seed=seed,
        steps=steps,
        update_after=10_000,
        n_step=1,
        alpha=0.2,
        eval_every=every,
        eval_episodes=EPISODES,
        listeners=(lambda step, row: print(step, row, flush=True),),
    )
    return {int(r["step"]): r["eval/mean_reward"] for r in trained.evaluations}


class Tests(BaseCallback):
    def __init__(self, every):
        super().__init__()
        self.every, self.found = every, {}

    def _on_step(self):
        if self.num_timesteps % self.every == 0:
            self.found[self.num_timesteps] = test(
                lambda obs: self.model.predict(obs, deterministic=True)[0]
            )
            print(self.num_timesteps, self.found[self.num_timesteps], flush=True)
        return True


def theirs(seed, steps, every):
    torch.set_num_threads(1)
    tests = Tests(every)
    sb3.SAC(
        "MlpPolicy",
        TASK,
        learning_rate=1e-3,
        batch_size=100,
        buffer_size=500_000,
        learning_starts=10_000,
        train_freq=50,
        gradient_steps=50,
        ent_coef=0.2,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
    ).learn(steps, callback=tests)
    return tests.found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--every", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("results/dense"))
    given = parser.parse_args()
    keep_compiled()
    rows = []
    for name, run in (("sfp", ours), ("stable-baselines3", theirs)):
        for step, value in run(given.seed, given.steps, given.every).items():
            rows.append(
                {"library": name, "seed": given.seed, "step": step, "return": value}
            )
    print("Written:", save_csv(rows, given.out / f"halfcheetah-{given.seed}.csv"))


if __name__ == "__main__":
    main()
