"""Meta-World's ten tasks of MT10: sparse rewards, and no step pays for the rest."""

import importlib
import math
import warnings
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from sfp.envs.camera import Camera
from sfp.envs.manipulation import MANIPULATIONS, PEG_SCALE, quaternion
from sfp.envs.spaces import GOAL_KEYS
from sfp.errors import SfpError, unknown
from sfp.types import Image
from sfp.versions import install

PIXELS = 64
SUBSTEPS = 5
SETTLING = 50
"""Control steps in which the hand moves to its first place at a reset."""

FRAME = 18
"""Numbers of one moment: hand 3, gripper 1, object 3, its quaternion 4, unused 7."""

Observation: TypeAlias = Any
"""A dict of arrays, or an image."""

Saved = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""An episode at one moment: simulator, bodies' places, last frame, goal."""

NOT_TOLD = (
    "success depends on the peg's head, which the achieved goal, the peg's handle, "
    "does not tell"
)


class MetaWorld(gym.Env):
    """A robot arm that manipulates an object; reward 1 on success, else 0.

    Observations, dynamics and success are Meta-World v3's, bit for bit; its dense
    rewards are not computed. The observation is a dict of `observation` (36 numbers:
    hand, gripper, object and its quaternion, now and one step before), `achieved_goal`
    and `desired_goal` (positions: of the object, in `reach` of the point between the
    fingers). Action: displacement of the hand and effort of the gripper, each in
    [-1, 1]. The seed of a reset decides goal and object; an episode never terminates,
    the registered ids truncate it after 500 steps.

    Args:
        task: `reach`, `window-close` and so on.
        pixels: observe a 64x64 RGB image of camera `corner`, the goal drawn into it,
            and nothing else.
        render_mode: `rgb_array` or None.
        camera_name: `corner`, `corner2`, `corner3`, `topview`, `behindGripper`,
            `gripperPOV`.
        width: of rendered pictures, in pixels.
        height: of rendered pictures, in pixels.
    """

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 80,
        "action_names": ("x", "y", "z", "gripper"),
    }

    def __init__(
        self,
        task: str = "reach",
        *,
        pixels: bool = False,
        render_mode: str | None = None,
        camera_name: str = "corner",
        width: int = 480,
        height: int = 480,
    ):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SfpError(
                f"expected render_mode 'rgb_array' or None, received {render_mode!r}."
            )
        if task not in MANIPULATIONS:
            raise unknown("Meta-World task", task, MANIPULATIONS, "")
        self.task = MANIPULATIONS[task]
        self.render_mode = render_mode
        self.no_hindsight = NOT_TOLD if self.task.head else ""
        self.simulation = _stock(task)
        self._view = camera_name, width, height
        self._camera: Camera | None = None
        self._eye: Camera | None = None
        self._shows_images = pixels
        self._bind()
        if pixels:
            self.look(np.zeros(3))  # or say at once that it cannot
        point = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        bounds = np.tile(self._low, 2), np.tile(self._high, 2)
        seen = spaces.Box(*bounds, dtype=np.float64)
        self.observation_space: spaces.Space = (
            spaces.Box(0, 255, (PIXELS, PIXELS, 3), np.uint8)
            if pixels
            else spaces.Dict(dict(zip(GOAL_KEYS, (seen, point, point), strict=True)))
        )
        self.action_space = spaces.Box(-1.0, 1.0, (4,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; the seed decides goal and object.

        The original settles the hand twice: before the object is placed, which only
        leaves it where it belongs for the second time. Here it is placed at once.
        """
        super().reset(seed=seed, options=options)
        stock = self.simulation
        stock.np_random = self.np_random
        stock._freeze_rand_vec = False
        stock._reset_hand = self._stay
        stock.reset_model()
        stock._freeze_rand_vec = True
        stock._reset_hand = self._settle
        self._mujoco.mj_resetData(stock.model, stock.data)
        stock.reset_model()
        self._goal = np.array(stock._target_pos, np.float64)
        now = self._frame()
        self._before = self._clip(now)
        # As in the original, the first observation is not clipped to the space, and
        # shows things that the reset moves where they were before: an open window is
        # shown as closed. Success is a matter of where they are.
        observation = self._observe(now, now, self._achieved(now))
        self._mujoco.mj_kinematics(stock.model, stock.data)
        success = self._is_success(self._achieved(self._frame()))
        return observation, {"is_success": success}

    def step(
        self, action: np.ndarray
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        stock = self.simulation
        delta = np.minimum(np.maximum(action[:3], -1), 1) * stock.action_scale
        place = np.minimum(self._mocap + delta, stock.mocap_high)
        self._mocap[:] = np.maximum(place, stock.mocap_low)
        grip = action[3]
        self._control[:] = grip, -grip
        self._mujoco.mj_step(stock.model, stock.data, SUBSTEPS)
        # Positions after the last substep, and the solver's warm start for the next.
        self._mujoco.mj_forward(stock.model, stock.data)
        now = self._clip(self._frame())
        achieved = self._achieved(now)
        observation = self._observe(now, self._before, achieved)
        self._before = now
        success = self._is_success(achieved)
        return observation, float(success), False, False, {"is_success": success}

    def compute_reward(
        self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any
    ) -> np.ndarray | float:
        if self.no_hindsight:
            raise SfpError(f"rewards cannot be relabelled: {self.no_hindsight}.")
        reward = self.task.reached(achieved_goal, desired_goal).astype(np.float64)
        return reward if reward.ndim else float(reward)

    def render(self) -> Image | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode is None:
            return None
        if self._camera is None:
            self._camera = self._look(*self._view)
        return self._camera.shoot(self.simulation.data)

    def look(self, goal: np.ndarray) -> Image:
        """What `pixels` would show now, with another goal drawn into it."""
        if self._eye is None:
            self._eye = self._look("corner", PIXELS, PIXELS, fast=True)
        return self._eye.shoot(self.simulation.data, goal)

    def save(self) -> Saved:
        """All that the rest of the episode depends on, but for the random stream."""
        stock, state = self.simulation, np.empty(self._state_size)
        self._mujoco.mj_getState(stock.model, stock.data, state, self._state_kind)
        return state, stock.model.body_pos.copy(), self._before, self._goal

    def restore(self, saved: Saved) -> None:
        stock, (state, places, self._before, self._goal) = self.simulation, saved
        stock.model.body_pos[:] = places
        self._mujoco.mj_setState(stock.model, stock.data, state, self._state_kind)

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of what the hand's controller allows it to reach."""
        stock = self.simulation
        return np.array(stock.mocap_low), np.array(stock.mocap_high)

    def close(self) -> None:
        for camera in (self._camera, self._eye):
            if camera is not None:
                camera.close()
        self._camera = self._eye = None

    def _bind(self) -> None:
        """Take hold of the simulator's memory: looking names up costs more."""
        self._mujoco: Any = importlib.import_module("mujoco")
        stock, data, task = self.simulation, self.simulation.data, self.task
        self._mocap, self._control = data.mocap_pos[0], data.ctrl
        self._hand = data.body("hand").xpos
        self._claws = data.body("rightclaw").xpos, data.body("leftclaw").xpos
        self._tips = (
            data.site("rightEndEffector").xpos,
            data.site("leftEndEffector").xpos,
        )
        self._object = getattr(data, task.shown[0])(task.shown[1]).xpos
        self._offset = np.array(task.offset)
        self._turned = None
        if task.turned:
            turned = getattr(data, task.turned[0])(task.turned[1])
            self._turned = turned.xquat if task.turned[0] == "body" else turned.xmat
        self._head = data.site(task.head).xpos if task.head else None
        self._state_kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        self._state_size = self._mujoco.mj_stateSize(stock.model, self._state_kind)
        space = stock.sawyer_observation_space
        self._low, self._high = space.low[:FRAME], space.high[:FRAME]

    def _frame(self) -> np.ndarray:
        frame = np.zeros(FRAME)
        frame[:3] = self._hand
        gap = self._claws[0] - self._claws[1]
        frame[3] = min(math.sqrt(gap.dot(gap)) / 0.1, 1.0)
        frame[4:7] = self._object + self._offset
        if self._turned is not None:
            still = self._turned
            frame[7:11] = still if still.size == 4 else quaternion(still.tolist())
        return frame

    def _clip(self, frame: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(frame, self._low), self._high)

    def _achieved(self, now: np.ndarray) -> np.ndarray:
        right, left = self._tips
        return (right + left) / 2.0 if self.task.fingers else now[4:7].copy()

    def _observe(
        self, now: np.ndarray, before: np.ndarray, achieved: np.ndarray
    ) -> Observation:
        if self._shows_images:
            return self.look(self._goal)
        parts = np.concatenate([now, before]), achieved, self._goal.copy()
        return dict(zip(GOAL_KEYS, parts, strict=True))

    def _is_success(self, achieved: np.ndarray) -> bool:
        if self._head is not None:
            gap = (self._head - self._goal) * PEG_SCALE
            return bool(np.linalg.norm(gap) <= self.task.near)
        return self.task.reaches(achieved, self._goal)

    def _stay(self, steps: int = SETTLING) -> None:
        self.simulation.init_tcp = self.simulation.tcp_center

    def _settle(self, steps: int = SETTLING) -> None:
        stock, data = self.simulation, self.simulation.data
        self._mocap[:] = stock.hand_init_pos
        data.mocap_quat[0] = (1, 0, 1, 0)
        self._control[:] = -1, 1
        self._mujoco.mj_step(stock.model, data, steps * SUBSTEPS)
        stock.init_tcp = stock.tcp_center

    def _look(self, name: str, width: int, height: int, *, fast: bool = False):
        return Camera(self.simulation.model, name, width, height, fast=fast)


def _stock(task: str) -> Any:
    """The original environment: it has the model, and knows how to begin episodes."""
    try:
        from metaworld.env_dict import ALL_V3_ENVIRONMENTS
    except ImportError as error:
        raise SfpError(
            f"task {task} needs Meta-World ({error}): {install('metaworld')}."
        ) from None
    with warnings.catch_warnings():  # of its spaces, about their precision
        warnings.simplefilter("ignore")
        stock = ALL_V3_ENVIRONMENTS[f"{task}-v3"]()
    stock.seeded_rand_vec = True
    stock._set_task_called = True
    return stock
