"""Cameras in MuJoCo: good pictures for people, fast ones to learn from."""

import atexit
import importlib
import os
import platform
import weakref
from typing import Any

import numpy as np

from sfp.errors import SfpError, unknown
from sfp.types import Image

BACKENDS = ("egl", "osmesa", "glfw") if platform.system() == "Linux" else ("glfw",)
PLAIN = ("SHADOW", "REFLECTION")
"""What fast pictures go without, besides multisampling."""

SHADOWS = 1024
"""Pixels of a shadow's side, at most: more are not seen, but paid for."""

BALL, GREEN = 0.03, np.array([0.0, 1.0, 0.0, 1.0], np.float32)
"""How a goal is drawn: radius in metres (two pixels of 64 at the table), colour."""

REMEDY = (
    "Pictures of MuJoCo need OpenGL: apt-get install libegl-mesa0 libgl1-mesa-dri, or "
    "libosmesa6. Everything else works without."
)


class Camera:
    """Takes pictures of a simulation; turned if the camera hangs upside down."""

    def __init__(
        self, model: Any, name: str, width: int, height: int, *, fast: bool = False
    ):
        mujoco: Any = importlib.import_module("mujoco")
        if min(width, height) < 1:
            raise SfpError(
                f"expected a picture of at least 1x1 pixels, received {width}x{height}."
            )
        known = [model.camera(i).name for i in range(model.ncam)]
        if name not in known:
            raise unknown("camera", name, known, "")
        self._mujoco, self._model = mujoco, model
        self._gl = open_gl(width, height)
        self._gl.make_current()
        quality, size = model.vis.quality, model.vis.global_
        before = quality.offsamples, quality.shadowsize, size.offwidth, size.offheight
        quality.shadowsize = 0 if fast else min(SHADOWS, quality.shadowsize)
        quality.offsamples = 0 if fast else quality.offsamples
        size.offwidth, size.offheight = width, height
        font = mujoco.mjtFontScale.mjFONTSCALE_100
        self._context = mujoco.MjrContext(model, font)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        quality.offsamples, quality.shadowsize, size.offwidth, size.offheight = before
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        for flag in PLAIN if fast else ():
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._view.fixedcamid = known.index(name)
        self._options = mujoco.MjvOption()
        self._rectangle = mujoco.MjrRect(0, 0, width, height)
        up = model.cam_mat0[known.index(name)].reshape(3, 3)[2, 1]
        self._hangs = bool(up < -0.1)
        self.close = weakref.finalize(self, _free, self._context, self._gl)
        # At the interpreter's end too, but before MuJoCo ends OpenGL itself.
        self.close.atexit = False
        atexit.register(self.close)

    def shoot(self, data: Any, goal: np.ndarray | None = None) -> Image:
        """An image; a goal is drawn as a green ball."""
        mujoco = self._mujoco
        image = np.empty((self._rectangle.height, self._rectangle.width, 3), np.uint8)
        self._gl.make_current()
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._options,
            None,
            self._view,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        if goal is not None:
            self._draw(goal)
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(image, None, self._rectangle, self._context)
        # OpenGL's first row is the bottom one.
        return np.ascontiguousarray(image[:, ::-1] if self._hangs else image[::-1])

    def _draw(self, goal: np.ndarray) -> None:
        ball, scene = self._mujoco.mjtGeom.mjGEOM_SPHERE, self._scene
        size, straight = np.full(3, BALL), np.eye(3).ravel()
        geom = scene.geoms[scene.ngeom]
        self._mujoco.mjv_initGeom(geom, ball, size, goal, straight, GREEN)
        scene.ngeom += 1


def open_gl(width: int, height: int) -> Any:
    """An off-screen context of the first way to OpenGL that works.

    `MUJOCO_GL` chooses one, as everywhere in MuJoCo.
    """
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    reasons = []
    for backend in (asked,) if asked in BACKENDS else BACKENDS:
        try:
            module = importlib.import_module(f"mujoco.{backend}")
            return module.GLContext(width, height)
        except Exception as error:  # each backend fails in ways of its own
            reason = str(error) or type(error).__name__
            reasons.append(f"{backend}: {reason.splitlines()[0]}")
    raise SfpError(f"{REMEDY} Tried {'; '.join(reasons)}.")


def _free(context: Any, gl: Any) -> None:
    context.free()
    gl.free()
