"""Recordings that a method learns from: do they fit the environment?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfp.agents.methods import Method
from sfp.data.demonstrations import HalfReplay, fill_replay
from sfp.data.replay import EpisodeReplay
from sfp.data.sources import load
from sfp.data.trajectories import Trajectories
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.priors.compatibility import check_bounds

PROBES = 10
"""Episodes whose beginnings show where an observation holds the achieved goal."""


def fitting_recordings(
    data: str | Path | Trajectories, name: str, method: Method, environment: Environment
) -> Trajectories:
    """The recordings, with every column that the method needs, checked for size."""
    columns = [c for c in method.columns if c != "goals" or environment.has_goals]
    if not isinstance(data, Trajectories):
        try:
            data = load(data, columns=columns)
        except SfpError as error:
            raise SfpError(
                f"method {name} cannot learn from these recordings: {error} A "
                "state-free prior (method sfp) needs actions alone."
            ) from None
    lacking = [column for column in columns if column not in data.columns]
    if lacking:
        raise SfpError(
            f"method {name} needs {' and '.join(lacking)} in the recordings, "
            f"{data.source} has {', '.join(data.columns)}. A state-free prior (method "
            "sfp) needs actions alone."
        )
    for column in columns:
        values = np.asarray(getattr(data, column))
        data = replace(data, **{column: values.reshape(len(values), -1)})
        bad = np.flatnonzero(~np.isfinite(getattr(data, column)).all(axis=1))
        if len(bad):
            raise SfpError(
                f"{data.source}: the {column} of step {bad[0]} are NaN or infinite "
                f"({len(bad)} such steps): method {name} learns from them. Repair the "
                "recording or leave that episode out."
            )
    check_bounds(data.low, data.high, environment.low, environment.high, data.source)
    sizes = {"observations": environment.obs_size, "goals": environment.goal_size}
    for column in columns:
        size = np.shape(getattr(data, column))[1]
        if size != sizes[column]:
            raise SfpError(
                f"{data.source} has {column} of {size} numbers, {environment.name} of "
                f"{sizes[column]}: method {name} needs recordings of the same kind. A "
                "state-free prior (method sfp) needs actions alone."
            )
    return data if environment.has_goals else replace(data, goals=None)


def half_replay(
    replay: EpisodeReplay, demonstrations: Trajectories, environment: Environment
) -> HalfReplay:
    """The same replay, with recordings for one half of every batch."""
    if not environment.has_goals:
        raise SfpError(
            f"method rlpd needs goals: the rewards of recordings follow from them, and "
            f"{environment.name} has none."
        )
    options = {
        "n_step": replay.n_step,
        "gamma": replay.gamma,
        "hindsight": replay.hindsight,
        "reward": environment.rewards,
    }
    try:
        environment.check_hindsight()
    except SfpError as error:
        raise SfpError(
            f"method rlpd computes the rewards of recordings: {error}"
        ) from None
    part = _achieved_part(environment)
    filled = fill_replay(demonstrations, part=part, **options)
    return HalfReplay(replay.capacity, replay.sizes, demonstrations=filled, **options)


def _achieved_part(environment: Environment) -> slice:
    """Where an observation holds the goal that it achieves."""
    rng, sights = np.random.default_rng(0), []
    for seed in range(PROBES):
        sights.append(environment.reset(seed))
        outcome = environment.step(rng.uniform(-1.0, 1.0, environment.action_size))
        sights.append(outcome.sight)
    for first in range(environment.obs_size - environment.goal_size + 1):
        part = slice(first, first + environment.goal_size)
        if all(np.array_equal(s.obs[part], s.achieved) for s in sights):
            return part
    raise SfpError(
        f"{environment.name} does not show the achieved goal within its observation: "
        "method rlpd cannot tell what recorded states achieved."
    )
