"""Point-maze environments: goal-conditioned, sparse reward, vectors or pixels."""

from pathlib import Path
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sfp.envs import layout as layouts
from sfp.envs.layout import Layout
from sfp.envs.motion import HAIR, Motion
from sfp.envs.picture import AGENT, GOAL, Canvas
from sfp.envs.spaces import GOAL_KEYS
from sfp.errors import SfpError, unknown
from sfp.types import Image, Positions

RADIUS = 1.2
"""The goal counts as reached within this distance, in cells."""

MARGIN = 0.05
"""An episode begins at least this far from a wall."""

PIXELS = 64

Observation: TypeAlias = dict[str, np.ndarray] | Image

LAYOUTS = {
    "room": lambda: layouts.room("room", 29),
    "corridor": lambda: layouts.corridor("corridor"),
    "maze": lambda: layouts.maze("maze"),
    "room-large": lambda: layouts.room("room-large", 81),
}
_built: dict[str, Layout] = {}


def get_layout(layout: str | Layout) -> Layout:
    if isinstance(layout, Layout):
        return layout
    if layout in LAYOUTS:
        if layout not in _built:
            _built[layout] = LAYOUTS[layout]()
        return _built[layout]
    if "\n" in layout:
        return Layout.from_ascii(layout)
    if Path(layout).is_file():
        return Layout.from_file(Path(layout))
    raise unknown(
        "maze", layout, LAYOUTS, "Or give an ASCII map, or the path of a file with one."
    )


class Maze:
    """What single and batched mazes share: geometry, scaling, reward, start."""

    def __init__(self, layout: str | Layout):
        self.layout = get_layout(layout)
        self.move = Motion(self.layout)
        self.extent = self.layout.high - self.layout.low

    def scale(self, position: Positions) -> np.ndarray:
        """Positions in cells to observations in [0, 1], float32."""
        return ((position - self.layout.low) / self.extent).astype(np.float32)

    def reached(
        self, achieved: np.ndarray, desired: np.ndarray
    ) -> np.ndarray | np.bool:
        """Whether scaled positions lie within `RADIUS` cells of scaled goals."""
        gap = np.subtract(achieved, desired, dtype=np.float64) * self.extent
        return gap[..., 0] * gap[..., 0] + gap[..., 1] * gap[..., 1] <= RADIUS * RADIUS

    def draw_start(self, count: int, rng: np.random.Generator) -> Positions:
        """Uniform in the start cells, at least `MARGIN` away from any wall."""
        cell = self.layout.starts[rng.integers(len(self.layout.starts), size=count)]
        sides = [[(-1, 0), (1, 0)], [(0, -1), (0, 1)]]
        padded = self.layout.padded
        index = cell - np.array(self.layout.origin) + 1
        room = np.empty((count, 2, 2))
        for axis, pair in enumerate(sides):
            for side, (dx, dy) in enumerate(pair):
                is_open = padded[index[:, 0] + dx, index[:, 1] + dy]
                room[:, axis, side] = np.where(is_open, 0.5 - HAIR, 0.5 - MARGIN)
        low, high = cell - room[:, :, 0], cell + room[:, :, 1]
        return low + (high - low) * rng.random((count, 2))

    def draw_goal(self, count: int, rng: np.random.Generator) -> Positions:
        """Centres of goal cells, each equally likely."""
        goals = self.layout.goals
        return goals[rng.integers(len(goals), size=count)].astype(float)


