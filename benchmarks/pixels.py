"""Learning from 64x64 images on one core: updates per second, whole runs, memory.

    python benchmarks/pixels.py     (needs the extra: pip install -e '.[bench]')

SAC with either encoder, batch 100, heads of 2 x 256, against the same network and batch
in eager PyTorch (one thread) and against Stable-Baselines3's CnnPolicy SAC. Required of
the default encoder: as fast as PyTorch, and twice as fast as Stable-Baselines3; 200,000
frames of the replay in at most 2.6 GB. Whole runs make one update per two steps.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import itertools
import sys
import time
from collections import Counter

import jax
import numpy as np
import stable_baselines3 as sb3
import torch
from loop import Ours
from peak import peak
from torch import nn

import sfp
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.config import Networks
from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay, Sizes, as_batch
from sfp.envs.registry import get_task
from sfp.observation import Obs, Spec
from sfp.priors.base import unit_prior
from sfp.training.loop import compile_updates

TASK, SHAPE, DIMS, BATCH, WIDTH = "room:pixels=true", (64, 64, 3), 2, 100, 256
UPDATES, ROUNDS, STEPS, FRAMES = 5, 4, 500, 200_000
SPEC = Spec(0, DIMS, image=SHAPE)


def random_batch():
    """Transitions for a few updates, in NumPy."""
    rng, count = np.random.default_rng(0), UPDATES * BATCH
    none, zero = np.zeros((count, 0), np.float32), np.zeros(count, np.float32)
    image = [rng.integers(0, 256, (count, *SHAPE), dtype=np.uint8) for _ in range(2)]
    parts = dict.fromkeys(Batch._fields, none)
    parts |= {"reward": zero, "discount": zero + 0.9, "relabelled": zero}
    parts["action"] = rng.uniform(-1, 1, (count, DIMS)).astype(np.float32)
    parts |= {"obs": Obs(none, none, image[0]), "next_obs": Obs(none, none, image[1])}
    return parts


class Library:
    """Our SAC."""

    def __init__(self, encoder, parts):
        self.name = f"sfp, {encoder}"
        agent = SAC(SPEC, 0.02, Networks(encoder=encoder))
        self.learn = compile_updates(agent)
        self.state = agent.init(jax.random.key(0))
        self.batches = as_batch(parts, (UPDATES, BATCH))
        self.run()

    def run(self):
        began = time.perf_counter()
        self.state, _ = self.learn(self.state, self.batches, jax.random.key(1))
        jax.block_until_ready(self.state)
        return UPDATES / (time.perf_counter() - began)


def torch_encoder(kind):
    if kind == "conv":
        layers = []
        for i, channels in enumerate((3, 16, 16)):
            layers += [nn.Conv2d(channels, 16, 3), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if i < 2 else []
        return nn.Sequential(*layers, nn.Flatten()), 2304
    stem = nn.Conv2d(3, 32, 8, 8), nn.ReLU(), nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU()
    squash = nn.LayerNorm(50, elementwise_affine=False), nn.Tanh()
    return nn.Sequential(*stem, nn.Flatten(), nn.Linear(2048, 50), *squash), 50


def torch_mlp(*sizes):
    layers = []
    for pair in itertools.pairwise(sizes):
        layers += [nn.Linear(*pair), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Eager:
    """The same networks, losses and optimisers in eager PyTorch."""

    def __init__(self, encoder, parts):
        self.name = f"PyTorch, {encoder}"
        self.encoder, size = torch_encoder(encoder)
        self.slow, _ = torch_encoder(encoder)
        self.policy = torch_mlp(size, WIDTH, WIDTH, 2 * DIMS)
        self.critics, self.targets = (
            nn.ModuleList(torch_mlp(size + DIMS, WIDTH, WIDTH, 1) for _ in range(2))
            for _ in range(2)
        )
        learned = [*self.encoder.parameters(), *self.critics.parameters()]
        self.critic_adam = torch.optim.Adam(learned, 1e-3)
        self.policy_adam = torch.optim.Adam(self.policy.parameters(), 1e-3)
        flat = {k: parts[k] for k in ("action", "reward", "discount")}
        flat |= {k: parts[k].image for k in ("obs", "next_obs")}
        self.rows = [
            {
                k: torch.from_numpy(v[i * BATCH : (i + 1) * BATCH])
                for k, v in flat.items()
            }
            for i in range(UPDATES)
        ]
        self.run()

    def run(self):
        began = time.perf_counter()
        for row in self.rows:
            self._update(row)
        return UPDATES / (time.perf_counter() - began)

    def _update(self, row):
        now, after = (
            row[k].permute(0, 3, 1, 2).float() / 255 - 0.5 for k in ("obs", "next_obs")
        )
        with torch.no_grad():
            action, log_prob = self._sample(self.encoder(after))
            value = self._q(self.targets, self.slow(after), action).min(dim=0).values
            target = row["reward"] + row["discount"] * (value - 0.02 * log_prob)
        features = self.encoder(now)
        loss = ((self._q(self.critics, features, row["action"]) - target) ** 2).mean(1)
        self.critic_adam.zero_grad()
        loss.sum().backward()
        self.critic_adam.step()
        features = features.detach()
        action, log_prob = self._sample(features)
        for weight in self.critics.parameters():
            weight.requires_grad = False
        q = self._q(self.critics, features, action).min(dim=0).values
        self.policy_adam.zero_grad()
        (0.02 * log_prob - q).mean().backward()
        self.policy_adam.step()
        for weight in self.critics.parameters():
            weight.requires_grad = True
        with torch.no_grad():
            pairs = (self.slow, self.encoder), (self.targets, self.critics)
            for slow, fast in pairs:
                both = zip(slow.parameters(), fast.parameters(), strict=True)
                for target, weight in both:
                    target.lerp_(weight, 0.005)

    def _sample(self, features):
        mean, log_std = self.policy(features).chunk(2, dim=1)
        noise, log_std = torch.randn_like(mean), log_std.clamp(-20, 2)
        before = mean + log_std.exp() * noise
        density = -0.5 * noise**2 - log_std - 0.9189385
        slope = 2 * (0.6931472 - before - nn.functional.softplus(-2 * before))
        return before.tanh(), (density - slope).sum(dim=1)

    def _q(self, critics, features, action):
        seen = torch.cat([features, action], dim=1)
        return torch.stack([critic(seen)[:, 0] for critic in critics])


class Baselines3:
    """Stable-Baselines3's SAC with its own convolutional policy."""

    def __init__(self):
        self.name, env = "Stable-Baselines3 CnnPolicy", get_task(TASK).make()
        self.model = sb3.SAC(
            "CnnPolicy",
            env,
            learning_rate=1e-3,
            batch_size=BATCH,
            buffer_size=2_000,
            learning_starts=200,
            train_freq=100,
            gradient_steps=1,
            ent_coef=0.02,
            policy_kwargs={"net_arch": [WIDTH, WIDTH]},
            device="cpu",
            seed=0,
        )
        self.model.learn(300)
        self.run()

    def run(self):
        began = time.perf_counter()
        self.model.train(UPDATES, BATCH)
        return UPDATES / (time.perf_counter() - began)


