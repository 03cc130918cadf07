"""Who records Meta-World: a scripted policy that reaches, and the suite's experts."""

import warnings
from typing import Any

import numpy as np

LOW = np.array([-0.45, 0.4, 0.1])
HIGH = np.array([0.45, 0.85, 0.45])
"""The box that goals are drawn from: what the fingers can reach above the table."""

GAIN = 5.0
NOISE = 0.02
REACHED = 0.05
"""A new goal is drawn within this of the old one: Meta-World's own success."""


class Reaching:
    """A controller that reaches uniformly drawn points, with the gripper at random.

    The action is `GAIN * (goal - fingers)`, clipped, plus N(0, NOISE²), clipped again.
    Its memory is its goal.
    """

    def begin(self, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(LOW, HIGH)

    def act(
        self, memory: np.ndarray, obs: dict[str, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        goal, gap = memory, memory - obs["achieved_goal"]
        if np.linalg.norm(gap) <= REACHED:
            goal = rng.uniform(LOW, HIGH)
            gap = goal - obs["achieved_goal"]
        move = np.clip(GAIN * gap, -1.0, 1.0) + NOISE * rng.standard_normal(3)
        action = np.append(move, rng.uniform(-1.0, 1.0))
        return np.clip(action, -1.0, 1.0).astype(np.float32), goal

    def goal(self, memory: np.ndarray) -> np.ndarray:
        """The goal that it is after, which is not the environment's."""
        return memory


class Expert:
    def __init__(self, task: str):
        self._task = task

    def begin(self, rng: np.random.Generator) -> Any:
        from metaworld.policies import ENV_POLICY_MAP

        return ENV_POLICY_MAP[f"{self._task}-v3"]()

    def act(
        self, memory: Any, obs: dict[str, np.ndarray], rng: np.random.Generator
    ) -> tuple[np.ndarray, Any]:
        seen = np.concatenate([obs["observation"], obs["desired_goal"]])
        with warnings.catch_warnings():  # it says that actions will be clipped
            warnings.simplefilter("ignore")
            action = memory.get_action(seen)
        return np.clip(action, -1.0, 1.0).astype(np.float32), memory
