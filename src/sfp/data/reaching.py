"""Who records Meta-World: a scripted policy that reaches, and the suite's experts."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np

from sfp.envs.metaworld import MetaWorld
from sfp.errors import SfpError

LOW = np.array([-0.45, 0.4, 0.1])
HIGH = np.array([0.45, 0.85, 0.45])
"""The box that goals are drawn from: what the fingers can reach above the table."""

GAIN = 5.0
NOISE = 0.02
REACHED = 0.05
"""A new goal is drawn within this of the old one: Meta-World's own success."""


class Recorder(Protocol):
    """Acts in one episode; `goal` is what it is after."""

    goal: np.ndarray

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """One action."""
        ...


class Reaching:
    """Reaches uniformly drawn points with the fingers, gripper at random.

    The action is `GAIN * (goal - fingers)`, clipped, plus N(0, NOISE²), clipped again.
    """

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self.goal = rng.uniform(LOW, HIGH)

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """Towards the goal, or to a new one if it is reached."""
        rng, gap = self._rng, self.goal - observation["achieved_goal"]
        if np.linalg.norm(gap) <= REACHED:
            self.goal = rng.uniform(LOW, HIGH)
            gap = self.goal - observation["achieved_goal"]
        move = np.clip(GAIN * gap, -1.0, 1.0) + NOISE * rng.standard_normal(3)
        action = np.append(move, rng.uniform(-1.0, 1.0))
        return np.clip(action, -1.0, 1.0).astype(np.float32)


class Expert:
    """Meta-World's scripted expert of a task."""

    def __init__(self, task: str, goal: np.ndarray):
        from metaworld.policies import ENV_POLICY_MAP

        self.goal = goal
        self._policy: Any = ENV_POLICY_MAP[f"{task}-v3"]()

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """What the expert does, clipped to the action space."""
        seen = np.concatenate([observation["observation"], self.goal])
        with warnings.catch_warnings():  # it says that actions will be clipped
            warnings.simplefilter("ignore")
            action = self._policy.get_action(seen)
        return np.clip(action, -1.0, 1.0).astype(np.float32)


Episode = dict[str, np.ndarray]


def record(
    env: MetaWorld, task: str, steps: int, seed: int, number: int, *, expert: bool
) -> Episode:
    """One episode; its seed and number decide every bit of it.

    Returns:
        `observation`, `achieved_goal` and `desired_goal` (`steps + 1` rows each),
        `action` and `reward`. The goal is the recorder's, and so is the reward.
    """
    rng = np.random.default_rng([seed, number])
    now, _ = env.reset(seed=int(rng.integers(2**31)))
    recorder: Recorder
    recorder = Expert(task, now["desired_goal"]) if expert else Reaching(rng)
    rows: dict[str, list[Any]] = {name: [] for name in (*now, "action", "reward")}
    for _ in range(steps):
        action = recorder.act(now)
        _append(rows, now, recorder.goal)
        rows["action"].append(action)
        now, reward, *_ = env.step(action)
        if not expert:
            reward = env.compute_reward(now["achieved_goal"], recorder.goal, {})
        rows["reward"].append(reward)
    _append(rows, now, recorder.goal)
    kinds = {"reward": np.float64}
    return {
        name: np.array(row, kinds.get(name, np.float32)) for name, row in rows.items()
    }


def check_recorder(task: str, *, expert: bool) -> None:
    """Refuse what nobody can record."""
    if not expert and task != "reach":
        raise SfpError(
            f"reaching is recorded in reach, not in {task}: add --expert (expert=True) "
            "for the suite's own scripted expert."
        )


def _append(
    rows: dict[str, list[Any]], now: dict[str, np.ndarray], goal: np.ndarray
) -> None:
    rows["observation"].append(now["observation"])
    rows["achieved_goal"].append(now["achieved_goal"])
    rows["desired_goal"].append(goal)
