"""Experts of locomotion: policies that ship with sfp, trained on dense rewards."""

import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.random import Generator

from sfp.arrays import load_tree
from sfp.documents import read_json
from sfp.envs.locomotion import ROBOTS
from sfp.envs.registry import Task
from sfp.errors import SfpError
from sfp.files import verify_checksums
from sfp.nets.policy import Policy, mean_action

SHIPPED = Path(__file__).parent / "experts"
CONFIG, WEIGHTS = "config.json", "policy.safetensors"


class Walker:
    """The mean action of a policy over [-1, 1], as a `Recorder`."""

    def __init__(self, policy: Policy):
        self.policy = policy

    def begin(self, rng: Generator) -> None:
        return None

    def act(self, memory: None, obs: Any, rng: Generator) -> tuple[np.ndarray, None]:
        return mean_action(self.policy, np.asarray(obs, np.float32)), None


def known_experts() -> list[str]:
    """The tasks that have an expert."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}"))


def load_expert(task: Task) -> Walker:
    """The expert of a task, if it was trained for these observations and actions."""
    folder, robot = SHIPPED / task.base, ROBOTS[task.base]
    if not (folder / CONFIG).is_file():
        raise SfpError(
            f"no expert ships for {task.base} (there are {', '.join(known_experts())}):"
            f" train one on {robot.name}-v5 and record it with --policy RUN."
        )
    verify_checksums(folder, CONFIG, WEIGHTS)
    held = read_json(folder / CONFIG)
    env = task.make()
    spaces = env.observation_space, env.action_space
    seen, dims = (math.prod(space.shape or ()) for space in spaces)
    env.close()
    trained, wanted = held["task"], f"{robot.name}-v5"
    if (trained, held["obs_size"], len(held["low"])) != (wanted, seen, dims):
        raise SfpError(
            f"the expert of {task.base} is for {trained} with observations of "
            f"{held['obs_size']} numbers and {len(held['low'])} actions, {task.name} "
            f"has {seen} and {dims}: leave out the parameters that change them."
        )
    sizes = {"width": held["width"], "depth": held["depth"]}
    like = jax.eval_shape(lambda: Policy(seen, dims, **sizes, key=jax.random.key(0)))
    read = load_tree(folder / WEIGHTS, like, finite=True)
    return Walker(jax.tree.map(np.asarray, read))
