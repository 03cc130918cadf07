"""What an agent observes: a state, a goal and an image, each of which may be absent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Obs(NamedTuple):
    """One observation, or many with the same leading axes; a tree of arrays.

    What an environment does not show has size 0.

    Attributes:
        state: s_t without the goal, float32.
        goal: the desired goal, float32.
        image: height x width x channels, uint8.
    """

    state: Any
    goal: Any
    image: Any


@dataclass(frozen=True)
class Spec:
    """The sizes of observations and actions.

    Attributes:
        state: dimensions of the state.
        action: dimensions of an action.
        goal: dimensions of a goal; 0 without goals.
        image: shape of an image; empty without images.
        frames: how many successive images its channels are, the oldest first.
    """

    state: int
    action: int
    goal: int = 0
    image: tuple[int, ...] = ()
    frames: int = 1

    def __post_init__(self):
        if len(self.image) not in (0, 3):
            raise ValueError(f"an image has three axes, not {len(self.image)}")

    @property
    def inputs(self) -> int:
        """Dimensions of state and goal together."""
        return self.state + self.goal

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Of the array that `Obs.image` is."""
        height, width, channels = self.image or (0, 0, 0)
        return height, width, channels

    @property
    def pixels(self) -> int:
        """Values in an image."""
        return math.prod(self.image_shape)

    def obs(self, state: Any = None, goal: Any = None, image: Any = None) -> Obs:
        """An observation from the parts that are given; the others are zero."""
        return Obs(
            np.zeros(self.state, np.float32) if state is None else state,
            np.zeros(self.goal, np.float32) if goal is None else goal,
            np.zeros(self.image_shape, np.uint8) if image is None else image,
        )
