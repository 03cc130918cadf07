"""Explorers: what can act without learning a task, compared side by side."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from sfp.envs.solved import Solved
from sfp.envs.suites import EPISODE_STEPS
from sfp.errors import SfpError, at_least, unknown
from sfp.exploration.arena import Act, Arena, EnvironmentArena
from sfp.exploration.family import (
    Correlated,
    Explorer,
    Seen,
    SelfAvoiding,
    Uniform,
    check_explorer,
)
from sfp.exploration.metrics import coverage, farthest, gyration
from sfp.exploration.place import Box, Place, find_place
from sfp.exploration.prior import PriorExplorer
from sfp.noise.processes import Colored, OrnsteinUhlenbeck, Zeta
from sfp.outside import register
from sfp.priors.base import Prior
from sfp.priors.skills import Skills
from sfp.types import Paths, Sequences

TRAJECTORIES = 20
REPETITIONS = 10
RESETS = 9
"""With the seed, the random stream of resets, which all explorers share."""


@dataclass(frozen=True)
class Entry:
    """A line of the table of explorers; without an explorer, the place has a script."""

    explorer: Explorer | None
    summary: str


EXPLORERS: dict[str, Entry] = {
    "uniform": Entry(
        Uniform(),
        "independent uniform actions (SAC's initial exploration)",
    ),
    "scripted": Entry(
        None,
        "goes to random goals: how D_exp is recorded",
    ),
    "polyrl": Entry(
        SelfAvoiding(),
        "locally self-avoiding walk (PolyRL, the paper's baseline)",
    ),
    "pink": Entry(
        Correlated(Colored(horizon=EPISODE_STEPS)),
        "uniform actions correlated as pink noise, power 1/f",
    ),
    "ou": Entry(
        Correlated(OrnsteinUhlenbeck()),
        "uniform actions correlated as an Ornstein-Uhlenbeck process, by 0.85 a step",
    ),
    "zeta": Entry(
        Correlated(Zeta()),
        "uniform actions held for m steps, P(m) ∝ 1/m², up to 16",
    ),
}


def register_explorer(name: str, explorer: Any, summary: str) -> None:
    """Add an explorer of your own to `sfp.explore` and `sfp list explorers`.

    Args:
        name: must be new.
        explorer: has `begin`, `act` and `perturb` (see `Explorer`); it also serves
            `sfp.SAC(spec, explorer=...)`.
        summary: one line.
    """
    check_explorer(explorer, name)
    register(EXPLORERS, "explorer", name, Entry(explorer, summary))


@dataclass(frozen=True)
class Exploration:
    """What an explorer did: `repetitions * trajectories` walks, one after the other.

    Attributes:
        name: of the explorer.
        paths: all positions, the first one included: cells, or metres of the hand.
        actions: all actions.
        coverage: one value per repetition.
        gyration: one value per repetition, divided by δ².
        gyration_printed: the same divided by δ, as the paper's formula is printed, in
            the paper's tasks.
        success: share of trajectories that solved the task (`sfp.envs.solved.Solved`)
            and did not begin at its goal, per repetition; None if nothing says so.
        returns: their mean return, per repetition, where rewards are known.
        rewarded: share of them with a reward above 0, per repetition, likewise.
        began: share of trajectories that began at the goal.
        distance: the largest displacement of each trajectory up to each step, where the
            task is about getting away.
    """

    name: str
    paths: Paths
    actions: Sequences
    coverage: np.ndarray
    gyration: np.ndarray
    gyration_printed: np.ndarray | None
    success: np.ndarray | None
    returns: np.ndarray | None = None
    rewarded: np.ndarray | None = None
    began: float = 0.0
    distance: np.ndarray | None = None

    def row(self) -> dict[str, str | float]:
        """One line of the table: mean and standard deviation over repetitions."""
        row: dict[str, str | float] = {"explorer": self.name}
        metrics = ("coverage", "gyration", "gyration_printed", "success", "rewarded")
        for metric in (*metrics, "returns"):
            values = getattr(self, metric)
            if values is None:
                continue
            row[metric] = float(values.mean())
            row[f"{metric}_std"] = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        if self.distance is not None:
            last = self.distance.shape[1] - 1
            for steps in sorted({min(EPISODE_STEPS, last), last}):
                row[f"distance_{steps}"] = float(self.distance[:, steps].mean())
                row[f"best_{steps}"] = float(self.distance[:, steps].max())
        return row


def explore(
    task: str | gym.Env | Place,
    explorers: Sequence[str] | None = None,
    *,
    priors: Mapping[str, Prior] = MappingProxyType({}),
    trajectories: int = TRAJECTORIES,
    steps: int | None = None,
    repetitions: int = REPETITIONS,
    seed: int = 0,
    position: Sequence[int] = (),
    solved_at: float | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[Exploration]:
    """Let explorers walk a task and measure how well they cover it (Table 1).

    All explorers begin their trajectories with the same resets. Their actions depend on
    the seed and their own name only, not on the others.

    Args:
        task: a point-maze or a Meta-World task (the paper's table has `room-large` and
            `reach`), a Gymnasium id, or an environment.
        explorers: names from `EXPLORERS`; None is uniform, and scripted where it can.
        priors: learned priors by the name to show them under.
        trajectories: per repetition.
        steps: per trajectory; None is an episode's length.
        repetitions: of the whole measurement, for its spread.
        seed: decides everything.
        position: of an environment of your own: which numbers of the observation say
            where one is; none is the achieved goal, or all of it.
        solved_at: of an environment of your own: the return from which on a trajectory
            is a success; None is what the environment tells, or where it does not, its
            spec's reward_threshold.
        progress: called once per step of each explorer; in an environment of your own,
            where walks go one after the other, of each walk.
    """
    at_least(1, trajectories=trajectories, repetitions=repetitions)
    at_least(0, seed=seed)
    if steps is not None:
        at_least(1, steps=steps)
    for name in explorers or ():
        if name not in EXPLORERS:
            raise unknown("explorer", name, EXPLORERS, "See `sfp list explorers`.")
    place = find_place(task, position)
    if solved_at is not None and place.is_known:
        raise SfpError(f"{place.name} tells success by itself: leave out solved_at.")
    rule = Solved(solved_at, place.environment.reward_threshold)
    if explorers is None:
        explorers = ("uniform", "scripted") if place.is_known else ("uniform",)
    elif "scripted" in explorers and not place.is_known:
        raise SfpError(f"there is no scripted policy for {place.name}: leave it out.")
    chosen = {name: EXPLORERS[name].explorer for name in explorers}
    for name, prior in priors.items():
        _check_single(name, prior)
        chosen[name] = PriorExplorer(place.fitted(prior, name))
    size = repetitions * trajectories, steps or place.steps
    walks = [
        _roll_out(name, explorer, place, size, seed, progress)
        for name, explorer in chosen.items()
    ]
    if not walks:
        return []
    paths, box = place.measured([walk.paths for walk in walks])
    succeeded = _successes(walks, rule)
    scored = [
        _score(name, walk._replace(paths=path), success, box, repetitions)
        for name, walk, path, success in zip(
            chosen, walks, paths, succeeded, strict=True
        )
    ]
    if place.threshold is not None:
        return [
            replace(one, distance=farthest(walk.paths))
            for one, walk in zip(scored, walks, strict=True)
        ]
    return scored


def _check_single(name: str, prior: Prior) -> None:
    """Refuse skills: step by step, no skill would ever be carried out."""
    if isinstance(prior.model, Skills):
        raise SfpError(
            f"{name} proposes skills, an explorer needs a prior over single actions: "
            "train with it (method spirl), or fit another model."
        )


def success_notes(explorations: Sequence[Exploration]) -> list[str]:
    """What a table of explorers does not say of success by itself."""
    if explorations and explorations[0].success is None:
        return [
            "There is no success: the environment tells none and its spec has no "
            "reward_threshold. --solved-at RETURN sets one."
        ]
    began = max((walks.began for walks in explorations), default=0.0)
    return [
        f"{began:.1%} of the trajectories began at their goal: they are no success."
    ] * (began > 0)


class Rollouts(NamedTuple):
    """What an `Arena` tells at its end; `returns` and `paid` are NaN if unknown."""

    paths: Paths
    actions: Sequences
    told: np.ndarray
    began: np.ndarray
    returns: np.ndarray
    paid: np.ndarray


def _roll_out(
    name: str,
    explorer: Explorer | None,
    place: Place,
    size: tuple[int, int],
    seed: int,
    progress: Callable[[], None],
) -> Rollouts:
    count, steps = size
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    resets = np.random.default_rng([seed, RESETS])
    made = []
    for arena in place.arenas(count, resets):
        act = _acting(explorer, arena, rng)
        paths = np.empty((len(arena.position), steps + 1, arena.position.shape[1]))
        actions = np.empty((len(paths), steps, arena.dims))
        paths[:, 0] = arena.position
        for t in range(steps):
            actions[:, t] = act()
            paths[:, t + 1] = arena.step(actions[:, t])
            progress()
        unknown = np.full(len(paths), np.nan)
        paid = unknown if arena.paid is None else arena.paid
        returns = unknown if arena.returns is None else arena.returns
        made.append(Rollouts(paths, actions, arena.told, arena.began, returns, paid))
    return Rollouts(*map(np.concatenate, zip(*made, strict=True)))


def _successes(
    walks: Sequence[Rollouts], rule: Solved
) -> list[np.ndarray] | list[None]:
    """Which trajectories solved the task, by the rule; None if nothing says so."""
    found = [
        [
            rule(None if np.isnan(told) else told, total)
            for told, total in zip(rolled.told, rolled.returns, strict=True)
        ]
        for rolled in walks
    ]
    if all(one is None for judged in found for one in judged):
        return [None for _ in walks]
    # Some environments speak of success only when there is one.
    return [
        np.array([bool(one) for one in judged]) & ~rolled.began
        for judged, rolled in zip(found, walks, strict=True)
    ]


def _acting(explorer: Explorer | None, arena: Arena, rng: np.random.Generator) -> Act:
    if explorer is None:
        assert not isinstance(arena, EnvironmentArena)
        return arena.script(rng)
    memory = explorer.begin(rng, Seen(arena.position, arena.states()), arena.dims)

    def act() -> np.ndarray:
        nonlocal memory
        seen = Seen(arena.position, arena.states())
        actions, memory = explorer.act(memory, seen, rng)
        return actions

    return act


def _score(
    name: str,
    walks: Rollouts,
    success: np.ndarray | None,
    box: Box,
    repetitions: int,
) -> Exploration:
    paths, actions, _, began, returns, paid = walks
    by_repetition = paths.reshape(repetitions, -1, *paths.shape[1:])
    low, high = box.low, box.high
    diagonal = float(np.linalg.norm(high - low))

    def shares(values: np.ndarray | None) -> np.ndarray | None:
        if values is None or np.isnan(values).any():
            return None
        return values.reshape(repetitions, -1).mean(axis=1)

    return Exploration(
        name,
        paths,
        actions,
        coverage=np.array(
            [coverage(p, low, high, reachable=box.reachable) for p in by_repetition]
        ),
        gyration=np.array([gyration(p, diagonal) for p in by_repetition]),
        gyration_printed=None
        if not np.isnan(returns).any()
        else np.array(
            [gyration(p, diagonal, normaliser="printed") for p in by_repetition]
        ),
        success=shares(success),
        returns=shares(returns),
        rewarded=shares(paid),
        began=float(began.mean()),
    )
