"""Pictures of a maze: small ones to learn from, large ones for people."""

import numpy as np

from sfp.envs.layout import Layout
from sfp.errors import SfpError
from sfp.types import Image

FREE = (255, 255, 255)
WALL = (70, 70, 70)
AGENT = (255, 0, 0)
GOAL = (0, 255, 0)


class Canvas:
    """Maps the plane to pixels (row 0 is the top) and paints on them.

    To keep the aspect leaves wall at the borders rather than stretch the maze.
    """

    def __init__(
        self, layout: Layout, width: int, height: int, *, keep_aspect: bool = True
    ):
        if min(width, height) < 1:
            raise SfpError(
                f"expected a picture of at least 1x1 pixels, received {width}x{height}."
            )
        size = np.array([width, height], float)
        scale = size / (layout.high - layout.low)
        if keep_aspect:
            scale[:] = scale.min()
        self._scale = scale
        self._low = (layout.low + layout.high - size / scale) / 2
        self._height = height
        x = self._low[0] + (np.arange(width) + 0.5) / scale[0]
        y = self._low[1] + (height - np.arange(height) - 0.5) / scale[1]
        self._x, self._y = x[None, :], y[:, None]
        free = _free_at(layout, x, y)
        self.blank: Image = np.where(
            free[..., None], np.array(FREE, np.uint8), np.array(WALL, np.uint8)
        )

    def disc(
        self, image: Image, centre: np.ndarray, radius: float, colour: tuple
    ) -> None:
        """Paint a disc (radius in cells), smooth at its edge, at least 1.5 pixels."""
        pixel = 1.0 / self._scale.min()
        radius = max(radius, 1.5 * pixel)
        x, y = self._x[0] - centre[0], self._y[:, 0] - centre[1]
        rows, columns = (_around(along, radius + pixel) for along in (y, x))
        distance = np.hypot(x[None, columns], y[rows, None])
        cover = np.clip((radius - distance) / pixel + 0.5, 0.0, 1.0)[..., None]
        part = image[rows, columns]
        part[:] = np.rint(part * (1.0 - cover) + np.array(colour) * cover)

    def square(self, image: Image, centre: np.ndarray, colour: tuple) -> None:
        """Paint the 3x3 pixels around a point, cut at the border of the picture."""
        column = int((centre[0] - self._low[0]) * self._scale[0])
        row = self._height - 1 - int((centre[1] - self._low[1]) * self._scale[1])
        image[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2] = colour


def _around(distance: np.ndarray, radius: float) -> slice:
    """The stretch of a line of pixels within a radius, given each one's distance."""
    (near,) = np.nonzero(np.abs(distance) <= radius)
    return slice(near[0], near[-1] + 1) if near.size else slice(0, 0)


def _free_at(layout: Layout, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether the points (x, y) of a pixel raster are free, as rows by columns."""
    width, height = layout.free.shape
    i = np.rint(x).astype(int) - layout.origin[0]
    j = np.rint(y).astype(int) - layout.origin[1]
    inside = ((i >= 0) & (i < width))[None, :] & ((j >= 0) & (j < height))[:, None]
    i, j = np.clip(i, 0, width - 1), np.clip(j, 0, height - 1)
    return layout.free[i[None, :], j[:, None]] & inside
