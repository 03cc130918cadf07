"""Gradient steps per second of a flow fit: here, in eager PyTorch, and the core's peak.

    python benchmarks/fit.py        (needs the extra: pip install -e '.[bench]')

One process, one core. The same network, batch and optimiser on both sides. Required: at
least 2x eager PyTorch with one thread; at least 70 % of the core's fp32 matrix peak,
measured in the same run, by counted FLOPs.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import itertools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import torch
from peak import peak

from sfp.data.trajectories import Trajectories
from sfp.priors.fit import Fitter, Fitting

BATCH, STEPS, ROUNDS = 400, 200, 4
LAYERS, WIDTH, DIMS = 6, 128, 2


def data():
    rng = np.random.default_rng(0)
    walk = np.sin(0.1 * np.cumsum(rng.standard_normal((200, 500, DIMS)), axis=1))
    return Trajectories(
        walk.reshape(-1, DIMS).astype(np.float32),
        np.arange(1, 201) * 500,
        -np.ones(DIMS, np.float32),
        np.ones(DIMS, np.float32),
    )


def flops_per_step():
    """Multiplications and additions of all matrix products that we do, both ways.

    The encoder's last layer and the coupling's first are one product for the batch,
    which costs a product of their weights. Both sides are the same network.
    """
    first = [(DIMS, WIDTH)]  # nothing goes back to the context
    others = [(WIDTH, WIDTH), (DIMS // 2, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH)]
    others += [(WIDTH, DIMS)]
    per_sample = sum(2 * 2 * a * b for a, b in first)
    per_sample += sum(3 * 2 * a * b for a, b in others)
    return LAYERS * (BATCH * per_sample + 3 * 2 * WIDTH**3)


def ours(recorded):
    """Steps per second of the library's own fitting loop, evaluation left out."""
    fitting = Fitting(epochs=1, epoch_steps=STEPS, batch=BATCH, schedule="constant")
    fitter = Fitter(recorded, fitting=fitting)
    state = fitter.begin()
    rows = np.random.default_rng(0).choice(fitter.train, (STEPS, BATCH))
    model, optimiser = jax.tree.map(jnp.array, (state.model, state.optimiser))
    best = 0.0
    for _ in range(ROUNDS + 1):  # the first one compiles
        began = time.perf_counter()
        model, optimiser, losses = fitter._run(
            model, optimiser, fitter.data, rows, jax.random.key(0)
        )
        losses.block_until_ready()
        best = max(best, STEPS / (time.perf_counter() - began))
    return best


class TorchFlow(torch.nn.Module):
    """The same structure, written as one would in PyTorch."""

    def __init__(self):
        super().__init__()

        def mlp(*sizes):
            layers = []
            for a, b in itertools.pairwise(sizes):
                layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
            return torch.nn.Sequential(*layers[:-1])

        half = DIMS // 2
        self.encoders = torch.nn.ModuleList(
            mlp(DIMS, WIDTH, WIDTH, WIDTH) for _ in range(LAYERS)
        )
        self.nets = torch.nn.ModuleList(
            mlp(half + WIDTH, WIDTH, WIDTH, 2 * (DIMS - half)) for _ in range(LAYERS)
        )
        self.gains = torch.nn.Parameter(torch.zeros(LAYERS, DIMS))
        self.offsets = torch.nn.Parameter(torch.zeros(LAYERS, DIMS))

    def loss(self, x, context):
        total = 0.0
        half = DIMS // 2
        for i in range(LAYERS):
            x = x.flip(1) if i % 2 else x
            kept, moved = x[:, :half], x[:, half:]
            out = self.nets[i](torch.cat([kept, self.encoders[i](context)], 1))
            log_scale, shift = out.chunk(2, 1)
            log_scale = 3 * torch.tanh(log_scale / 3)
            x = torch.cat([kept, (moved - shift) * torch.exp(-log_scale)], 1)
            x = x.flip(1) if i % 2 else x
            variance, mean = torch.var_mean(x, 0, correction=0)
            slope = self.gains[i] - 0.5 * torch.log(variance + 1e-5)
            x = (x - mean) * torch.exp(slope) + self.offsets[i]
            total = total + slope.sum() - log_scale.sum(1)
        log_normal = -0.5 * (x * x + np.log(2 * np.pi)).sum(1)
        return -(log_normal + total).mean()


def theirs(recorded):
    """Steps per second in eager PyTorch with one thread."""
    torch.set_num_threads(1)
    flow = TorchFlow()
    adam = torch.optim.Adam(flow.parameters(), lr=1e-3, weight_decay=1e-6)
    actions = torch.from_numpy(recorded.actions)
    rng = np.random.default_rng(0)
    best = 0.0
    for _ in range(ROUNDS):
        rows = torch.from_numpy(rng.integers(1, len(actions), size=(STEPS, BATCH)))
        began = time.perf_counter()
        for row in rows:
            noise = 0.002 * (2 * torch.rand(BATCH, DIMS) - 1)
            loss = flow.loss(actions[row] + noise, actions[row - 1])
            adam.zero_grad()
            loss.backward()
            adam.step()
        best = max(best, STEPS / (time.perf_counter() - began))
    return best


def main():
    recorded = data()
    top = peak()
    here, torch_speed = ours(recorded), theirs(recorded)
    top = max(top, peak())
    share = here * flops_per_step() / top
    print(f"here    {here:7.1f} gradient steps/s")
    print(f"PyTorch {torch_speed:7.1f} gradient steps/s (eager, one thread)")
    print(f"ratio   {here / torch_speed:7.2f}")
    print(f"peak    {top / 1e9:7.1f} GFLOP/s; {share:.0%} of it reached")
    sys.exit(here < 2 * torch_speed or share < 0.7)


if __name__ == "__main__":
    main()
