"""Collecting D_exp: mazes a whole batch at once, Meta-World in parallel parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from minari.data_collector import EpisodeBuffer

from sfp.data import manipulation, writer
from sfp.data.scripted import Scripted
from sfp.data.sources import load
from sfp.data.sources.minari import root
from sfp.data.trajectories import SHORTEST, Trajectories
from sfp.envs.maze import EPISODE_STEPS, MazeBatch
from sfp.envs.registry import get_task, maze_layout
from sfp.errors import SfpError, at_least

EPISODES = 4000
CHUNK = 500
"""Mazes stepped together. Part of what a seed means, so it is not an option."""


def collect(
    task: str,
    *,
    episodes: int = EPISODES,
    steps: int = EPISODE_STEPS,
    seed: int = 0,
    expert: bool = False,
    workers: int = 1,
    name: str | None = None,
    force: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Trajectories:
    """Record the scripted policy as a Minari dataset and return it.

    The dataset holds actions, observations (with the goal that the policy was after)
    and rewards; the same arguments give the same bits. Recordings in Meta-World take
    minutes: they are made in parts, which an interruption leaves for the next time.

    Args:
        task: `room` or `reach` in the paper; any point-maze or map works.
        episodes: trajectories to record.
        steps: per trajectory.
        seed: decides everything.
        expert: record the suite's scripted expert at the task itself (Meta-World).
        workers: processes (Meta-World); the data does not depend on it.
        name: dataset id, by default `sfp/<task>/scripted-v0` (or `expert-v0`).
        force: replace an existing dataset.
        progress: called with the number of episodes done so far.
    """
    at_least(1, episodes=episodes, workers=workers)
    at_least(SHORTEST, steps=steps)
    at_least(0, seed=seed)
    chosen = get_task(task)
    if chosen.suite == "meta-world":
        size = episodes, steps
        return manipulation.collect(
            chosen,
            size,
            seed,
            expert=expert,
            workers=workers,
            name=name,
            force=force,
            progress=progress,
        )
    if expert:
        raise SfpError(
            f"{chosen.name} has no expert but the scripted policy itself: leave out "
            "expert."
        )
    layout = maze_layout(chosen)
    dataset_id = name or f"sfp/{chosen.name}/scripted-v0"

    def recorded() -> Iterator[EpisodeBuffer]:
        for number, episode in enumerate(_roll(layout, episodes, steps, seed=seed)):
            yield episode
            progress(number + 1)

    writer.write(
        dataset_id,
        recorded(),
        chosen.make(),
        description=(
            f"{episodes} trajectories of {steps} steps in {chosen.name}: a scripted "
            f"policy reaches uniformly drawn goals (seed {seed}). desired_goal is the "
            "goal it walks to."
        ),
        algorithm="sfp.data.scripted.Scripted",
        force=force,
    )
    return load(root() / dataset_id)


def _roll(
    layout: str, episodes: int, steps: int, *, seed: int
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
        never = np.zeros(steps, bool)
        cut = np.arange(steps) == steps - 1
        for i in range(count):
            yield EpisodeBuffer(
                observations={
                    "observation": positions[i],
                    "achieved_goal": positions[i],
                    "desired_goal": goals[i],
                },
                actions=actions[i],
                rewards=rewards[i],
                terminations=never,  # pyright: ignore[reportArgumentType]
                truncations=cut,
            )
