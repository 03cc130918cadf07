"""Meta-World: steps, pictures, experts and training, against the original.

    python benchmarks/manipulation.py [step] [render] [experts] [train]

In one process, in turns. Required: a step at least 2x as fast as one of
`gym.make("Meta-World/MT1", ...)`, over all ten tasks; a fast 64x64 picture at least 6x
as fast as the original's default; every scripted expert succeeds in at least 80 % of
episodes, as in the original; the environment takes at most 15 % of a training step.
Times are the process's own, so that other jobs disturb little.
"""

import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before JAX counts cores
os.environ.setdefault("MUJOCO_GL", "egl")

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import sys
import time
import warnings

import gymnasium as gym
import metaworld  # noqa: F401  (registers the original)
import numpy as np
from loop import STEPS as TRAINING
from loop import Ours
from metaworld.policies import ENV_POLICY_MAP

import sfp
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.data.reaching import Expert
from sfp.data.record import roll
from sfp.envs.adapter import Environment
from sfp.envs.manipulation import MANIPULATIONS
from sfp.envs.metaworld import MetaWorld
from sfp.envs.registry import get_task
from sfp.priors.base import unit_prior

STEPS, ROUNDS, EPISODES = 250, 4, 25


def original(task, **kwargs):
    return gym.make("Meta-World/MT1", env_name=f"{task}-v3", seed=0, **kwargs)


def timed(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def step():
    """Steps of random actions and of the expert's, without resets."""
    print(f"{'task':22} {'original':>9} {'ours':>9}   ratio   (ms per step)")
    ratios, rng = [], np.random.default_rng(0)
    for task in MANIPULATIONS:
        envs = original(task), get_task(task).make()
        best = np.full(2, np.inf)
        for _ in range(ROUNDS):
            actions = rng.uniform(-1, 1, (STEPS, 4)).astype(np.float32)
            for i, env in enumerate(envs):
                env.reset(seed=0)
                spent = timed(lambda env=env: [env.step(a) for a in actions])  # noqa: B023
                best[i] = min(best[i], spent / STEPS * 1e3)
        ratios.append(best[0] / best[1])
        print(f"{task:22} {best[0]:9.3f} {best[1]:9.3f} {ratios[-1]:6.2f}x")
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"geometric mean {mean:.2f}x, least {min(ratios):.2f}x")
    return {"step / original": (min(ratios), 2.0)}


def render():
    """64x64 pictures of `corner`."""
    size = {"width": 64, "height": 64, "render_mode": "rgb_array"}
    theirs = original("reach", camera_name="corner", **size)
    theirs.reset()
    theirs.render()
    slow = min(timed(theirs.render) for _ in range(10))
    theirs.close()  # it does not ask whose turn it is to draw
    ours = MetaWorld("reach", pixels=True)
    ours.reset(seed=0)
    fast = min(timed(lambda: ours.step(np.zeros(4, np.float32))) for _ in range(30))
    print(f"64x64: original {slow * 1e3:.1f} ms, ours {fast * 1e3:.1f} with a step")
    return {"picture / original": (slow / fast, 6.0)}


def experts():
    """Share of episodes in which the scripted expert succeeds, here and there."""
    least = 1.0
    print(f"{'task':22} {'original':>9} {'ours':>9}   (of {EPISODES} episodes)")
    for task in MANIPULATIONS:
        ours, theirs = MetaWorld(task), original(task)
        streams = [np.random.default_rng([0, i]) for i in range(EPISODES)]
        made = [roll(ours, Expert(task), 500, rng) for rng in streams]
        here = np.mean([any(episode.rewards) for episode in made])
        there = np.mean([_succeeds(theirs, task) for _ in range(EPISODES)])
        least = min(least, here)
        print(f"{task:22} {there:9.2f} {here:9.2f}")
    return {"least expert": (least, 0.8)}


def _succeeds(env, task):
    policy, (seen, _) = ENV_POLICY_MAP[f"{task}-v3"](), env.reset()
    for _ in range(500):
        action = np.clip(policy.get_action(seen), -1, 1).astype(np.float32)
        seen, *_, info = env.step(action)
        if info["success"]:
            return True
    return False


def train():
    """Shares of a training step on `window-close`."""
    keep_compiled()
    environment = Environment(get_task("window-close").make())
    prior = unit_prior(sfp.load_prior("reach"))
    task, bars = "sfp/WindowClose-v0", {}
    for one in (
        Ours("SAC", SAC(environment.spec, alpha=0.2), 4.0, task),
        Ours("SFP", SFP(environment.spec, (prior,)), 0.0, task),
    ):
        speed = max(one.run(TRAINING) for _ in range(2))
        part = {name: spent / one.spent["all"] for name, spent in one.spent.items()}
        shares = ", ".join(f"{k} {v:.1%}" for k, v in part.items() if k != "all")
        print(f"{one.name}: {speed:.0f} steps/s; {shares}")
        bars[f"15 % / environment, {one.name}"] = (0.15 / part["environment"], 1.0)
    return bars


def main():
    warnings.simplefilter("ignore")
    parts = {"step": step, "render": render, "experts": experts, "train": train}
    bars = {}
    for name in sys.argv[1:] or parts:
        bars |= parts[name]()
    for name, (value, bar) in bars.items():
        print(
            f"{name}: {value:.2f} (required {bar}) {'' if value >= bar else 'MISSED'}"
        )
    sys.exit(any(value < bar for value, bar in bars.values()))


if __name__ == "__main__":
    main()
