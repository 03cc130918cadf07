"""Gradient steps per second of a flow fit: here, in eager PyTorch, and the core's peak.

    python benchmarks/fit.py        (needs the extra: pip install -e '.[bench]')

One process, one core. The same network, batch and optimiser on both sides. Required: at
least 2x eager PyTorch with one thread; at least 70 % of the core's fp32 matrix peak,
measured in the same run, by counted FLOPs. Beside it what the mixture costs: a default
fit in at most 60 seconds, acting in at most 0.03 ms, proposals for a batch in at most a
third of the flow's time.
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

import sfp
from sfp.data.trajectories import Trajectories
from sfp.priors.fit import Fitter, Fitting, settings
from sfp.priors.sampler import Sampler

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


def speed(recorded, model, batch=BATCH):
    """Steps per second of the library's own fitting loop, evaluation left out."""
    fitting = Fitting(epochs=1, epoch_steps=STEPS, batch=batch, schedule="constant")
    fitter = Fitter(recorded, model=model, fitting=fitting)
    state, batches = fitter.begin(), fitter.batches
    items = np.random.default_rng(0).integers(batches.size, size=(STEPS, batch))
    rows = batches.load(items)
    model, optimiser = jax.tree.map(jnp.array, (state.model, state.optimiser))
    best = 0.0
    for _ in range(ROUNDS + 1):  # the first one compiles
        began = time.perf_counter()
        model, optimiser, losses = fitter._run(
            model, optimiser, batches.resident, rows, jax.random.key(0)
        )
        losses.block_until_ready()
        best = max(best, STEPS / (time.perf_counter() - began))
    return best


def whole(recorded):
    """Seconds of a default fit of the mixture, from the data to the held-out score."""
    began = time.perf_counter()
    fitter = Fitter(recorded, model="mixture", fitting=settings("mixture"))
    state = fitter.begin()
    for _, latest in fitter.epochs(state):
        state = latest
    fitter.score(state.best)
    return time.perf_counter() - began, fitter.prior(state)


def acting(prior):
    """Seconds of one action, as a run draws it."""
    sampler, rng = Sampler(prior), np.random.default_rng(0)
    history, state = np.full((1, DIMS), 0.3, np.float32), np.zeros(4, np.float32)
    return best_of(lambda: [sampler(rng, history, state) for _ in range(500)]) / 500


def proposing(prior):
    """Seconds of proposals for a batch of 500 histories, eight each."""
    keys = jax.random.split(jax.random.key(0), (500, 8))
    contexts = jax.random.uniform(jax.random.key(1), (500, DIMS), minval=-1.0)
    often = jax.vmap(prior.sample, in_axes=(0, None))
    propose = jax.jit(jax.vmap(often))
    return best_of(lambda: propose(keys, contexts).block_until_ready())


def best_of(call, rounds=20):
    call()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


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
    here, torch_speed = speed(recorded, "realnvp"), theirs(recorded)
    top = max(top, peak())
    share = here * flops_per_step() / top
    print(f"here    {here:7.1f} gradient steps/s")
    print(f"PyTorch {torch_speed:7.1f} gradient steps/s (eager, one thread)")
    print(f"ratio   {here / torch_speed:7.2f}")
    print(f"peak    {top / 1e9:7.1f} GFLOP/s; {share:.0%} of it reached")
    seconds, mixture = whole(recorded)
    flow = sfp.load_prior("room")
    act, propose = acting(mixture), proposing(mixture)
    ratio = propose / proposing(flow)
    print(f"mixture {speed(recorded, 'mixture'):7.1f} gradient steps/s")
    print(f"        {seconds:7.1f} s for a default fit")
    print(
        f"        {1000 * act:7.4f} ms to act ({1000 * acting(flow):.4f} by the flow)"
    )
    print(f"        {ratio:7.2f} of the flow's time for a batch of proposals")
    slow = here < 2 * torch_speed or share < 0.7
    sys.exit(slow or seconds > 60 or act > 3e-5 or ratio > 1 / 3)


if __name__ == "__main__":
    main()
