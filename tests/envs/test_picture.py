import numpy as np
import pytest

from sfp.envs import PointMaze
from sfp.envs.picture import AGENT, FREE, GOAL, WALL, Canvas
from sfp.errors import SfpError


def where(image, colour):
    return np.argwhere((image == colour).all(axis=-1))


def test_pixels_show_agent_and_goal_as_squares_of_three():
    env = PointMaze("room", pixels=True)
    image = env.reset(seed=0)[0]
    assert image.shape == (64, 64, 3)
    assert image.dtype == np.uint8
    agent, goal = where(image, AGENT), where(image, GOAL)
    assert len(agent) == 9
    assert np.ptp(agent, axis=0).tolist() == [2, 2]
    np.testing.assert_allclose(agent.mean(axis=0), [31.5, 31.5], atol=1.6)
    assert len(goal) in (4, 6, 9)  # a corner goal may be cut by the border
    assert len(where(image, FREE)) == 64 * 64 - len(agent) - len(goal)


def test_up_is_up_and_right_is_right():
    env = PointMaze("room", pixels=True)
    env.reset(seed=0)
    env.position = np.array([[10.0, 5.0]])
    image = env.step(np.zeros(2, np.float32))[0]
    row, column = where(image, AGENT).mean(axis=0)
    assert column == pytest.approx(24.5 / 29 * 64, abs=1)
    assert row == pytest.approx(64 - 19.5 / 29 * 64, abs=1)


def test_goal_is_drawn_anew_at_reset_and_pictures_do_not_share_memory():
    env = PointMaze("room", pixels=True)
    corners = set()
    first = env.reset(seed=0)[0]
    copy = first.copy()
    for _ in range(40):
        image = env.reset()[0]
        corners.add(tuple((where(image, GOAL).mean(axis=0) > 32).tolist()))
    env.step(np.ones(2, np.float32))
    np.testing.assert_array_equal(first, copy)
    assert len(corners) == 4


def test_corridor_fills_the_small_picture_and_keeps_its_shape_in_the_large_one():
    env = PointMaze(
        "corridor", pixels=True, render_mode="rgb_array", width=610, height=200
    )
    small = env.reset(seed=0)[0]
    assert len(where(small, WALL)) / 64**2 == pytest.approx(60 / 183, abs=0.02)
    large = env.render()
    assert large.shape == (200, 610, 3)
    free = where(large, FREE)
    height = np.ptp(free[:, 0]) + 1
    assert height == pytest.approx(30, abs=1)


def test_any_size_and_no_size():
    for width, height in ((1, 1), (17, 301), (640, 480)):
        env = PointMaze("maze", render_mode="rgb_array", width=width, height=height)
        env.reset(seed=0)
        assert env.render().shape == (height, width, 3)
    env = PointMaze("maze", render_mode="rgb_array", width=0)
    env.reset(seed=0)
    with pytest.raises(SfpError, match="at least 1x1"):
        env.render()
    with pytest.raises(SfpError, match="expected render_mode 'rgb_array'"):
        PointMaze("maze", render_mode="human")


def test_disc_has_the_area_of_a_disc():
    env = PointMaze("room")
    canvas = Canvas(env.maze.layout, 580, 580)
    image = canvas.blank.copy()
    canvas.disc(image, np.zeros(2), 5.0, AGENT)
    red = (255 - image[..., 1]).sum() / 255
    assert red == pytest.approx(np.pi * (5 * 20) ** 2, rel=0.01)


@pytest.mark.parametrize("size", [(580, 580), (61, 200), (1, 1)])
@pytest.mark.parametrize("centre", [(0.0, 0.0), (14.3, -14.2), (90.0, 0.0)])
def test_disc_is_what_painting_every_pixel_gives(size, centre):
    canvas = Canvas(PointMaze("room").maze.layout, *size, keep_aspect=False)
    image, whole = canvas.blank.copy(), canvas.blank.copy()
    canvas.disc(image, np.array(centre), 1.0, AGENT)
    pixel = 1.0 / canvas._scale.min()
    distance = np.hypot(canvas._x - centre[0], canvas._y - centre[1])
    cover = (max(1.0, 1.5 * pixel) - distance) / pixel + 0.5
    cover = np.clip(cover, 0.0, 1.0)[..., None]
    whole[:] = np.rint(whole * (1.0 - cover) + np.array(AGENT) * cover)
    np.testing.assert_array_equal(image, whole)
