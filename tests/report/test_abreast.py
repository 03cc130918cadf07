"""Explorers side by side: as many pictures as steps, in step with each other."""

import gymnasium as gym
import numpy as np
import pytest

from environments import make_prior
from sfp.errors import SfpError
from sfp.report import abreast
from sfp.report.abreast import CAPTION, HEIGHT, Camera, film_explorers


def filmed(task, explorers, **options):
    frames = []
    settings = {"priors": {}, "steps": 6} | options
    film_explorers(task, explorers, frames.append, **settings)
    return frames


def test_every_explorer_has_its_panel_and_begins_where_the_others_do():
    names = ["uniform", "pink", "ou"]
    frames = filmed("room", names, priors={"mine": make_prior()})
    assert len(frames) == 7  # the reset, and six steps
    height, width = frames[0].shape[:2]
    panel = width // 3
    assert (height, width % 3) == (2 * (HEIGHT + CAPTION), 0)

    def panels(frame):
        rows = frame[:HEIGHT], frame[HEIGHT + CAPTION :][:HEIGHT]
        first = [rows[0][:, i * panel : (i + 1) * panel] for i in range(3)]
        return [*first, rows[1][:, :panel]]

    begun, ended = panels(frames[0]), panels(frames[-1])
    assert all(np.array_equal(begun[0], other) for other in begun[1:])
    assert not any(np.array_equal(a, b) for a, b in zip(begun, ended, strict=True))
    assert (frames[0][HEIGHT + CAPTION :][:HEIGHT, panel:] == 255).all()  # nobody


def test_long_episodes_are_shown_in_leaps(monkeypatch):
    monkeypatch.setattr(abreast, "FRAMES", 4)
    assert len(filmed("room", ["uniform"], steps=8)) == 1 + 4


class Short(gym.Env):
    """Its first episode ends after two steps; one is as bright as it is late."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (1,))
    action_space = gym.spaces.Box(-1.0, 1.0, (1,))
    render_mode = "rgb_array"
    episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.step_of = 0
        self.episodes += 1
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.step_of += 1
        over = self.episodes == 1 and self.step_of == 2
        return np.zeros(1, np.float32), 1.0, over, False, {}

    def render(self):
        return np.full((10, 10, 3), 10 * self.step_of, np.uint8)


def test_an_episode_that_ends_sooner_stands_still(monkeypatch):
    monkeypatch.setattr(abreast, "make_env", lambda task, **mode: Short())
    frames = filmed("short", ["uniform", "pink"], steps=4)
    seen = [[int(f[0, 0, 0]), int(f[0, HEIGHT, 0])] for f in frames]
    assert seen == [[0, 0], [10, 10], [20, 20], [20, 30], [20, 40]]


def test_captions_tell_the_return_and_how_far_a_robot_is():
    class Robot(Short):
        @property
        def position(self):
            return np.array([3.0, 4.0]) * getattr(self, "step_of", 0)

    for env, told in ((Short(), "return 2"), (Robot(), "10.0 m, return 2")):
        camera = Camera(env, "short", 4)
        camera.reset(seed=0)
        for _ in range(2):
            camera.step(np.zeros(1, np.float32))
        assert camera.reels[0][-1][1] == told


def test_what_cannot_be_rendered_is_said_in_a_line(monkeypatch):
    class Blind(Short):
        def render(self):
            return None

    monkeypatch.setattr(abreast, "make_env", lambda task, **mode: Blind())
    with pytest.raises(SfpError, match="renders no RGB images"):
        filmed("blind", ["uniform"])
