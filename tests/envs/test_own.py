"""A task from outside the package: registered, used everywhere by name, or refused."""

import sys

import gymnasium as gym
import numpy as np
import pytest

import sfp
from sfp.cli import main
from sfp.envs.adapter import make_env
from sfp.envs.registry import canonical, get_task, suite_of
from sfp.experiments.jobs import price
from sfp.experiments.plan import make_plan


class Cart(gym.Env):
    """A cart that is pushed; `mass` and `rough` reach the constructor."""

    observation_space = gym.spaces.Box(-9.0, 9.0, (1,), np.float32)
    action_space = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)

    def __init__(self, mass=1.0, rough=False):
        self.mass, self.rough = mass, rough

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = np.float32([0.0])
        return self.position.copy(), {}

    def step(self, action):
        moved = self.position + np.asarray(action, np.float32) / self.mass
        self.position = np.clip(moved, -9, 9).astype(np.float32)
        return self.position.copy(), float(self.position[0] > 1), False, False, {}


def push(obs):
    return np.array([0.5])


KNOWN = {"mass": 1.0, "rough": False}


def test_a_task_takes_its_parameters():
    sfp.register_task("cart", Cart, summary="mine", steps=7, parameters=KNOWN)
    task = get_task("cart:rough=true,mass=2")
    assert (task.name, task.slug) == (
        "cart:mass=2.0,rough=true",
        "cart-mass-2-0-rough-true",
    )
    assert canonical("cart:mass=1") == "cart"
    env = task.make()
    assert (env.unwrapped.mass, env.unwrapped.rough) == (2.0, True)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 7
    assert gym.make("own/cart-v0").unwrapped.mass == 1.0


def test_without_parameters_all_of_the_constructor_may_be_given():
    sfp.register_task("cart", Cart, steps=7)
    assert get_task("cart:mass=3").make().unwrapped.mass == 3
    with pytest.raises(sfp.SfpError, match="Gymnasium cannot make 'cart:speed=3'"):
        get_task("cart:speed=3").make()


def test_a_gymnasium_id_keeps_its_own_name():
    sfp.register_task("swing", "Pendulum-v1", steps=20, parameters={"g": 20.0})
    assert get_task("swing").make().unwrapped.g == 20.0
    assert get_task("swing").make().spec.max_episode_steps == 20
    assert get_task("Pendulum-v1").make().unwrapped.g == 10.0
    assert get_task("Pendulum-v1").make().spec.max_episode_steps == 200


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(name="room"), "the task 'room' is there already"),
        (dict(name="Pendulum-v1"), "the task 'Pendulum-v1' is there already"),
        (dict(name="../cart"), "cannot name a task"),
        (dict(env=3), "is a int: expected a callable that makes an environment"),
        (dict(env="Nowhere-v0"), "'Nowhere-v0' of the task 'x' raised NameNotFound"),
        (dict(env="no_module:A-v0"), "raised ModuleNotFoundError"),
        (dict(steps=0), "expected steps of at least 1"),
        (dict(parameters={"mass": [1.0]}), "as default, received 'mass': \\[1.0\\]"),
        (dict(parameters={"a b": 1.0}), "as default, received 'a b'"),
    ],
)
def test_a_bad_task_is_refused_in_one_line(given, message):
    before = {**gym.registry}
    with pytest.raises(sfp.SfpError, match=message) as refused:
        sfp.register_task(**{"name": "x", "env": Cart} | given)
    assert "\n" not in str(refused.value)
    assert gym.registry == before
    assert "x" not in sfp.envs.TASKS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cart:speed=3", "unknown parameter of cart 'speed'"),
        ("cart:mass=heavy", "expected mass of cart to be a number, received 'heavy'"),
        ("carts", "did you mean cart.*registered first \\(sfp.register_task\\)"),
    ],
)
def test_a_bad_name_is_refused_in_one_line(name, message):
    sfp.register_task("cart", Cart, parameters=KNOWN)
    with pytest.raises(sfp.SfpError, match=message):
        make_env(name, imports=False)


@pytest.mark.parametrize("maker", [Cart, lambda mass=1.0: Cart(mass)])
def test_its_script_records(maker):
    sfp.register_task("cart", maker, steps=7, script=push)
    data = sfp.collect("cart:mass=2", episodes=3)
    assert data.source == "sfp/cart-mass-2/scripted-v0"
    assert (len(data), len(data.actions)) == (3, 21)
    assert (data.actions == 0.5).all()


def test_scripts_that_fail_are_refused_in_one_line():
    sfp.register_task("plain", Cart, steps=7)
    with pytest.raises(sfp.SfpError, match="there is no scripted policy for plain"):
        sfp.collect("plain", episodes=1)
    sfp.register_task("three", Cart, steps=7, script=3)
    with pytest.raises(sfp.SfpError, match="expected a controller"):
        sfp.collect("three", episodes=1)
    sfp.register_task("failing", Cart, steps=7, script=lambda obs: 1 / 0)
    with pytest.raises(sfp.SfpError, match="in failing raised ZeroDivisionError"):
        sfp.collect("failing", episodes=1)


def test_it_is_explored_as_any_environment():
    sfp.register_task("cart", Cart, steps=7, script=push)
    (rollouts,) = sfp.explore("cart", ["uniform"], trajectories=2, repetitions=1)
    assert rollouts.paths.shape == (2, 8, 1)
    with pytest.raises(sfp.SfpError, match="no scripted policy for cart"):
        sfp.explore("cart", ["scripted"])


def test_a_new_suite_has_grids():
    sfp.register_task("cart", Cart, steps=7, script=push, suite="carts", budget=900)
    sfp.register_task("heavy", Cart, steps=7, suite="carts", budget=500)
    plan = make_plan("transfer", "carts")
    assert {entry.cell.task for entry in plan.entries} == {"cart", "heavy"}
    assert {entry.cell.steps for entry in plan.entries} == {500, 900}
    priors = [entry.cell.prior for entry in plan.entries if entry.cell.prior]
    assert {prior.recording.task for prior in priors} == {"cart"}
    runs, hours = price(plan)
    assert runs == 30
    assert hours > 0


def test_a_task_of_a_known_suite_has_its_defaults():
    sfp.register_task("cart", Cart, steps=7, suite="point-maze")
    assert get_task("cart").layout is None
    assert suite_of(get_task("cart").make()) == "point-maze"
    assert make_plan("transfer").entries[-1].cell.task == "cart"


def test_commands_import_the_modules_that_the_user_names(tmp_path, monkeypatch, capsys):
    (tmp_path / "our_carts.py").write_text(
        "import sfp\nsfp.register_task('cart', 'Pendulum-v1', summary='all mine')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    main(["list", "tasks"])
    assert "all mine" not in capsys.readouterr().out
    monkeypatch.setenv("SFP_PLUGINS", "our_carts")
    main(["list", "tasks"])
    assert "all mine" in capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "our_carts")
    monkeypatch.setenv("SFP_PLUGINS", "nowhere_to_be_found")
    with pytest.raises(SystemExit):
        main(["list", "tasks"])
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "SFP_PLUGINS: the import of 'nowhere_to_be_found' raised" in err
