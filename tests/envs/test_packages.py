"""Ids of other packages: tried, or named in one line."""

import sys

import gymnasium as gym
import pytest

from sfp.envs.adapter import make_env
from sfp.errors import SfpError

PUSHT = "gym_pusht/PushT-v0"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes what the package gym_pusht does when it is imported."""
    monkeypatch.syspath_prepend(tmp_path)
    yield (tmp_path / "gym_pusht.py").write_text
    sys.modules.pop("gym_pusht", None)
    gym.registry.pop(PUSHT, None)


@pytest.mark.parametrize("imports", [True, False])
def test_the_id_is_enough(package, imports):
    package(
        "import gymnasium as gym, warnings\n"
        "warnings.warn('rewards have changed')\n"
        f"gym.register({PUSHT!r}, 'sfp.envs.maze:PointMaze', "
        "kwargs={'layout': 'room'})"
    )
    assert make_env(PUSHT, imports=imports).spec.id == PUSHT


def test_a_package_that_cannot_be_imported(package):
    package("raise RuntimeError('no display')")
    with pytest.raises(SfpError) as caught:
        make_env(PUSHT)
    assert str(caught.value) == (
        "gym_pusht/PushT-v0 belongs to the package gym_pusht, which is not usable "
        "(no display): pip install gym-pusht."
    )


def test_a_package_without_the_part_that_registers_it(package):
    """As shimmy is without dm_control."""
    package("")
    with pytest.raises(SfpError, match=r"registers no such env.*pip install gym-pusht"):
        make_env(PUSHT)


@pytest.mark.parametrize(
    ("env", "module", "words"),
    [
        ("FetchReach-v4", "gymnasium_robotics", "pip install gymnasium-robotics."),
        ("PointMaze_UMaze-v3", "gymnasium_robotics", "is not installed: pip install"),
        ("AdroitHandDoor-v1", "gymnasium_robotics", "pip install gymnasium-robotics."),
        ("dm_control/cheetah-run-v0", "shimmy", "pip install 'shimmy[dm-control]'."),
        ("PandaReach-v3", "panda_gym", "pip install panda-gym."),
        ("Meta-World/MT99", "metaworld", "pip install metaworld."),
        ("ALE/Pong-v5", "ale_py", "is an Atari game, whose actions are discrete"),
        ("PongNoFrameskip-v4", "ale_py", "is an Atari game"),
        ("D4RL/door/human-v2", "minari", "`sfp fit D4RL/door/human-v2` learns from it"),
        ("my_robot/Lift-v0", "my_robot", "name the package: my_robot:my_robot/Lift-v0"),
        ("Lifting-v0", "my_robot", "name the package: PACKAGE:Lifting-v0"),
    ],
)
def test_what_is_not_there_is_named(monkeypatch, env, module, words):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SfpError) as caught:
        make_env(env)
    assert words in str(caught.value)


def test_a_slip_gets_the_nearest_name_alone():
    with pytest.raises(SfpError, match="Did you mean: `Pendulum`") as caught:
        make_env("Pendulm-v1")
    assert "PACKAGE" not in str(caught.value)
