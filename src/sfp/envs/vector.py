"""Environments that are stepped together: one, or those of a vector environment."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate

from sfp.envs.adapter import Environment, Observed, Outcome
from sfp.errors import SfpError, reason

PROCESSES = ("async", "sync")
"""Whether every environment has a process of its own, or all share one."""

SAID = ("is_success", "success")
"""What is read of `info`."""


@runtime_checkable
class Environments(Protocol):
    """Environments that are stepped together; each is asked for by its number."""

    name: str

    def reset(self, seeds: Mapping[int, int]) -> dict[int, Observed]:
        """Begin an episode in some of the environments."""
        ...

    def step(self, actions: Sequence[np.ndarray]) -> list[Outcome]:
        """Execute an action of [-1, 1] in every environment."""
        ...


class Alone:
    """A single environment, stepped in this process."""

    def __init__(self, environment: Environment):
        self.environment, self.name = environment, environment.name

    def reset(self, seeds: Mapping[int, int]) -> dict[int, Observed]:
        return {i: self.environment.reset(seed) for i, seed in seeds.items()}

    def step(self, actions: Sequence[np.ndarray]) -> list[Outcome]:
        (action,) = actions
        return [self.environment.step(action)]


class Row(gym.Env):
    """What one environment of a vector environment showed last.

    It lets `Environment` check and unpack a row as it does what a single one shows.
    """

    def __init__(self, vector: VectorEnv):
        self.observation_space = vector.single_observation_space
        self.action_space = vector.single_action_space
        self.metadata = vector.metadata
        self.shown: tuple[Any, ...] = ()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.shown

    def step(self, action: Any) -> Any:
        return self.shown


class Vector:
    """The environments of a Gymnasium vector environment that does not reset itself.

    Args:
        vector: with `AutoresetMode.DISABLED`: every episode has a seed of its own.
        name: of its environments.
    """

    def __init__(self, vector: VectorEnv, name: str):
        check_autoreset(vector, name)
        self.vector, self.name = vector, name
        self._rows = [Row(vector) for _ in range(vector.num_envs)]
        self.environments = [Environment(row, name) for row in self._rows]

    def reset(self, seeds: Mapping[int, int]) -> dict[int, Observed]:
        mask = np.zeros(len(self._rows), bool)
        mask[list(seeds)] = True
        given = [seeds.get(i) for i in range(len(mask))]
        options = {"reset_mask": mask}
        seen, _ = self._call(self.vector.reset, seed=given, options=options)
        shown = list(iterate(self.vector.observation_space, seen))
        found = {}
        for i, seed in seeds.items():
            self._rows[i].shown = shown[i], {}
            found[i] = self.environments[i].reset(seed)
        return found

    def step(self, actions: Sequence[np.ndarray]) -> list[Outcome]:
        pairs = list(zip(self.environments, actions, strict=True))
        executed = np.stack([one.executed(action) for one, action in pairs])
        seen, rewards, ended, cut, info = self._call(self.vector.step, executed)
        shown = list(iterate(self.vector.observation_space, seen))
        outcomes = []
        for i, (environment, action) in enumerate(pairs):
            said = {key: info[key][i] for key in SAID if _told(info, key, i)}
            self._rows[i].shown = shown[i], rewards[i], ended[i], cut[i], said
            outcomes.append(environment.step(action))
        return outcomes

    def _call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # also that of an environment in another process
            raise SfpError(
                f"one of {len(self._rows)} environments {self.name} raised "
                f"{type(error).__name__} ({reason(error)}): try one, with --envs 1."
            ) from error


def _told(info: Mapping[str, Any], key: str, i: int) -> bool:
    """Whether environment i said something; Gymnasium marks it by `_key`."""
    return key in info and bool(info.get(f"_{key}", np.ones(i + 1, bool))[i])


def check_autoreset(vector: VectorEnv, name: str) -> None:
    """Refuse a vector environment that begins episodes by itself."""
    mode = vector.metadata.get("autoreset_mode")
    if mode != AutoresetMode.DISABLED:
        raise SfpError(
            f"the vector environment of {name} resets itself "
            f"({getattr(mode, 'value', mode)}): expected autoreset_mode="
            "gymnasium.vector.AutoresetMode.DISABLED, for every episode has a seed of "
            "its own."
        )


@contextlib.contextmanager
def make_vector(
    make: Callable[[], gym.Env], count: int, name: str, kind: str
) -> Iterator[Vector]:
    """A vector environment of `count` environments, closed in the end.

    Processes are spawned: one that forks would take the threads of JAX with it.
    """
    makers = [partial(_undisturbed, make)] * count
    disabled = AutoresetMode.DISABLED
    try:
        vector: VectorEnv
        if kind == "sync":
            vector = SyncVectorEnv(makers, autoreset_mode=disabled)
        else:
            vector = AsyncVectorEnv(makers, context="spawn", autoreset_mode=disabled)
    except SfpError:
        raise
    except Exception as error:
        raise SfpError(
            f"cannot make {count} environments {name} ({reason(error)}): try --envs 1."
        ) from error
    try:
        yield Vector(vector, name)
    finally:
        try:
            vector.close()
        except Exception:  # of a process that is gone already
            for process in getattr(vector, "processes", ()):
                process.kill()


def _undisturbed(make: Callable[[], gym.Env]) -> gym.Env:
    """An environment whose process leaves it to the learner when to stop.

    Ctrl-C reaches every process of a terminal, but the checkpoint comes first.
    """
    if multiprocessing.parent_process() is not None:
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.SIG_IGN)
    return make()
