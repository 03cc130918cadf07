"""Explorers: what acts without learning, in `sfp explore` and in a method's warm-up."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from sfp.errors import SfpError
from sfp.noise.polyrl import PolyRL
from sfp.noise.processes import Noise, squash
from sfp.outside import calling


class Seen(NamedTuple):
    """Positions and states (with the goal behind), one row per rollout."""

    position: np.ndarray
    states: np.ndarray


@runtime_checkable
class Explorer(Protocol):
    """Acts for many rollouts at once, in [-1, 1]; training has one.

    The memory is a tree of arrays whose shapes never change and that is not modified.
    """

    def begin(self, rng: Generator, seen: Seen, dims: int) -> Any:
        """The memory of new rollouts."""
        ...

    def act(self, memory: Any, seen: Seen, rng: Generator) -> tuple[np.ndarray, Any]:
        """One action for every rollout, and the memory after it."""
        ...

    def perturb(self, memory: Any, rng: Generator, dims: int) -> tuple[np.ndarray, Any]:
        """Standard normal noise for a policy's action once the warm-up is over."""
        ...


@runtime_checkable
class Follower(Protocol):
    """What an explorer has besides if its actions continue those before them."""

    def follow(self, memory: Any, action: np.ndarray) -> Any:
        """The memory after an action that was not its own, of its one rollout."""
        ...


class Independent:
    """The noise of SAC: drawn anew at every step."""

    def perturb(self, memory: Any, rng: Generator, dims: int) -> tuple[np.ndarray, Any]:
        return rng.standard_normal(dims, np.float32), memory


@dataclass(frozen=True)
class Uniform(Independent):
    """Independent actions, uniform in the box: what SAC explores with at first."""

    def begin(self, rng: Generator, seen: Seen, dims: int) -> np.ndarray:
        return np.array([len(seen.position), dims])

    def act(
        self, memory: np.ndarray, seen: Seen, rng: Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return rng.uniform(-1.0, 1.0, size=tuple(memory)), memory


@dataclass(frozen=True)
class Correlated:
    """Uniform actions as well, but correlated in time as a noise is.

    After the warm-up the same noise shakes the policy: a = tanh(μ(s) + σ(s) ε_t), where
    ε_t is standard normal but not independent. The noise begins anew with an episode.
    """

    noise: Noise[Any]

    def begin(self, rng: Generator, seen: Seen, dims: int) -> Any:
        return self.noise.begin(rng, len(seen.position), dims)

    def act(self, memory: Any, seen: Seen, rng: Generator) -> tuple[np.ndarray, Any]:
        noise, memory = self.noise.draw(memory, rng)
        return squash(noise), memory

    def perturb(self, memory: Any, rng: Generator, dims: int) -> tuple[np.ndarray, Any]:
        noise, memory = self.noise.draw(memory, rng)
        return noise[0], memory


@dataclass(frozen=True)
class SelfAvoiding(Independent):
    """PolyRL's locally self-avoiding chains of positions."""

    chain: PolyRL = field(default_factory=PolyRL)

    def begin(self, rng: Generator, seen: Seen, dims: int) -> Any:
        return self.chain.begin(len(seen.position), dims, seen.position)

    def act(self, memory: Any, seen: Seen, rng: Generator) -> tuple[np.ndarray, Any]:
        return self.chain.draw(memory, np.asarray(seen.position, float), rng)


def check_explorer(explorer: object, name: str) -> None:
    """Refuse an explorer that lacks a method or gives no actions, in one line."""
    lacking = [
        part for part in ("begin", "act", "perturb") if not hasattr(explorer, part)
    ]
    if not isinstance(explorer, Explorer):
        raise SfpError(f"the explorer {name} lacks {', '.join(lacking)}.")
    rng, seen = np.random.default_rng(0), Seen(np.zeros((2, 3)), np.zeros((2, 3)))
    with calling(f"the explorer {name}"):
        answer = explorer.act(explorer.begin(rng, seen, 4), seen, rng)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise SfpError(f"act of the explorer {name} must return actions and a memory.")
    actions = np.asarray(answer[0], np.float64)
    if actions.shape != (2, 4) or not (np.abs(actions) <= 1.0).all():
        raise SfpError(
            f"the explorer {name} gave actions of shape {actions.shape} for 2 rollouts "
            "of 4 dimensions: expected one row each, all numbers within [-1, 1]."
        )
