"""Environment steps per second of whole training runs, with one update per step.

    python benchmarks/train.py      (needs the extra: pip install -e '.[bench]')

One process, one core, `corridor`: our SAC (n-step 10, hindsight 4) and SFP against
Stable-Baselines3's and SBX's SAC (1-step, no hindsight) with the same networks
(2 x 256), batch (100) and rhythm (50 steps, then 50 updates). Required: our SAC at
least 2.5x Stable-Baselines3 and as fast as SBX; our SFP at least 0.65x our SAC; updates
at 70 % of the core's fp32 matrix peak by counted FLOPs; acting at most 5 % and sampling
the replay at most 10 % of a step.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import itertools
import sys
from collections import Counter

import gymnasium as gym
import sbx
import stable_baselines3 as sb3
from loop import BATCH, STEPS, TASK, Ours
from peak import peak
from peers import WIDTH, Theirs

import sfp
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.envs.adapter import Environment
from sfp.priors.base import unit_prior

ROUNDS = 4


def flat():
    """The task as others see it: one vector."""
    env = gym.make(TASK)
    env = gym.wrappers.FilterObservation(env, ["observation", "desired_goal"])
    return gym.wrappers.FlattenObservation(env)


def flops_per_update(agent):
    """Multiplications and additions of all matrix products of one update."""

    def net(*sizes):
        forward = sum(2 * a * b for a, b in itertools.pairwise(sizes))
        return forward, forward - 2 * sizes[0] * sizes[1]  # back to the hidden layers

    obs, dims = agent.spec.inputs, agent.spec.action
    policy, policy_back = net(obs, WIDTH, WIDTH, 2 * dims)
    critic, critic_back = net(obs + dims, WIDTH, WIDTH, 1)
    target = policy + 2 * critic
    critics = 2 * (2 * critic + critic_back)
    policies = 2 * policy + policy_back + 2 * (2 * critic)
    total = target + critics + policies
    if isinstance(agent, SFP):
        mixing, mixing_back = net(obs, 128, 128, 1)
        total += 2 * critic + 2 * mixing + 2 * mixing + mixing_back
    return BATCH * total


def main():
    keep_compiled()
    top = peak()
    environment = Environment(gym.make(TASK))
    prior = unit_prior(sfp.load_prior("room"))
    ours = Ours("sfp SAC", SAC(environment.spec, alpha=0.02), 4.0)
    mixed = Ours("sfp SFP", SFP(environment.spec, (prior,)), 0.0)
    fast = unit_prior(sfp.load_prior("room-fast"))
    quick = Ours("sfp SFP, room-fast", SFP(environment.spec, (fast,)), 0.0)
    peers = [
        Theirs(sb3, "Stable-Baselines3 SAC", flat()),
        Theirs(sbx, "SBX SAC", flat()),
    ]
    speeds, shares, updates = Counter(), {}, {}
    for _ in range(ROUNDS):  # in turns, so that all meet the same weather
        for one in (ours, mixed, quick, *peers):
            speed = one.run(STEPS)
            if speed > speeds[one.name]:
                speeds[one.name] = speed
                if isinstance(one, Ours):
                    shares[one.name] = {
                        part: spent / one.spent["all"]
                        for part, spent in one.spent.items()
                    }
                    updates[one.name] = STEPS / one.spent["update"]
    top = max(top, peak())
    for name, speed in speeds.items():
        print(f"{name:24} {speed:7.1f} steps/s")
    for one in (ours, mixed, quick):
        part = shares[one.name]
        known = ("environment", "act", "replay", "bank", "update")
        other = 1 - sum(part.get(p, 0.0) for p in known)
        reached = updates[one.name] * flops_per_update(one.agent) / top
        print(
            f"{one.name}: environment {part['environment']:.1%}, "
            f"act {part['act']:.1%}, replay {part['replay']:.1%}, "
            f"the prior's proposals for it {part.get('bank', 0.0):.1%}, "
            f"update {part['update']:.1%}, other {other:.1%}; "
            f"{updates[one.name]:.0f} updates/s, {reached:.0%} of the peak"
        )
    sac = speeds[ours.name]
    bars = {
        "SAC / Stable-Baselines3": (sac / speeds[peers[0].name], 2.5),
        "SAC / SBX": (sac / speeds[peers[1].name], 1.0),
        "SFP / SAC": (speeds[mixed.name] / sac, 0.65),
        "SFP with room-fast / SAC": (speeds[quick.name] / sac, 0.65),
        "share of the peak, SAC": (
            updates[ours.name] * flops_per_update(ours.agent) / top,
            0.7,
        ),
        "5 % / acting share, SFP": (0.05 / shares[mixed.name]["act"], 1.0),
        "10 % / replay share, SAC": (0.10 / shares[ours.name]["replay"], 1.0),
        "10 % / replay share, SFP": (
            0.10 / (shares[mixed.name]["replay"] + shares[mixed.name]["bank"]),
            1.0,
        ),
    }
    for name, (value, bar) in bars.items():
        print(f"{name:26} {value:6.2f}  (at least {bar})")
    print(f"peak {top / 1e9:.1f} GFLOP/s")
    sys.exit(any(value < bar for value, bar in bars.values()))


if __name__ == "__main__":
    main()
