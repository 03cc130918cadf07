"""The environments of a run: to act in, one or several, and to test in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import gymnasium as gym
from gymnasium.vector import VectorEnv

from sfp.agents.base import Agent
from sfp.compute import check_memory
from sfp.config import Schedule
from sfp.data.lanes import Lanes, Replay
from sfp.data.replay import EpisodeReplay
from sfp.envs.adapter import Environment, make_env
from sfp.envs.registry import canonical
from sfp.envs.vector import Alone, Environments, Vector, make_vector
from sfp.errors import SfpError


@dataclass(frozen=True)
class Places:
    """Where a run takes place.

    Attributes:
        env: what a single environment is made from.
        example: what the environments are like; the only one to act in, if there are
            not several.
        tested: for tests.
        given: a vector environment that the user has made.
    """

    env: str | gym.Env
    example: Environment
    tested: Environment
    given: Vector | None = None

    @contextlib.contextmanager
    def opened(self, count: int, kind: str) -> Iterator[Environments]:
        """What is acted in; several are closed in the end."""
        if self.given is not None:
            yield self.given
        elif count == 1:
            yield Alone(self.example)
        else:
            again(self.env).close()  # so that one line says if it cannot be made anew
            make = partial(make_env, self.env)
            if isinstance(self.env, gym.Env) and self.env.spec is not None:
                make = partial(gym.make, self.env.spec)
            with make_vector(make, count, self.example.name, kind) as several:
                yield several


def find_places(
    env: str | gym.Env | VectorEnv, eval_env: str | gym.Env | None
) -> Places:
    """The environments of a run, checked."""
    if isinstance(env, VectorEnv):
        if eval_env is None:
            raise SfpError(
                "a vector environment needs a single one beside it, for tests: pass it "
                "as eval_env."
            )
        single = Environment(make_env(eval_env))
        several = Vector(env, single.name)
        single.check_same(several.environments[0])
        return Places(eval_env, single, single, several)
    example = Environment(
        make_env(env), canonical(env) if isinstance(env, str) else None
    )
    tested = again(env) if eval_env is None else make_env(eval_env)
    places = Places(env, example, Environment(tested, example.name))
    example.check_same(places.tested)
    return places


def count_environments(schedule: Schedule, places: Places) -> Schedule:
    """The schedule with the number of environments that there are."""
    if places.given is None:
        return schedule
    count = places.given.vector.num_envs
    if schedule.envs not in (1, count):
        raise SfpError(
            f"expected envs of {count}, as the vector environment has, received "
            f"{schedule.envs}."
        )
    return replace(schedule, envs=count)


def make_lanes(
    agent: Agent, schedule: Schedule, environment: Environment, method: str
) -> Replay:
    """The replay of one environment, or a lane for each of several."""
    count, needed = image_memory(schedule, environment)
    what = f"{count:,} images of the replay"
    check_memory(what, needed, "expected a smaller capacity")
    if schedule.envs == 1:
        return agent.replay(schedule, environment)
    share = replace(schedule, capacity=schedule.kept // schedule.envs, envs=1)
    lanes = [agent.replay(share, environment) for _ in range(schedule.envs)]
    if type(lanes[0]) is not EpisodeReplay:
        raise SfpError(
            f"{method} has a replay of its own kind, which is for a single "
            "environment: expected envs of 1."
        )
    return Lanes(lanes)


def image_memory(schedule: Schedule, environment: Environment) -> tuple[int, int]:
    """How many images a run keeps in its replay, and their bytes."""
    count = min(schedule.kept, schedule.steps)
    return count, count * environment.spec.pixels // environment.spec.frames


def again(env: str | gym.Env) -> gym.Env:
    """A second environment of the same kind."""
    if isinstance(env, str):
        return make_env(env)
    if env.spec is None:
        raise SfpError(
            "this environment has no spec to make it anew from: pass a second one as "
            "eval_env, or register it with Gymnasium."
        )
    try:
        return gym.make(env.spec)
    except Exception as error:
        raise SfpError(
            f"this environment cannot be made anew from its spec ({error}): pass a "
            "second one as eval_env."
        ) from error
