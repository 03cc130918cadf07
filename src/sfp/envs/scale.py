"""Actions between an environment's bounds and [-1, 1]."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ActionScale:
    """The bounds of actions, in NumPy or in JAX; both ways to [-1, 1] and back."""

    low: Any
    high: Any

    @property
    def middle(self) -> Any:
        return (self.low + self.high) / 2

    @property
    def half(self) -> Any:
        return (self.high - self.low) / 2

    def to_unit(self, actions: Any) -> Any:
        """Actions in units of the bounds; those outside the bounds lie outside."""
        return (actions - _along(self.middle, actions)) / _along(self.half, actions)

    def from_unit(self, units: Any) -> Any:
        return _along(self.middle, units) + _along(self.half, units) * units

    def execute(self, units: np.ndarray) -> np.ndarray:
        """What an environment is given: `low` at -1, and never outside the bounds."""
        actions = self.low + (self.high - self.low) * (0.5 * (units + 1.0))
        return np.clip(actions, self.low, self.high)


def _along(bounds: Any, actions: Any) -> Any:
    """Bounds for the last axis of actions: JAX is to broadcast by our word only."""
    return bounds[(None,) * (actions.ndim - 1)] if actions.ndim > 1 else bounds
