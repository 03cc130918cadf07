"""`name:key=value`: one name for a task with its parameters, wherever it is typed."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from sfp.envs.adapter import Environment, make_env
from sfp.envs.identity import identify
from sfp.envs.parameters import Parameter, check, join, split
from sfp.envs.registry import TASKS, canonical, get_task, suite_of
from sfp.errors import SfpError


class Bowl(gym.Env):
    """Keeps what it was made with."""

    action_space = observation_space = spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, depth=1.0, kind="round", lid=False):
        self.given = depth, kind, lid


gym.register("own/Bowl-v0", Bowl)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("room", ("room", {})),
        ("package:Env-v0", ("package:Env-v0", {})),
        ("package:Env-v0:g=9.8", ("package:Env-v0", {"g": 9.8})),
        ("maze:size=large,seed=3", ("maze", {"size": "large", "seed": 3})),
        ("x:a=true,b=false,c=-1e-3,d=1_2", ("x", dict(a=True, b=False, c=-1e-3, d=12))),
        ("a/b.txt:pixels=true", ("a/b.txt", {"pixels": True})),
        ("x:a=None,b=nan,c=inf", ("x", {"a": "None", "b": "nan", "c": "inf"})),
    ],
)
def test_names_are_split_and_joined(name, parts):
    assert split(name) == parts
    assert split(join(*parts)) == parts


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maze:sed=3", "unknown parameter of maze 'sed': did you mean seed"),
        ("maze:colour=3", r"known: bias, frames, inverted, pixels, seed, size\."),
        (
            "maze:seed=x",
            "expected seed of maze to be a whole number from 0 to 4294967295",
        ),
        ("maze:seed=-1", "a whole number from 0"),
        ("maze:seed=1.5", "received '1.5'"),
        ("maze:seed=true", "received 'true'"),
        ("maze:seed=3,size=huge", "small or medium or large, received 'huge'"),
        ("maze:size=large", "add a seed, as in maze:seed=0,size=large"),
        ("maze:seed=1,seed=2", "each once, received 'seed=2'"),
        ("maze:seed=1,size", "key=value, each once, received 'size'"),
        ("maze:seed=", "received ''"),
        ("maze:seed=__import__('os')", "true, false, a number or a word"),
        ("room:pixels=1", "expected pixels of room to be true or false, received '1'"),
        ("room:seed=1", "unknown parameter of room 'seed'"),
        ("window-close:seed=1", "unknown parameter of window-close 'seed'"),
        ("halfcheetah:threshold=-1", "a number of 0 or more or a share of 12, .*'-1'"),
        ("halfcheetah:threshold=far", "threshold of halfcheetah to be .* 'far'"),
        ("halfcheetah:threshold=1e999", "received 'Infinity'|'1e999'"),
        ("halfcheetah:bias=50%", "expected bias of halfcheetah to be a number, .*50%"),
        ("halfcheetah:falls=false", "unknown parameter of halfcheetah 'falls'"),
        ("ant:inverted=2", "expected inverted of ant to be true or false, .*'2'"),
        ("room:bias=1,pixels=true", "expected vectors of real numbers to add a bias"),
        ("room:frames=3", "frames of room are images: add pixels=true"),
        ("rooom:pixels=true", "unknown task 'rooom': did you mean room"),
        ("own/Bowl-v0:width=3", "Gymnasium cannot make 'own/Bowl-v0:width=3'.*width"),
    ],
)
def test_bad_parameters_are_one_line(name, words):
    with pytest.raises(SfpError, match=words) as caught:
        get_task(name).make()
    assert "\n" not in str(caught.value)


def test_a_name_is_canonical_and_makes_a_folder():
    task = get_task("maze:size=large,seed=3")
    assert task.name == canonical("maze:size=large,seed=3") == "maze:seed=3,size=large"
    assert (task.base, task.slug) == ("maze", "maze-seed-3-size-large")
    assert get_task("maze:size=medium,seed=3").name == "maze:seed=3"
    assert get_task("sfp/Maze-v0:seed=3").name == "maze:seed=3"
    assert get_task("room:pixels=false") == TASKS["room"]
    assert get_task(task.name) == task
    assert canonical("sfp/Maze-v0") == "sfp/Maze-v0"  # as runs of old are called
    for known in TASKS.values():
        assert known.slug == known.base == known.name


def test_a_generated_maze_is_rebuilt_from_its_spec():
    task = get_task("maze:seed=3,size=large")
    env = task.make()
    assert suite_of(env) == task.suite == "point-maze"
    again = gym.make(env.spec)
    layouts = [e.unwrapped.maze.layout.to_ascii() for e in (env, again)]
    assert layouts == [task.layout.to_ascii()] * 2
    assert layouts[0] != get_task("maze:seed=4,size=large").layout.to_ascii()
    assert env.spec.max_episode_steps == 500
    assert identify(task.name).startswith("map ")
    assert identify(task.name) != identify("maze:seed=4,size=large")
    assert identify("maze") == identify("room:pixels=true") == ""
    check_env(env.unwrapped, skip_render_check=True)


def test_parameters_of_any_environment_reach_its_constructor():
    env = make_env("own/Bowl-v0:depth=2.5,lid=true,kind=flat")
    assert env.unwrapped.given == (2.5, "flat", True)
    assert make_env("Pendulum-v1:g=9.5").unwrapped.g == 9.5
    task = get_task("own/Bowl-v0:lid=true,depth=2.5")
    assert (task.name, task.suite) == ("own/Bowl-v0:depth=2.5,lid=true", "")
    assert task.layout is None


def test_a_map_takes_parameters(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("#######\n#S...G#\n#######")
    typed = f"{path}:pixels=true"
    task = get_task(typed)
    assert (task.name, canonical(typed)) == ("mine:pixels=true", typed)
    assert task.make().observation_space.shape == (64, 64, 3)
    assert identify(typed) == identify(str(path)) != ""


def test_numbers_are_of_the_declared_kind():
    known = {"bias": Parameter(float, 0.0, "added"), "level": Parameter(int, 1, "of")}
    assert check("x", {"bias": 1}, known) == {"bias": 1.0}
    assert type(check("x", {"bias": 1}, known)["bias"]) is float
    assert check("x", {"bias": 0, "level": 1}, known) == {}
    with pytest.raises(
        SfpError, match=r"level of x to be a whole number, received '2\.0'"
    ):
        check("x", {"level": 2.0}, known)


@pytest.mark.parametrize("name", ["room", "corridor", "maze", "maze:seed=1"])
def test_pixels_are_an_image_alone(name):
    typed = f"{name}{',' if ':' in name else ':'}pixels=true"
    env = get_task(typed).make()
    assert env.observation_space == spaces.Box(0, 255, (64, 64, 3), np.uint8)
    check_env(env.unwrapped, skip_render_check=True)
    plain = get_task(name).make()
    image, info = env.reset(seed=5)
    plain.reset(seed=5)
    assert info == {"is_success": False}
    assert image in env.observation_space
    rng = np.random.default_rng(0)
    for _ in range(50):  # the same episode, seen otherwise
        action = rng.uniform(-1, 1, 2).astype(np.float32)
        image, *told = env.step(action)
        assert told == list(plain.step(action)[1:])
        assert ((image == (255, 0, 0)).all(axis=-1)).sum() in (4, 6, 9)
    np.testing.assert_array_equal(env.unwrapped.position, plain.unwrapped.position)


def test_pixels_tell_of_success():
    env = gym.make("sfp/Room-v0", pixels=True).unwrapped
    env.reset(seed=0)
    env.position = env.goal.copy()
    _, reward, *_, info = env.step(np.zeros(2, np.float32))
    assert (reward, info["is_success"]) == (1.0, True)


def test_frames_are_stacked_into_channels_and_copied_at_first():
    environment = Environment(get_task("room:pixels=true,frames=3").make())
    assert (environment.spec.image, environment.spec.frames) == ((64, 64, 9), 3)
    first = environment.reset(0).obs.image
    np.testing.assert_array_equal(first[..., :3], first[..., 6:])
    second = environment.step(np.ones(2)).observed.obs.image
    np.testing.assert_array_equal(second[..., :6], first[..., 3:])
    assert not np.array_equal(second[..., 6:], first[..., 6:])


def test_stacks_of_another_kind_are_refused():
    plain = get_task("room:pixels=true").make()
    zeros = gym.wrappers.FrameStackObservation(plain, 2, padding_type="zero")
    with pytest.raises(SfpError, match="padding_type 'reset'"):
        Environment(zeros, "room").reset(0)
