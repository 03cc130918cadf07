"""One run: from an environment and a method to a folder and a trained policy."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import jax
import numpy as np

from sfp.agents.base import Agent
from sfp.agents.methods import Ingredients, get_method
from sfp.compute import threads
from sfp.config import Mixture, Networks, Schedule
from sfp.data.replay import EpisodeReplay, Sizes
from sfp.envs.registry import TASKS
from sfp.errors import SfpError, at_least, unknown
from sfp.files import atomic_file, locked
from sfp.priors.base import Prior, check_actions
from sfp.priors.store import load_prior
from sfp.training.checkpoint import Checkpoints
from sfp.training.evaluate import solved_at
from sfp.training.log import Listener, Log, read_table
from sfp.training.loop import train as loop
from sfp.training.trained import Trained, make_spec
from sfp.training.world import World, make_env

PACKAGES = ("sfp", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")
FINISHED = "finished.json"


@dataclass(frozen=True)
class Run:
    """A value that determines a result.

    Attributes:
        task: name of the environment.
        method: name of the method.
        seed: decides everything random.
        prior: fingerprint of the prior, if any.
        threads: sums depend on their number.
        schedule: what happens when.
        networks: sizes and optimisation.
        mixture: how a prior is mixed in.
    """

    task: str
    method: str
    seed: int
    prior: str | None
    threads: int
    schedule: Schedule
    networks: Networks
    mixture: Mixture


def train(
    env: str | gym.Env,
    *,
    method: str = "sfp",
    prior: str | Path | Prior | None = None,
    seed: int = 0,
    preset: Literal["default", "paper"] = "default",
    out: str | Path | None = None,
    resume: bool = False,
    eval_env: gym.Env | None = None,
    listeners: tuple[Listener, ...] = (),
    progress: Callable[[int], None] = lambda step: None,
    **settings: Any,
) -> Trained:
    """Learn a task.

    Args:
        env: a task's name, a Gymnasium id, or an environment.
        method: a name from `METHODS`.
        prior: a fitted one, its folder, or the name of a shipped one.
        seed: the same seed gives the same bits.
        preset: `paper` sets hindsight to 4 for every method.
        out: folder of the run: tables, events, checkpoints, the policy. Without it
            nothing is written.
        resume: go on with the run in `out`.
        eval_env: for tests; needed if `env` cannot be made anew from its `spec`.
        listeners: called with the step and every new row.
        progress: called with the step after every iteration.
        **settings: fields of `Schedule`, `Networks` and `Mixture`.

    Returns:
        The policy, with `predict`, `save` and `load`.
    """
    at_least(0, seed=seed)
    schedule, networks, mixture = _configure(settings)
    world = World(make_env(env), env if isinstance(env, str) else None)
    test_world = World(eval_env or _again(env), world.name)
    if isinstance(prior, str | Path):
        prior = load_prior(prior)
    if prior is not None:
        _check_prior(prior, world)
    suite = TASKS[world.name].suite if world.name in TASKS else ""
    chosen = get_method(method, prior)
    if schedule.hindsight is None:
        default = 4.0 if preset == "paper" else _of(chosen.hindsight, suite)
        schedule = replace(schedule, hindsight=default if world.has_goals else 0.0)
    if networks.alpha is None:
        networks = replace(networks, alpha=_of(chosen.alpha, suite))
    assert networks.alpha is not None
    agent = chosen.build(
        Ingredients(
            world.obs_size + world.goal_size,
            world.action_size,
            networks.alpha,
            networks,
            mixture,
            prior,
        )
    )
    run = Run(
        task=world.name,
        method=method,
        seed=seed,
        prior=_fingerprint(prior) if prior is not None else None,
        threads=threads(),
        schedule=schedule,
        networks=networks,
        mixture=mixture,
    )
    worlds = world, test_world
    if out is None:
        return _run(run, agent, worlds, None, listeners, progress)
    folder = Path(out)
    _check_folder(folder, resume=resume)
    with locked(folder, "training in"):
        _check_config(folder, run, resume=resume)
        if (folder / FINISHED).is_file():
            trained = Trained.load(folder)
            trained.evaluations = read_table(folder, "eval")
            return trained
        return _run(run, agent, worlds, folder, listeners, progress)


def _run(
    run: Run,
    agent: Agent,
    worlds: tuple[World, World],
    folder: Path | None,
    listeners: tuple[Listener, ...],
    progress: Callable[[int], None],
) -> Trained:
    log = Log(folder, listeners)
    replay = make_replay(run.schedule, agent, worlds[0])
    with _signals(folder) as interrupted, contextlib.closing(log):
        state = loop(
            agent,
            *worlds,
            replay,
            log,
            schedule=run.schedule,
            seed=run.seed,
            checkpoints=Checkpoints(folder / "checkpoint") if folder else None,
            interrupted=interrupted,
            progress=progress,
        )
    actor = agent.actor(state)
    policy = getattr(actor, "policy", actor)
    trained = Trained(policy, make_spec(worlds[0], run.method, policy))
    trained.evaluations = log.rows["eval"]
    if folder:
        trained.save(folder / "policy", force=True)
        end = {"step": log.rows["train"][-1]["step"] if log.rows["train"] else None}
        end["solved_at"] = solved_at(log.rows["eval"])
        with atomic_file(folder / FINISHED) as draft:
            draft.write_text(json.dumps(end))
    return trained


def make_replay(schedule: Schedule, agent: Agent, world: World) -> EpisodeReplay:
    """The replay that an agent needs in a world."""
    memory = jax.eval_shape(agent.begin, jax.random.key(0))
    sizes = Sizes(
        obs=world.obs_size,
        action=world.action_size,
        goal=world.goal_size,
        history=int(np.prod(memory.history.shape)),
        bank=memory.bank.shape[0],
    )
    return EpisodeReplay(
        schedule.capacity,
        sizes,
        n_step=schedule.n_step,
        gamma=schedule.gamma,
        hindsight=schedule.hindsight or 0.0,
        reward=world.rewards if world.has_goals else None,
    )


def _configure(settings: dict[str, Any]) -> tuple[Schedule, Networks, Mixture]:
    """The three groups of settings, from their flat names."""
    made, left = [], dict(settings)
    for group in (Schedule, Networks, Mixture):
        names = {f.name for f in fields(group)} & set(left)
        made.append(group(**{name: left.pop(name) for name in names}))
    if left:
        known = [f.name for g in (Schedule, Networks, Mixture) for f in fields(g)]
        raise unknown("setting", next(iter(left)), known, "See `sfp train --help`.")
    return made[0], made[1], made[2]


def _again(env: str | gym.Env) -> gym.Env:
    """A second environment of the same kind, for tests."""
    if isinstance(env, str):
        return make_env(env)
    if env.spec is None:
        raise SfpError(
            "this environment has no spec to make it anew from: pass a second one as "
            "eval_env, or register it with Gymnasium."
        )
    return gym.make(env.spec)


def _check_prior(prior: Prior, world: World) -> None:
    check_actions(prior, world.low, world.high, "the prior")
    seen = len(prior.frame.state_mean)
    if seen not in (0, world.obs_size, world.obs_size + world.goal_size):
        raise SfpError(
            f"the prior sees a state of {seen} numbers, {world.name} shows "
            f"{world.obs_size} (and {world.goal_size} of the goal). A state-free prior "
            "would work."
        )


def _of(table: Any, suite: str) -> float:
    return table.get(suite, table[""])


def _fingerprint(prior: Prior) -> str:
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(prior):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()[:16]


def _check_folder(folder: Path, *, resume: bool) -> None:
    if resume and not (folder / "config.json").is_file():
        raise SfpError(f"there is no run to resume in {folder}: leave out --resume.")
    if resume or not folder.exists():
        return
    if (folder / FINISHED).is_file():
        return  # asked again for the same run: `_check_config` compares
    if any(path.name != "lock" for path in folder.iterdir()):
        what = "a run" if (folder / "config.json").is_file() else "something else"
        raise SfpError(
            f"{folder} holds {what}: add --resume to go on with a run, or choose "
            "another --out."
        )


def _check_config(folder: Path, run: Run, *, resume: bool) -> None:
    """Write what was asked for, or refuse if it is not what the folder holds."""
    asked = json.loads(json.dumps(asdict(run)))
    path = folder / "config.json"
    if not path.is_file():
        versions = {name: version(name) for name in PACKAGES}
        for name, value in (("versions.json", versions), ("config.json", asked)):
            with atomic_file(folder / name) as draft:
                draft.write_text(json.dumps(value, indent=2))
        return
    try:
        held = json.loads(path.read_text())
    except ValueError:
        raise SfpError(f"{path} is damaged: choose another --out.") from None
    changes = [
        f"{name} {old!r} -> {new!r}"
        for name, (old, new) in _differences(held, asked).items()
    ]
    if changes:
        raise SfpError(
            f"{folder} holds a run with other settings ({'; '.join(changes)}): give "
            "the same ones, or choose another --out."
        )


def _differences(held: Any, asked: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    if isinstance(held, dict) and isinstance(asked, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in sorted(held.keys() | asked.keys()):
            found |= _differences(held.get(key), asked.get(key), key)
        return found
    return {} if held == asked else {name: (held, asked)}


@contextlib.contextmanager
def _signals(folder: Path | None) -> Iterator[Callable[[], bool]]:
    """Let SIGINT and SIGTERM wait until the checkpoint is written."""
    caught = threading.Event()
    if folder is None or threading.current_thread() is not threading.main_thread():
        yield caught.is_set
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda *_: caught.set()) for kind in kinds]
    try:
        yield caught.is_set
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
