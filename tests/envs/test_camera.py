"""Pictures of MuJoCo: only where OpenGL is."""

import numpy as np
import pytest

from sfp.envs import camera
from sfp.envs.metaworld import MetaWorld
from sfp.envs.registry import get_task
from sfp.errors import SfpError

pytest.importorskip("metaworld")


@pytest.fixture
def opengl():
    try:
        camera.open_gl(8, 8).free()
    except SfpError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_pictures_of_any_size_stand_upright():
    env = MetaWorld("window-close", render_mode="rgb_array", width=96, height=48)
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (48, 96, 3)
    assert picture.dtype == np.uint8
    assert picture[:6, :40].std(axis=(0, 1)).max() < 2  # the empty background above
    assert picture[-6:, :40].std(axis=(0, 1)).max() > 10  # the table below
    env.close()


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_fast_pictures_show_the_same():
    plain = MetaWorld("drawer-open", render_mode="rgb_array", width=64, height=64)
    plain.reset(seed=0)
    fast = MetaWorld("drawer-open", pixels=True)
    seen, told = fast.reset(seed=0)
    assert seen.shape == (64, 64, 3)
    assert seen in fast.observation_space
    pictures = plain.render(), seen
    alike = np.corrcoef(*(picture.ravel().astype(float) for picture in pictures))
    assert alike[0, 1] > 0.8
    action, same = np.array([1, 1, 1, 0], np.float32), MetaWorld("drawer-open")
    assert told == same.reset(seed=0)[1]
    for _ in range(3):  # the same episode, seen otherwise
        moved, *outcome = fast.step(action)
        assert outcome == list(same.step(action)[1:])
    np.testing.assert_array_equal(fast.simulation.data.qpos, same.simulation.data.qpos)
    assert not np.array_equal(moved, seen)
    plain.close()
    fast.close()


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_the_goal_is_drawn_where_it_is():
    env, greens = MetaWorld("reach", pixels=True), []
    for seed in range(3):
        image = env.reset(seed=seed)[0].astype(int)
        green = image[..., 1] - image[..., [0, 2]].max(axis=-1)
        greens.append(np.argwhere(green > 60).mean(axis=0))
    assert np.isfinite(greens).all()
    assert np.ptp(greens, axis=0).max() > 3  # goals differ, and so do their places
    env.close()


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_an_unknown_camera_is_answered_with_the_nearest():
    env = MetaWorld("reach", render_mode="rgb_array", camera_name="corner9")
    env.reset(seed=0)
    with pytest.raises(SfpError, match="did you mean corner"):
        env.render()


@pytest.mark.slow
def test_without_opengl_only_pictures_are_missing(monkeypatch):
    monkeypatch.setattr(camera, "BACKENDS", ("nothing",))
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    env = MetaWorld("reach", render_mode="rgb_array")
    env.reset(seed=0)
    env.step(np.zeros(4, np.float32))
    with pytest.raises(SfpError, match="apt-get install libegl-mesa0"):
        env.render()
    with pytest.raises(SfpError, match="apt-get install libegl-mesa0"):
        get_task("reach:pixels=true").make()
