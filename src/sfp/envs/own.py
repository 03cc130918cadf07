"""Tasks from outside the package: a name for an environment of one's own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from sfp.envs.parameters import Parameter, Value
from sfp.envs.registry import TASKS, Task
from sfp.envs.suites import SUITES, Suite
from sfp.errors import SfpError, at_least
from sfp.outside import calling, check_callable, check_name


def register_task(
    name: str,
    env: Any,
    *,
    summary: str = "from outside",
    steps: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    script: Any = None,
    suite: str = "",
    budget: int = 60_000,
) -> None:
    """Give an environment of your own a name, in this process.

    Every command and function that takes a task then knows it, and Gymnasium knows it
    as `own/NAME-v0`. The environment is not made before it is used.

    Args:
        name: that no other task has.
        env: a Gymnasium id, or a class or function that makes an environment.
        summary: one line for `sfp list tasks`.
        steps: the time limit of an episode; None is that of the Gymnasium id.
        parameters: what may stand behind the name (`NAME:key=value`) and reaches the
            constructor, each with its default; None allows all that it takes.
        script: who acts in `sfp collect NAME`: anything that `sfp.record` takes.
        suite: tasks with the same actions, such as `meta-world`, whose defaults and
            recordings it shares; a new name begins a suite, and the suite's priors are
            learned from recordings of its first task.
        budget: with a suite, steps of a run of `sfp reproduce --scale small`.
    """
    check_name({*TASKS, *gym.registry}, "task", name)
    at_least(1, budget=budget, **({} if steps is None else {"steps": steps}))
    known = None if parameters is None else _known(name, parameters)
    made = _spec(name, env)
    if steps is not None:
        made = replace(made, max_episode_steps=steps)
    TASKS[name] = Task(
        name, made.id, suite, summary, dict(parameters or {}), known, script
    )
    gym.registry[made.id] = made
    if suite:
        held = SUITES.get(suite) or Suite(training=(name,), coverage=name)
        SUITES[suite] = replace(held, small={**held.small, name: budget})


def _known(name: str, parameters: Mapping[str, Any]) -> dict[str, Parameter]:
    for key, default in parameters.items():
        if not str(key).isidentifier() or not isinstance(default, Value):
            raise SfpError(
                f"expected the parameters of {name} as names with a truth value, a "
                f"number or a word as default, received {key!r}: {default!r}."
            )
    return {key: Parameter(type(v), v, "") for key, v in parameters.items()}


def _spec(name: str, env: Any) -> EnvSpec:
    env_id = f"own/{name}-v0"
    if isinstance(env, str):
        with calling(f"the environment {env!r} of the task {name!r}"):
            package, _, registered = env.rpartition(":")
            if package:
                importlib.import_module(package)
            return replace(gym.spec(registered), id=env_id)
    check_callable(f"the task {name!r}", env, "that makes an environment, or its id")
    return EnvSpec(env_id, entry_point=_named(env) or env)


def _named(made_by: Any) -> str | None:
    """`module:name`, which a dataset can keep, if that is what it is."""
    module = getattr(made_by, "__module__", None)
    name = getattr(made_by, "__qualname__", "")
    try:
        found = getattr(importlib.import_module(module or ""), name, None)
    except (ImportError, ValueError):
        return None
    return f"{module}:{name}" if found is made_by else None
