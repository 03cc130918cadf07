"""SAC of Stable-Baselines3 or SBX, with the sizes and the rhythm of `loop.Ours`."""

import time

import torch
from loop import BATCH, ITERATION, WARM

WIDTH = 256


class Theirs:
    """The library's own loop, on an environment whose observations are vectors."""

    def __init__(self, library, name, env, alpha=0.02):
        torch.set_num_threads(1)
        self.name = name
        self.model = library.SAC(
            "MlpPolicy",
            env,
            learning_rate=1e-3,
            batch_size=BATCH,
            buffer_size=500_000,
            learning_starts=1000,
            train_freq=ITERATION,
            gradient_steps=ITERATION,
            ent_coef=alpha,
            policy_kwargs={"net_arch": [WIDTH, WIDTH]},
            device="cpu",
            seed=0,
        )
        self.run(WARM)

    def run(self, steps):
        began = time.perf_counter()
        self.model.learn(steps, reset_num_timesteps=False)
        return steps / (time.perf_counter() - began)
