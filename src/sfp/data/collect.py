"""Collecting D_exp: by a script, an expert or any controller, into Minari."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from minari.data_collector import EpisodeBuffer

from sfp.compute import check_memory
from sfp.data import manipulation
from sfp.data.record import record
from sfp.data.scripted import Scripted
from sfp.data.trajectories import SHORTEST, Trajectories
from sfp.data.walking import load_expert
from sfp.data.writer import make_buffer, write
from sfp.envs.layout import Layout
from sfp.envs.maze import MazeBatch
from sfp.envs.registry import Task, get_task
from sfp.envs.suites import EPISODE_STEPS, SUITES
from sfp.errors import SfpError, at_least

SCRIPTED, EXPERT = "scripted", "expert"
EPISODES = 4000
LEAST = 16
"""Bytes of a recorded step at least: a dataset is in memory until it is whole."""

CHUNK = 500
"""Mazes stepped together. Part of what a seed means, so it is not an option."""


def collect(
    task: str,
    *,
    episodes: int | None = None,
    steps: int = EPISODE_STEPS,
    seed: int = 0,
    policy: Any = SCRIPTED,
    expert: bool = False,
    workers: int = 1,
    name: str | None = None,
    force: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Trajectories:
    """Record a policy as a Minari dataset and return it.

    The dataset holds actions, observations (with the goal that the policy was after)
    and rewards; the same arguments give the same bits. Scripts and experts in
    Meta-World take minutes: they are recorded in parts, which an interruption leaves
    for the next time.

    Args:
        task: `room` or `reach` in the paper; any point-maze or map has a script.
        episodes: trajectories to record; None is the paper's number for the suite, 4000
            or for locomotion 1000.
        steps: per trajectory.
        seed: decides everything.
        policy: who acts: `scripted` reaches random goals, `expert` is Meta-World's own
            at the task itself, or in locomotion one that ships with sfp, and anything
            that `record` takes works in any task.
        expert: the old way to say `policy="expert"`.
        workers: processes (Meta-World); the data does not depend on it.
        name: dataset id, by default `sfp/<task>/scripted-v0`, `expert-v0`, or
            `recorded-v0` for all others.
        force: replace an existing dataset.
        progress: called with the number of episodes done so far.
    """
    chosen = get_task(task)
    episodes = usual_episodes(chosen) if episodes is None else episodes
    at_least(1, episodes=episodes, workers=workers)
    at_least(SHORTEST, steps=steps)
    at_least(0, seed=seed)
    check_memory(
        f"{episodes} episodes of {steps} steps",
        episodes * steps * LEAST,
        "record fewer, or shorter ones",
    )
    if expert:
        warnings.warn(
            "--expert (expert=True) is old: write --policy expert (policy='expert').",
            FutureWarning,
            stacklevel=2,
        )
        policy = EXPERT
    if policy == SCRIPTED and chosen.script is not None:
        policy, name = chosen.script, name or f"sfp/{chosen.slug}/scripted-v0"
    if policy == EXPERT and by_experts(chosen):
        policy, name = load_expert(chosen), name or f"sfp/{chosen.slug}/expert-v0"
    if not isinstance(policy, str):
        return record(
            task,
            policy,
            episodes=episodes,
            steps=steps,
            seed=seed,
            name=name,
            force=force,
            progress=progress,
        )
    check_policy(chosen, policy)
    layout = chosen.layout
    if layout is None:
        return manipulation.collect(
            chosen,
            (episodes, steps),
            seed,
            expert=policy == EXPERT,
            workers=workers,
            name=name,
            force=force,
            progress=progress,
        )
    return write(
        name or f"sfp/{chosen.slug}/scripted-v0",
        _roll(layout, episodes, steps, seed=seed),
        chosen.make(),
        description=(
            f"{episodes} trajectories of {steps} steps in {chosen.name}: a scripted "
            f"policy reaches uniformly drawn goals (seed {seed}). desired_goal is the "
            "goal it walks to."
        ),
        algorithm="sfp.data.scripted.Scripted",
        force=force,
        progress=progress,
    )


def usual_episodes(task: Task) -> int:
    """How many the paper records in a task of its suite."""
    suite = SUITES.get(task.suite)
    return EPISODES if suite is None else suite.episodes


def by_experts(task: Task) -> bool:
    """Whether experts that ship with sfp record in it."""
    return task.is_ours and SUITES[task.suite].experts


def check_policy(task: Task, policy: str) -> None:
    if policy not in (SCRIPTED, EXPERT):
        raise SfpError(
            f"expected policy {SCRIPTED!r}, {EXPERT!r} or a controller, received "
            f"{policy!r}: load a run first (policy=sfp.Trained.load(RUN))."
        )
    if not task.is_ours:
        raise SfpError(
            f"there is no {policy} policy for {task.name}: give a run "
            "(--policy RUN), or a controller (sfp.record in Python)."
        )
    if task.layout is not None and policy == EXPERT:
        raise SfpError(
            f"{task.name} has no expert but the scripted policy itself: choose "
            f"--policy {SCRIPTED}."
        )
    if by_experts(task):
        raise SfpError(
            f"no script walks in {task.base}: choose --policy expert (policy='expert'),"
            " which ships with sfp."
        )
    if task.layout is None and policy == SCRIPTED and task.base != "reach":
        raise SfpError(
            f"reaching is recorded in reach, not in {task.base}: choose --policy "
            "expert (policy='expert') for Meta-World's own scripted expert."
        )
    if task.kwargs.get("pixels"):
        raise SfpError(
            f"the script of {task.base} records positions, not images: leave out "
            "pixels (priors learn from the actions), or record a run (--policy RUN)."
        )


def _roll(
    layout: Layout, episodes: int, steps: int, *, seed: int
) -> Iterator[EpisodeBuffer]:
    """Simulate in chunks; each chunk has a random stream of its own."""
    for chunk, first in enumerate(range(0, episodes, CHUNK)):
        count = min(CHUNK, episodes - first)
        rng = np.random.default_rng([seed, chunk])
        batch = MazeBatch(layout, count, rng)
        script = Scripted(batch.maze.layout, batch.position, rng)
        positions = np.empty((count, steps + 1, 2), np.float32)
        goals = np.empty((count, steps + 1, 2), np.float32)
        actions = np.empty((count, steps, 2), np.float32)
        for t in range(steps):
            actions[:, t] = script.act(batch.position, rng)
            positions[:, t] = batch.maze.scale(batch.position)
            goals[:, t] = batch.maze.scale(script.goal)
            batch.step(actions[:, t])
        positions[:, steps] = batch.maze.scale(batch.position)
        goals[:, steps] = goals[:, steps - 1]
        rewards = batch.maze.reached(positions[:, 1:], goals[:, :-1]).astype(float)
        for i in range(count):
            observations = {
                "observation": positions[i],
                "achieved_goal": positions[i],
                "desired_goal": goals[i],
            }
            yield make_buffer(observations, actions[i], rewards[i])
