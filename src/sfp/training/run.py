"""One run: from an environment and a method to a folder and a trained policy."""

from __future__ import annotations

import contextlib
import hashlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import numpy as np
from gymnasium.vector import VectorEnv

from sfp.agents.base import Agent, Mixes
from sfp.agents.controller import Warped
from sfp.agents.methods import Ingredients, get_method, usual_method
from sfp.agents.own import OWN, called_agent, check_no_ingredients, make_agent
from sfp.agents.skilled import Skilled
from sfp.compute import check_memory, threads
from sfp.config import Networks, Schedule
from sfp.data.lanes import Replay
from sfp.data.trajectories import Trajectories
from sfp.envs.adapter import Environment
from sfp.envs.identity import identify
from sfp.envs.registry import suite_of
from sfp.envs.solved import Solved
from sfp.envs.vector import PROCESSES, Environments
from sfp.errors import SfpError, at_least, unknown
from sfp.files import locked, remove, sweep_all, verify_checksums
from sfp.observation import Spec
from sfp.priors.several import (
    Given,
    check_priors,
    fingerprint_all,
    gather_priors,
    short_names,
)
from sfp.priors.store import make_card
from sfp.training.checkpoint import Checkpoints
from sfp.training.environments import (
    Places,
    count_environments,
    find_places,
    image_memory,
    make_lanes,
)
from sfp.training.folder import (
    BEST,
    FINISHED,
    check_config,
    check_folder,
    finish,
    held_method,
)
from sfp.training.log import MIXTURE_TEST, Listener, Log, Row, read_table
from sfp.training.loop import train as loop
from sfp.training.match import Given as Settings
from sfp.training.match import as_another, differences, fill, with_several
from sfp.training.recordings import fitting_recordings
from sfp.training.settings import HELP, check_options, configure
from sfp.training.trained import Trained, make_spec, taken_at
from sfp.training.verdict import as_mixture, best_row, solved_at

PRESETS = ("default", "paper")


@dataclass(frozen=True)
class Run:
    """A value that determines a result.

    Attributes:
        task: name of the environment.
        method: name of the method.
        seed: decides everything random.
        prior: fingerprint of the prior, if any; of several, one after the other.
        data: fingerprint of the recorded actions, if any.
        threads: sums depend on their number.
        schedule: what happens when.
        networks: sizes and optimisation.
        options: settings that belong to the method.
        env: what the task's name does not say of the environment.
        beside: fingerprint of the states beside the recorded actions, if any.
        reward_threshold: of the environment's spec.
        priors: what they are called, in the order of their numbers in the tables; their
            fingerprints tell them apart.
    """

    task: str
    method: str
    seed: int
    prior: str | None
    data: str | None
    threads: int
    schedule: Schedule
    networks: Networks
    options: dict[str, Any]
    env: str | None = None
    beside: str | None = None
    reward_threshold: float | None = None
    priors: list[str] | None = None

    @property
    def solved(self) -> Solved:
        """The rule by which the run solves its task."""
        return Solved(self.schedule.solved_at, self.reward_threshold)


