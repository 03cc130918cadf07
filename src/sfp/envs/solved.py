"""When a task counts as solved: one rule for exploration, training and reports."""

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym


@dataclass(frozen=True)
class Solved:
    """The rule, for one episode or for an evaluation of several.

    Attributes:
        at: the return that the user named; it decides alone.
        threshold: the `reward_threshold` of the environment's spec, which decides where
            the environment does not tell success.
    """

    at: float | None = None
    threshold: float | None = None

    def __call__(self, success: float | None, mean_return: float) -> bool | None:
        """Whether these episodes solve the task; None if nothing says so.

        Args:
            success: the share of episodes that the environment called a success; None
                if it never told.
            mean_return: of the episodes.
        """
        if self.at is None and success is not None:
            return bool(success == 1.0)
        least = self.threshold if self.at is None else self.at
        return None if least is None else bool(mean_return >= least)

    def line(self, *, told: bool) -> float | None:
        """The return that counts; None if success does."""
        return self.at if self.at is not None or told else self.threshold

    def words(self, *, told: bool) -> str:
        """What is required of an evaluation; empty if nothing is known."""
        if self.line(told=told) is not None:
            source = "the reward_threshold of the environment"
            source = source if self.at is None else "--solved-at"
            return f"a mean return of at least {self.line(told=told):g} ({source})"
        return "success in every test episode" if told else ""


def as_return(value: Any) -> float | None:
    """A finite number as it is; None for anything else, which a file may hold."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None


def threshold_of(env: gym.Env) -> float | None:
    """The return from which on an environment's spec calls it solved."""
    return as_return(env.spec.reward_threshold) if env.spec else None


def known_threshold(env_id: str) -> float | None:
    """The same for an id that is registered; nothing is imported or made."""
    spec = gym.registry.get(env_id)
    return as_return(spec.reward_threshold) if spec else None
