"""A film of explorers, side by side: one episode each, before any learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from PIL import Image as Picture
from PIL import ImageDraw

from sfp.envs.adapter import make_env
from sfp.exploration.explorers import explore
from sfp.priors.base import Prior
from sfp.training.evaluate import render
from sfp.training.video import RATE, Film
from sfp.types import Image

HEIGHT, CAPTION = 240, 18
"""Pixels of an explorer's pictures, and of the words below them."""

ABREAST = 3
"""Explorers in a row, at most."""

FRAMES = 5 * RATE
"""Of a film, at most: of longer episodes every second step is shown, or every third."""


Shot: TypeAlias = tuple[Picture.Image, str]
"""A picture, and what is told below it."""


class Camera(gym.Wrapper):
    """Takes small pictures of episodes of so many steps; a reset begins a new reel."""

    def __init__(self, env: gym.Env, task: str, steps: int):
        super().__init__(env)
        self.reels: list[list[Shot]] = []
        self._task, self._every = task, -(-steps // FRAMES)
        self._step, self._total, self._start = 0, 0.0, np.zeros(0)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        found = super().reset(**kwargs)
        self._step, self._total, self._start = 0, 0.0, self._position()
        self.reels.append([self._picture()])
        return found

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        found = super().step(action)
        self._step += 1
        self._total += float(found[1])
        if self._step % self._every == 0 or found[2] or found[3]:
            self.reels[-1].append(self._picture())
        return found

    def _position(self) -> np.ndarray:
        """Where a robot is that walks; elsewhere nothing is known of it."""
        return np.array(getattr(self.env.unwrapped, "position", ()), np.float64)

    def _picture(self) -> Shot:
        picture = Picture.fromarray(render(self.env, self._task))
        width = max(1, round(picture.width * HEIGHT / picture.height))
        told = f"return {self._total:g}"
        if self._start.size:
            away = np.linalg.norm(self._position() - self._start)
            told = f"{away:.1f} m, {told}"
        return picture.resize((width, HEIGHT)), told


def film_explorers(
    task: str,
    explorers: Sequence[str],
    film: Film,
    *,
    priors: Mapping[str, Prior],
    steps: int,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Let each explorer act for an episode, and show all episodes at a time.

    All begin with the same reset. An episode that ends sooner stands still. There is no
    scripted policy here: it does not act through the environment.
    """
    camera = Camera(make_env(task, render_mode="rgb_array"), task, steps)
    explore(
        camera,
        explorers,
        priors=priors,
        trajectories=1,
        repetitions=1,
        steps=steps,
        seed=seed,
        progress=progress,
    )
    camera.close()
    reels, names = camera.reels, [*explorers, *priors]
    for i in range(max(map(len, reels))):
        shots = [reel[min(i, len(reel) - 1)] for reel in reels]
        film(_side_by_side(dict(zip(names, shots, strict=True))))


def _side_by_side(shots: Mapping[str, Shot]) -> Image:
    """One picture of all, a caption below each."""
    width = max(picture.width for picture, _ in shots.values())
    columns = min(ABREAST, len(shots))
    size = columns * width, -(-len(shots) // columns) * (HEIGHT + CAPTION)
    sheet = Picture.new("RGB", size, "white")
    ink = ImageDraw.Draw(sheet)
    for i, (name, (picture, told)) in enumerate(shots.items()):
        x, y = i % columns * width, i // columns * (HEIGHT + CAPTION)
        sheet.paste(picture, (x, y))
        ink.text((x + 4, y + HEIGHT + 3), f"{name}: {told}", fill="black")
    return np.asarray(sheet)
