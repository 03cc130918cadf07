"""Tests of policies, and films of them."""

import shutil
import subprocess
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image as Picture
from test_trained import make

from environments import Drift, Still
from sfp.envs.adapter import Environment
from sfp.envs.registry import TASKS
from sfp.errors import SfpError
from sfp.training import video
from sfp.training.evaluate import (
    FIRST_SEED,
    TEST_SEEDS,
    _beside,
    evaluate,
    evaluate_policy,
    play,
)
from sfp.training.video import filming

pytestmark = pytest.mark.slow


def test_ten_episodes_take_the_corners_of_the_room_in_turn():
    environment = Environment(TASKS["room"].make())
    row = [environment.reset(FIRST_SEED + i, test=True).obs for i in range(10)]
    goals = [tuple(obs.goal) for obs in row]
    assert sorted(Counter(goals).values()) == [2, 2, 3, 3]
    assert goals[:4] == goals[4:8]
    again = environment.reset(FIRST_SEED).obs
    np.testing.assert_array_equal(again.state, row[0].state)  # a goal of its own only


def test_one_goal_needs_no_turns():
    environment = Environment(TASKS["maze"].make())
    plain, test = (environment.reset(FIRST_SEED + 3, test=x) for x in (False, True))
    for one, other in zip(plain.obs, test.obs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_goal_that_the_maze_has_not():
    with pytest.raises(SfpError, match="goal as a whole number below 4, received 4"):
        TASKS["room"].make().reset(options={"goal": 4})


def test_an_episode_succeeds_if_some_step_does():
    class Once(Drift):
        def step(self, action):
            obs, reward, _, _, _ = super().step(action)
            return obs, reward, False, self.count == 9, {"success": self.count == 4}

    row, played = evaluate(Environment(Once()), Still(), 3)
    assert row["eval/success_rate"] == 1.0
    assert row["eval/mean_length"] == 9.0
    assert row["eval/mean_reward"] == np.mean([episode.total for episode in played])
    again, _ = evaluate(Environment(Once()), Still(), 3)
    assert again == row


def test_an_episode_without_an_end_is_cut_off(monkeypatch):
    monkeypatch.setattr("sfp.training.evaluate.LONGEST", 40)

    class Endless(Drift):
        def step(self, action):
            obs, reward, *_ = super().step(action)
            return obs, reward, False, False, {}

    with pytest.warns(UserWarning, match=r"was cut off after 40 steps.*TimeLimit"):
        episode = play(Environment(Endless()), Still(), 0)
    assert len(episode.rewards) == 40
    assert FIRST_SEED in TEST_SEEDS


# Films.


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".mp4"])
def test_films_are_written_whole(tmp_path, suffix):
    path = tmp_path / "films" / f"film{suffix}"
    with filming(path) as film:
        row, played = evaluate_policy(
            make(Drift()), "probe/Drift-v0", episodes=1, film=film
        )
    frames = len(played[0].rewards)
    assert row["eval/mean_length"] == frames
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    if suffix == ".mp4":
        told = subprocess.run(
            [video._ffmpeg(), "-i", path, "-f", "null", "-"],
            capture_output=True,
            text=True,
        ).stderr
        assert f"frame={frames:5d}" in told
        assert "32x34" in told
    else:
        with Picture.open(path) as picture:
            assert picture.size == (31, 33)
            assert picture.n_frames <= frames


@pytest.mark.parametrize("script", ["exit 3", "cat > /dev/null; echo no >&2; exit 1"])
def test_a_failing_ffmpeg_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, script):
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(video, "_ffmpeg", lambda: str(program))
    out = tmp_path / "out"

    def shoot():
        with filming(out / "film.mp4") as film:
            for _ in range(200):
                film(np.zeros((64, 64, 3), np.uint8))

    with pytest.raises(SfpError, match=r"^ffmpeg failed:"):
        shoot()
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_film_that_is_broken_off_leaves_nothing(tmp_path, suffix):
    def shoot(frames, error=None):
        with filming(tmp_path / f"film{suffix}") as film:
            for _ in range(frames):
                film(np.zeros((8, 8, 3), np.uint8))
            if error:
                raise error

    with pytest.raises(KeyboardInterrupt):
        shoot(3, KeyboardInterrupt())
    with pytest.raises(SfpError, match="no frames"):
        shoot(0)
    assert list(tmp_path.glob("*film*")) == []


def test_no_ffmpeg_says_what_to_do(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(SfpError, match=r"pip install imageio-ffmpeg, or write a .gif"):
        video._ffmpeg()


@pytest.mark.filterwarnings("ignore:.*RGB-array rendering")
def test_a_task_without_pictures(tmp_path):
    gym.register("probe/Blind-v0", lambda **kwargs: Drift(fault="blind", **kwargs))

    def shoot():
        with filming(tmp_path / "film.gif") as film:
            evaluate_policy(make(Drift()), "probe/Blind-v0", episodes=1, film=film)

    with pytest.raises(SfpError, match=r"renders no RGB images.*leave out videos"):
        shoot()
    assert list(tmp_path.glob("*film*")) == []


def test_a_video_without_pygame_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pygame", None)
    policy = make(gym.make("Pendulum-v1"))

    def shoot():
        with filming(tmp_path / "film.gif") as film:
            evaluate_policy(policy, "Pendulum-v1", episodes=1, film=film)

    match = r"Pendulum-v1 cannot be rendered \(pygame is not .*leave out videos"
    with pytest.raises(SfpError, match=match) as caught:
        shoot()
    assert "gymnasium[classic" in str(caught.value)
    assert list(tmp_path.glob("*film*")) == []


def test_a_policy_for_another_task():
    with pytest.raises(SfpError, match=r"for Drift .*maze has other observations"):
        evaluate_policy(make(Drift()), "maze", episodes=1)


def test_a_film_shows_what_is_seen_beside_what_is_done():
    picture = np.full((48, 40, 3), 7, np.uint8)
    seen = np.random.default_rng(0).integers(0, 256, (16, 16, 6), dtype=np.uint8)
    whole = _beside(picture, seen)
    assert whole.shape == (48, 40 + 4 + 48, 3)
    np.testing.assert_array_equal(whole[:, :40], picture)
    np.testing.assert_array_equal(whole[::3, 44::3], seen[..., 3:])  # the newest frame
    assert _beside(picture, np.zeros((0, 0, 0), np.uint8)) is picture
    assert _beside(picture, seen[..., :1]).shape == whole.shape