class PointMaze(gym.Env):
    """A velocity-controlled point that must find a goal among walls.

    Observation: a dict of `observation` (the position scaled to [0, 1]),
    `achieved_goal` and `desired_goal` (scaled positions), or an image of agent, goal
    and walls alone. Action: the displacement of
    one step, in [-1, 1] per axis. Reward: 1 within 1.2 cells of the goal, else 0. An
    episode never terminates; the registered ids truncate it after 500 steps.

    Args:
        layout: `room`, `corridor`, `maze`, `room-large`, an ASCII map (`#` wall, `.`
            free, `S` start, `G` goal), the path of a file with one, or a `Layout`.
        pixels: observe a 64x64 RGB image instead of positions.
        render_mode: `rgb_array` or None.
        width: of rendered pictures, in pixels.
        height: of rendered pictures, in pixels.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        layout: str | Layout = "maze",
        *,
        pixels: bool = False,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
    ):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SfpError(
                f"expected render_mode 'rgb_array' or None, received {render_mode!r}."
            )
        self.render_mode = render_mode
        self.maze = Maze(layout)
        self._size = width, height
        self._canvas: Canvas | None = None
        self._eye = (
            Canvas(self.maze.layout, PIXELS, PIXELS, keep_aspect=False)
            if pixels
            else None
        )
        point = spaces.Box(0.0, 1.0, (2,), np.float32)
        self.observation_space: spaces.Space = (
            spaces.Box(0, 255, (PIXELS, PIXELS, 3), np.uint8)
            if pixels
            else spaces.Dict(dict.fromkeys(GOAL_KEYS, point))
        )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.position = np.zeros((1, 2))
        self.goal = np.zeros((1, 2))

    @property
    def goal_count(self) -> int:
        """How many goals there are to choose from."""
        return len(self.maze.layout.goals)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; the seed decides start, goal and all that follows.

        The option `goal` chooses one of the maze's goals by its number.
        """
        super().reset(seed=seed, options=options)
        self.position = self.maze.draw_start(1, self.np_random)
        self.goal = self.maze.draw_goal(1, self.np_random)
        if options and "goal" in options:
            self.goal = self._choose(options["goal"])
        self._desired = self.maze.scale(self.goal)[0]
        if self._eye is not None:
            self._scene = self._eye.blank.copy()
            self._eye.square(self._scene, self.goal[0], GOAL)
        achieved = self.maze.scale(self.position)[0]
        return self._observe(achieved), {"is_success": self._is_success(achieved)}

    def step(
        self, action: np.ndarray
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move by the action, clipped to [-1, 1]."""
        move = np.minimum(np.maximum(np.asarray(action, np.float64), -1.0), 1.0)
        self.position = self.maze.move(self.position, move[None], self.np_random)
        achieved = self.maze.scale(self.position)[0]
        seen, success = self._observe(achieved), self._is_success(achieved)
        return seen, float(success), False, False, {"is_success": success}

    def compute_reward(
        self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any
    ) -> np.ndarray | float:
        """The step reward for any achieved and desired goals, one or many."""
        reward = self.maze.reached(achieved_goal, desired_goal).astype(np.float64)
        return reward if reward.ndim else float(reward)

    def render(self) -> Image | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The maze from above: walls grey, the goal's disc green, the agent red."""
        if self.render_mode is None:
            return None
        if self._canvas is None:
            self._canvas = Canvas(self.maze.layout, *self._size)
        picture = self._canvas.blank.copy()
        self._canvas.disc(picture, self.goal[0], RADIUS, GOAL)
        self._canvas.disc(picture, self.position[0], 0.4, AGENT)
        return picture

    def _choose(self, number: Any) -> Positions:
        if type(number) is not int or not 0 <= number < self.goal_count:
            raise SfpError(
                f"expected the option goal as a whole number below {self.goal_count}, "
                f"received {number!r}."
            )
        return self.maze.layout.goals[[number]].astype(float)

    def _is_success(self, achieved: np.ndarray) -> bool:
        return bool(self.maze.reached(achieved, self._desired))

    def _observe(self, achieved: np.ndarray) -> Observation:
        if self._eye is not None:
            image = self._scene.copy()
            self._eye.square(image, self.position[0], AGENT)
            return image
        parts = achieved.copy(), achieved, self._desired.copy()
        return dict(zip(GOAL_KEYS, parts, strict=True))


class MazeBatch:
    """N independent points in one maze, stepped in one NumPy call."""

    def __init__(self, layout: str | Layout, count: int, rng: np.random.Generator):
        self.maze = Maze(layout)
        self.rng = rng
        self.position = self.maze.draw_start(count, rng)
        self.goal = self.maze.draw_goal(count, rng)

    def step(self, actions: np.ndarray) -> Positions:
        """Move every point by its action, clipped to [-1, 1]; return the positions."""
        move = np.minimum(np.maximum(np.asarray(actions, np.float64), -1.0), 1.0)
        self.position = self.maze.move(self.position, move, self.rng)
        return self.position
