"""Gymnasium's MuJoCo robots with a sparse reward: get away from the start."""

import importlib
from typing import Any

import gymnasium as gym
import numpy as np

from sfp.envs import parameters
from sfp.envs.camera import Camera
from sfp.envs.locomotion import ROBOTS
from sfp.envs.wrappers import SparseDisplacement, find_position
from sfp.errors import SfpError, unknown
from sfp.types import Image
from sfp.versions import install


class Locomotion(gym.Env):
    """A robot that must get away; reward 1 while it is far enough, else 0.

    Observations, actions and dynamics are those of Gymnasium's v5, bit for bit. The
    reward is that of `SparseDisplacement`: 1 while the centre of mass is at least
    `threshold` away from where the episode began. Unless `positions`, the position is
    not observed, as in Gymnasium, so that the reward depends on what is hidden. The
    registered ids truncate an episode after 1000 steps.

    Args:
        task: `halfcheetah`, `ant`, `hopper`, `swimmer` or `walker2d`.
        threshold: in metres, or a share of the paper's largest such as `50%`; None is
            the largest.
        signed: count the displacement along x only, with its sign (the authors' code).
        positions: observe the position too.
        falls: whether a fall ends the episode, where the robot can fall.
        render_mode: `rgb_array` or None.
        width: of rendered pictures, in pixels.
        height: of rendered pictures, in pixels.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(
        self,
        task: str = "halfcheetah",
        *,
        threshold: float | str | None = None,
        signed: bool = False,
        positions: bool = False,
        falls: bool = True,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
    ):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SfpError(
                f"expected render_mode 'rgb_array' or None, received {render_mode!r}."
            )
        if task not in ROBOTS:
            raise unknown("robot", task, ROBOTS, "")
        self.robot = robot = ROBOTS[task]
        given = {} if threshold is None else {"threshold": threshold}
        found = parameters.check(task, given, robot.parameters)
        options: dict[str, Any] = {
            "exclude_current_positions_from_observation": not positions
        }
        if robot.falls:
            options["terminate_when_unhealthy"] = falls
        self.simulation = _stock(task, **options)
        self.threshold = float(found.get("threshold", robot.x_max))
        self._sparse = SparseDisplacement(
            self.simulation, self.threshold, signed=signed
        )
        self.observation_space = self.simulation.observation_space
        self.action_space = self.simulation.action_space
        self.metadata = {
            **type(self).metadata,
            "render_fps": self.simulation.metadata["render_fps"],
            "action_names": robot.actions,
        }
        self.render_mode = render_mode
        self._size, self._camera = (width, height), None

    @property
    def position(self) -> np.ndarray:
        """Of the centre of mass, in metres along x and y."""
        return find_position(self.simulation, None, {})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; the seed decides all of it."""
        super().reset(seed=seed)
        self.simulation.np_random = self.np_random
        return self._sparse.reset()

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return self._sparse.step(action)

    def render(self) -> Image | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What the camera that follows the robot sees."""
        if self.render_mode is None:
            return None
        if self._camera is None:
            self._camera = Camera(self.simulation.model, "track", *self._size)
        return self._camera.shoot(self.simulation.data)

    def close(self) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None


def _stock(task: str, **options: Any) -> Any:
    """Gymnasium's own environment, with its dense reward."""
    robot = ROBOTS[task]
    try:
        module = importlib.import_module(f"gymnasium.envs.mujoco.{robot.module}")
        return getattr(module, f"{robot.name}Env")(**options)
    except (ImportError, gym.error.DependencyNotInstalled) as error:
        raise SfpError(
            f"task {task} needs MuJoCo ({error}): {install('mujoco')}."
        ) from None
