"""Recordings that a method learns from in training: whether they fit the world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfp.agents.methods import Method
from sfp.data.demonstrations import HalfReplay, fill_replay
from sfp.data.replay import EpisodeReplay
from sfp.data.sources import load
from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
from sfp.priors.base import check_bounds
from sfp.training.world import World

PROBES = 10
"""Episodes whose beginnings show where an observation holds the achieved goal."""


def fitting_recordings(
    data: str | Path | Trajectories, name: str, method: Method, world: World
) -> Trajectories:
    """The recordings, with every column that a method needs and the world's sizes."""
    columns = [c for c in method.columns if c != "goals" or world.has_goals]
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
    check_bounds(data.low, data.high, world.low, world.high, data.source)
    sizes = {"observations": world.obs_size, "goals": world.goal_size}
    for column in columns:
        size = np.shape(getattr(data, column))[1]
        if size != sizes[column]:
            raise SfpError(
                f"{data.source} has {column} of {size} numbers, {world.name} of "
                f"{sizes[column]}: method {name} needs recordings of the same kind. A "
                "state-free prior (method sfp) needs actions alone."
            )
    return data if world.has_goals else replace(data, goals=None)


def half_replay(
    replay: EpisodeReplay, demonstrations: Trajectories, world: World
) -> HalfReplay:
    """The same replay, with recordings for one half of every batch."""
    if not world.has_goals:
        raise SfpError(
            f"method rlpd needs goals: the rewards of recordings follow from them, and "
            f"{world.name} has none."
        )
    options = {
        "n_step": replay.n_step,
        "gamma": replay.gamma,
        "hindsight": replay.hindsight,
        "reward": world.rewards,
    }
    try:
        world.check_hindsight()
    except SfpError as error:
        raise SfpError(
            f"method rlpd computes the rewards of recordings: {error}"
        ) from None
    part = _achieved_part(world)
    filled = fill_replay(demonstrations, part=part, **options)
    return HalfReplay(replay.capacity, replay.sizes, demonstrations=filled, **options)


def _achieved_part(world: World) -> slice:
    """Where an observation holds the goal that it achieves."""
    rng, sights = np.random.default_rng(0), []
    for seed in range(PROBES):
        sights.append(world.reset(seed))
        outcome = world.step(rng.uniform(-1.0, 1.0, world.action_size))
        sights.append(outcome.sight)
    for first in range(world.obs_size - world.goal_size + 1):
        part = slice(first, first + world.goal_size)
        if all(np.array_equal(s.obs[part], s.achieved) for s in sights):
            return part
    raise SfpError(
        f"{world.name} does not show the achieved goal within its observation: method "
        "rlpd cannot tell what recorded states achieved."
    )
