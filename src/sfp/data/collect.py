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
from sfp.data.writer import IMAGE, make_buffer, write
from sfp.envs.layout import Layout
from sfp.envs.maze import PIXELS, Maze, MazeBatch
from sfp.envs.picture import AGENT, GOAL, Canvas
from sfp.envs.registry import Task, get_task
from sfp.envs.suites import EPISODE_STEPS, SUITES
from sfp.errors import SfpError, at_least

SCRIPTED, EXPERT = "scripted", "expert"
EPISODES, WITH_IMAGES = 4000, 400
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
    images: bool = False,
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
            or for locomotion 1000, and 400 with images.
        steps: per trajectory.
        seed: decides everything.
        policy: who acts: `scripted` reaches random goals, `expert` is Meta-World's own
            at the task itself, or in locomotion one that ships with sfp, and anything
            that `record` takes works in any task.
        expert: the old way to say `policy="expert"`.
        workers: processes (Meta-World); the data does not depend on it.
        images: record what `pixels=true` would show too, with the policy's own goal
            drawn into it; for scripts and for Meta-World's experts.
        name: dataset id, by default `sfp/<task>/scripted-v0`, `expert-v0`, or
            `recorded-v0` for all others; with images `scripted-images-v0`.
        force: replace an existing dataset.
        progress: called with the number of episodes done so far.
    """
    chosen = get_task(task)
    episodes = usual_episodes(chosen, images=images) if episodes is None else episodes
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
        if images:
            raise SfpError(
                "images are recorded of scripts and of Meta-World's experts"
                + (
                    f": for others name the task {chosen.base}:pixels=true."
                    if "pixels" in (chosen.parameters or ())
                    else f"; {chosen.name} shows none: leave --images out."
                )
            )
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
    layout, kind = chosen.layout, "scripted-images" if images else SCRIPTED
    if layout is None:
        return manipulation.collect(
            chosen,
            (episodes, steps),
            seed,
            expert=policy == EXPERT,
            workers=workers,
            images=images,
            name=name,
            force=force,
            progress=progress,
        )
    return write(
        name or f"sfp/{chosen.slug}/{kind}-v0",
        _roll(layout, episodes, steps, seed=seed, images=images),
        chosen.make(),
        images=images,
        description=(
            f"{episodes} trajectories of {steps} steps in {chosen.name}: a scripted "
            f"policy reaches uniformly drawn goals (seed {seed}). desired_goal is the "
            "goal it walks to."
        ),
        algorithm="sfp.data.scripted.Scripted",
        force=force,
        progress=progress,
    )


def usual_episodes(task: Task, *, images: bool = False) -> int:
    """How many the paper records in a task of its suite; of images fewer."""
    if images:
        return WITH_IMAGES
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
            f"the script of {task.base} sees positions, not images: leave out pixels "
            "and add --images (images=True) to record both, or record a run (--policy "
            "RUN)."
        )


def _drawn(maze: Maze, positions: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """The images of an episode, from scaled positions and goals."""
    eye = Canvas(maze.layout, PIXELS, PIXELS, keep_aspect=False)
    made = np.repeat(eye.blank[None], len(positions), axis=0)
    for image, at, goal in zip(made, positions, goals, strict=True):
        eye.square(image, maze.layout.low + goal * maze.extent, GOAL)
        eye.square(image, maze.layout.low + at * maze.extent, AGENT)
    return made


def _roll(
    layout: Layout, episodes: int, steps: int, *, seed: int, images: bool
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
            if images:
                observations[IMAGE] = _drawn(batch.maze, positions[i], goals[i])
            yield make_buffer(observations, actions[i], rewards[i])
