"""A test episode as a moving picture, where there is no maze to draw."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from html import escape

from PIL import Image as Picture

from sfp.envs.adapter import make_env
from sfp.envs.identity import identify
from sfp.errors import SfpError
from sfp.report.records import RunRecord
from sfp.training.evaluate import Episode, evaluate_policy
from sfp.training.trained import Trained
from sfp.types import Image

FRAMES = 60
"""Pictures of an episode, at least half as many if it is that long."""

TALLEST = 180
"""Pixels of a picture."""

SECONDS = 4
"""That an episode takes to watch."""


@dataclass
class Reel:
    """Keeps pictures of an episode, evenly spaced, however long it gets."""

    frames: list[Picture.Image] = field(default_factory=list)
    _every: int = 1
    _seen: int = 0

    def __call__(self, frame: Image) -> None:
        """Take the next picture."""
        if self._seen % self._every == 0:
            picture = Picture.fromarray(frame)
            picture.thumbnail((2 * TALLEST, TALLEST))
            self.frames.append(picture)
        self._seen += 1
        if len(self.frames) > FRAMES:
            self.frames, self._every = self.frames[::2], 2 * self._every

    def webp(self) -> bytes:
        held, (first, *others) = io.BytesIO(), self.frames
        first.save(
            held,
            "WEBP",
            save_all=True,
            append_images=others,
            duration=max(20, 1000 * SECONDS // len(self.frames)),
            loop=0,
            quality=60,
        )
        return held.getvalue()


@dataclass(frozen=True)
class Filmed:
    """A test episode and its moving picture."""

    webp: bytes
    episode: Episode


def play_film(run: RunRecord) -> Filmed:
    """The first test episode of a finished run's policy."""
    reel, trained = Reel(), Trained.load(run.folder)
    _, (episode,) = evaluate_policy(trained, run.task, episodes=1, film=reel)
    return Filmed(reel.webp(), episode)


def can_film(run: RunRecord) -> bool:
    """Whether it has a policy, and its task's name makes an environment to render."""
    if not (run.folder / "policy").is_dir():
        return False
    try:
        env = make_env(run.task, imports=False)
        same = run.settings.get("env") in (None, identify(run.task))
    except (SfpError, OSError):  # one that was made in Python, or whose map is gone
        return False
    env.close()
    return same and "rgb_array" in env.metadata.get("render_modes", ())


def film(filmed: Filmed, title: str) -> str:
    source = base64.b64encode(filmed.webp).decode()
    address = f"data:image/webp;base64,{source}"
    return f'<img class="film" alt="{escape(title)}" src="{address}">'


def told(filmed: Filmed) -> str:
    episode = filmed.episode
    success = {None: "", True: ", success", False: ", no success"}[episode.success]
    return f"return {episode.total:.4g} after {len(episode.rewards):,} steps{success}"