def train(
    env: str | gym.Env | VectorEnv,
    *,
    method: str | None = None,
    agent: Callable[[Spec], Agent] | None = None,
    prior: Given | Sequence[Given] | None = None,
    data: str | Path | Trajectories | None = None,
    seed: int = 0,
    preset: str = "default",
    match: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    extend: bool = False,
    eval_env: str | gym.Env | None = None,
    vector: str = "async",
    listeners: tuple[Listener, ...] = (),
    progress: Callable[[int], None] = lambda step: None,
    report: Callable[[float], None] = lambda share: None,
    say: Callable[[str], None] = lambda line: None,
    **settings: Any,
) -> Trained:
    """Learn a task.

    Args:
        env: a task's name, a Gymnasium id, an environment, or a vector environment that
            does not reset itself.
        method: a name from `METHODS`; by default that of the run in `out`, or else
            `sfp-quick` (with the preset `paper`, `sfp`).
        agent: an agent of your own instead of a method: a class or function that makes
            one for the sizes of the environment, such as `sfp.SAC`.
        prior: a fitted one, its folder, or the name of a shipped one or of a noise
            (`uniform`, `ou`, `pink`); for SFP also several of them, as a list.
        data: recordings or their name, for methods that learn from them in training.
        seed: the same seed gives the same bits.
        preset: `default`, or `paper`: hindsight 4 for every method that allows it.
        match: take α, hindsight and schedule from the defaults of this method, so that
            a comparison with it (`sac`) differs in the method alone.
        out: folder of the run: tables, events, checkpoints, the policy. Without it
            nothing is written.
        resume: resume the run in `out`.
        extend: the same, and move its end: to other `steps`, or to no longer
            `until_solved`.
        eval_env: for tests; needed if `env` cannot be made anew from its `spec`.
        vector: whether several environments (`envs`) have a process each (`async`), or
            share one (`sync`); the results are the same.
        listeners: called with the step and every new row.
        progress: called with the step after every iteration.
        report: called with the share that is done of what comes before the first step.
        say: called with a sentence about settings that people overlook, or "".
        **settings: fields of `Schedule`, `Networks`, `Mixture` and `Baselines`.

    Returns:
        The policy, with `predict`, `save` and `load`.
    """
    at_least(0, seed=seed)
    if seed >= 2**32:
        raise SfpError(f"expected a seed below 2**32, received {seed}.")
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS, HELP)
    schedule, networks, mixture, baselines = configure(settings)
    if vector not in PROCESSES:
        raise unknown("vector", vector, PROCESSES, HELP)
    places = find_places(env, eval_env)
    schedule, environment = count_environments(schedule, places), places.example
    priors = gather_priors(prior, environment)
    if agent is not None:
        method = called_agent(agent, method)
        check_no_ingredients(prior, data)
    else:
        method = find_method(method, preset, out)
    held = tuple(priors.values())
    chosen = OWN if agent is not None else get_method(method, held, data)
    if agent is None:
        check_options(method, asdict(mixture) | asdict(baselines))
    suite = suite_of(environment.env)
    if suite in chosen.refused:
        raise SfpError(f"method {method} is not for {suite}: {chosen.refused[suite]}.")
    check_priors(priors, environment)
    if data is not None:
        data = fitting_recordings(data, method, chosen, environment)
    several = len(priors) > 1
    usual = with_several(chosen, mixture.td_value) if several else chosen
    usual = as_another(usual, match) if match else usual
    given = Settings(schedule, networks, mixture)
    filled = fill(given, method, usual, environment, preset)
    told = differences(given, filled, method, environment, preset)
    schedule, networks, mixture = filled
    said = environment.note, _memory(schedule, environment), told
    note = partial(say, " ".join(filter(None, said)))
    if agent is not None:
        led = bool(schedule.frontier or schedule.greedy_episodes)
        saved = out is not None
        made = make_agent(agent, environment.spec, saved=saved, led=led)
    else:
        groups = schedule, networks, mixture, baselines
        made = chosen.build(Ingredients(environment.spec, *groups, held, data, report))
    flat = asdict(mixture) | asdict(baselines)
    run = Run(
        task=environment.name,
        method=method,
        seed=seed,
        prior=fingerprint_all(priors),
        data=data.fingerprint[:16] if data is not None else None,
        threads=threads(),
        schedule=schedule,
        networks=networks,
        options={name: flat[name] for name in chosen.options},
        env=identify(places.env) or None,
        beside=_beside(data) if data is not None else None,
        reward_threshold=environment.reward_threshold,
        priors=short_names(priors) or None,
    )
    replay = make_lanes(made, schedule, environment, method)
    with places.opened(schedule.envs, vector) as several:
        state = _check_agent(made, saved=out is not None)
        act = partial(_run, run, made, places, several, replay, listeners, note)
        if out is None:
            return act(None, progress)
        old = state if extend else None
        check = partial(check_config, asked=asdict(run), extend=extend, state=old)
        going = resume or extend
        return _in_folder(Path(out), run, check, act, progress, resume=going)


def find_method(method: str | None, preset: str, out: str | Path | None) -> str:
    """The method that was asked for, or that of the folder's run, or the usual one."""
    held = held_method(Path(out)) if out is not None and method is None else None
    return method or held or usual_method(preset)