def flops_per_update(encoder):
    """Multiplications and additions of all matrix products of one update.

    The encoder sees s_t once and s_{t+n} twice; backwards it costs twice as much, but
    for the first layer, which needs no gradient of the image.
    """
    layers, size = ((64 * 192 * 32, 64 * 288 * 32, 2048 * 50), 50)
    if encoder == "conv":
        layers = (62 * 62 * 27 * 16, 29 * 29 * 144 * 16, 12 * 12 * 144 * 16)
        size = 2304
    forward = 2 * sum(layers)
    seen = 3 * forward + 2 * forward - 2 * layers[0]

    def net(*sizes):
        ahead = sum(2 * a * b for a, b in itertools.pairwise(sizes))
        return ahead, ahead - 2 * sizes[0] * sizes[1]

    policy, policy_back = net(size, WIDTH, WIDTH, 2 * DIMS)
    critic, _ = net(size + DIMS, WIDTH, WIDTH, 1)
    heads = policy + 2 * critic + 2 * 3 * critic
    heads += 2 * policy + policy_back + 2 * 2 * critic
    return BATCH * (seen + heads)


def memory():
    """Bytes that a replay of SFP takes when it is full of frames."""
    before = resident()
    sizes = Sizes(obs=0, action=DIMS, history=DIMS, bank=8, image=SHAPE)
    replay = EpisodeReplay(FRAMES, sizes, n_step=10)
    for column in replay.columns.values():
        column[:] = 1
    replay._last[:], replay._terminated[:] = 1, True
    return resident() - before


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    keep_compiled()
    torch.set_num_threads(1)
    parts = random_batch()
    rivals = [kind(e, parts) for e in ("patches", "conv") for kind in (Library, Eager)]
    rivals.append(Baselines3())
    speeds, top = Counter(), peak()
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in rivals:
            speeds[one.name] = max(speeds[one.name], one.run())
    top = max(top, peak())
    for name, speed in speeds.items():
        kind = name.rpartition(" ")[2]
        known = kind in ("patches", "conv")
        share = speed * flops_per_update(kind) / top if known else 0.0
        told = f"   {share:.0%} of the peak" if known else ""
        print(f"{name:28} {speed:7.1f} updates/s{told}")
    prior = unit_prior(sfp.load_prior("room"))
    agents = {"SAC": SAC(SPEC, 0.02), "SFP": SFP(SPEC, (prior,))}
    for name, agent in agents.items():
        run = Ours(
            name, agent, 0.0, task=TASK, update_every=2, capacity=10_000, warm=1000
        )
        speed = max(run.run(STEPS) for _ in range(2))
        used = ", ".join(
            f"{part} {spent / run.spent['all']:.0%}"
            for part, spent in run.spent.items()
            if part != "all"
        )
        print(f"{name} on {TASK}: {speed:.1f} steps/s ({used})")
    taken = memory()
    print(f"{FRAMES:,} frames in the replay: {taken / 1e9:.2f} GB")
    ours = speeds["sfp, patches"]
    bars = {
        "patches / PyTorch": (ours / speeds["PyTorch, patches"], 1.0),
        "patches / Stable-Baselines3": (ours / speeds[rivals[-1].name], 2.0),
        "2.6 GB / memory": (2.6e9 / taken, 1.0),
    }
    print(f"conv / PyTorch: {speeds['sfp, conv'] / speeds['PyTorch, conv']:.2f}")
    for name, (value, bar) in bars.items():
        print(f"{name:28} {value:6.2f}  (at least {bar})")
    print(f"peak {top / 1e9:.1f} GFLOP/s")
    sys.exit(any(value < bar for value, bar in bars.values()))


if __name__ == "__main__":
    main()