def _in_folder(
    folder: Path,
    run: Run,
    check_settings: Callable[[Path], None],
    act: Callable[[Path, Callable[[int], None]], Trained],
    progress: Callable[[int], None],
    *,
    resume: bool,
) -> Trained:
    """Begin or resume the run of a folder, unless it is finished."""
    check_folder(folder, resume=resume)
    with locked(folder, "training in") as check:
        sweep_all(folder)
        if (folder / BEST).is_dir():
            try:
                verify_checksums(folder / BEST)
            except SfpError as error:
                raise SfpError(f"{error} Or remove {folder / BEST}.") from None
        check_settings(folder)
        if (folder / FINISHED).is_file():
            trained = Trained.load(folder)
            trained.evaluations = read_table(folder, "eval")
            trained.solved = run.solved
            return trained

        def checked(step: int) -> None:
            check()
            progress(step)

        return act(folder, checked)


def _check_agent(agent: Agent, *, saved: bool) -> Any:
    """Refuse what cannot be built, held in memory or saved; return the state's shapes.

    This comes before a folder is begun: what is refused leaves nothing behind.
    """
    state = jax.eval_shape(agent.init, jax.random.key(0))
    needed = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    check_memory("networks and optimisers", needed, "expected less width or depth")
    tested = agent.controller(jax.eval_shape(agent.actor, state))
    if saved and isinstance(tested, Warped | Skilled):
        make_card(tested.prior)
    return state


def _run(
    run: Run,
    agent: Agent,
    places: Places,
    acted_in: Environments,
    replay: Replay,
    listeners: tuple[Listener, ...],
    begin: Callable[[], None],
    folder: Path | None,
    progress: Callable[[int], None],
) -> Trained:
    spec = make_spec(places.example, run.method, run.networks, run.env)
    begin()  # nothing is refused from here on
    several, mixture = 0, False
    if isinstance(agent, Mixes):
        several = agent.components if agent.components > 1 else 0
        mixture = agent.tests_mixture
    own = tuple(getattr(agent, "metrics", ()))
    log = Log(folder, listeners, priors=several, mixture=mixture, metrics=own)
    checkpoints = Checkpoints(folder / "checkpoint") if folder else None

    def keep_best(step: int, actor: Any) -> None:
        if folder:
            at = replace(spec, step=step)
            Trained(agent.controller(actor), at).save(folder / BEST, force=True)

    with _signals(folder) as interrupted, contextlib.closing(log):
        state = loop(
            agent,
            places.example,
            places.tested,
            replay,
            log,
            schedule=run.schedule,
            seed=run.seed,
            several=acted_in,
            checkpoints=checkpoints,
            keep_best=keep_best,
            interrupted=interrupted,
            progress=progress,
        )
    actor = jax.tree.map(np.asarray, agent.actor(state))
    trained = Trained(agent.controller(actor), spec)
    trained.evaluations, trained.solved = log.rows["eval"], run.solved
    if folder and checkpoints:
        trained.save(folder / "policy", force=True)
        check_best(folder, log.rows["eval"])
        last = checkpoints.meta(checkpoints.steps()[-1])
        end = {"step": last["step"], "solved_at": trained.solved_at}
        end["first_reward"] = last["first_reward"]
        if MIXTURE_TEST in log.columns["eval"]:
            rows = as_mixture(log.rows["eval"])
            end["mixture_solved_at"] = solved_at(rows, run.solved)
        end["exact"] = last["exact"]  # whether the same seed gives the same bits
        finish(folder, end, last)
    return trained


def check_best(folder: Path, rows: list[Row]) -> None:
    """Remove a best policy of tests that the run, resumed inexactly, did not repeat."""
    best = folder / BEST
    if best.is_dir() and taken_at(best) != best_row(rows)["step"]:
        remove(best)


def _memory(schedule: Schedule, environment: Environment) -> str:
    """What images take, in a sentence."""
    count, needed = image_memory(schedule, environment)
    if not needed:
        return ""
    return f"The replay's {count:,} images will take {needed / 1e9:.2g} GB of memory."


def _beside(data: Trajectories) -> str:
    """Fingerprint of all but the actions."""
    digest = hashlib.sha256()
    for column in data.columns[1:]:
        digest.update(np.ascontiguousarray(getattr(data, column)).tobytes())
    return digest.hexdigest()[:16]


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
