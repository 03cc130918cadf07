"""The table of tasks: one name each, for the command line, Python and the docs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym

from sfp.envs.layout import Layout
from sfp.envs.manipulation import MANIPULATIONS
from sfp.envs.maze import EPISODE_STEPS
from sfp.errors import SfpError, unknown


@dataclass(frozen=True)
class Task:
    """A registered Gymnasium environment with a short name.

    Attributes:
        name: what users type.
        env_id: what `gymnasium.make` takes.
        suite: the group of tasks that share an action space.
        summary: one line for `sfp list`.
        kwargs: further arguments of `gymnasium.make`.
    """

    name: str
    env_id: str
    suite: str
    summary: str
    kwargs: dict[str, Any] = field(default_factory=dict)

    def make(self, **kwargs: Any) -> gym.Env:
        """Build the environment; `kwargs` go to its constructor."""
        return gym.make(self.env_id, **{**self.kwargs, **kwargs})


MAZES = {
    "room": "29x29 empty room, goal in a random corner",
    "corridor": "U-shaped corridor of 61 + 1 + 61 cells",
    "maze": "crossings and dead ends, shortest way 66",
    "room-large": "81x81 empty room of the coverage table",
}


def _tasks(suite: str, summaries: dict[str, str]) -> dict[str, Task]:
    return {
        name: Task(name, f"sfp/{name.title().replace('-', '')}-v0", suite, summary)
        for name, summary in summaries.items()
    }


TASKS: dict[str, Task] = {
    **_tasks("point-maze", MAZES),
    **_tasks("meta-world", {k: task.summary for k, task in MANIPULATIONS.items()}),
}
CUSTOM_MAZE = "sfp/PointMaze-v0"


def register() -> None:
    """Make every task known to `gymnasium.make`, and mazes with a map of your own."""
    entry_points = {
        "point-maze": ("sfp.envs.maze:PointMaze", "layout"),
        "meta-world": ("sfp.envs.metaworld:MetaWorld", "task"),
    }
    for task in TASKS.values():
        entry_point, argument = entry_points[task.suite]
        gym.register(
            task.env_id,
            entry_point,
            max_episode_steps=EPISODE_STEPS,
            kwargs={argument: task.name},
        )
    maze, _ = entry_points["point-maze"]
    gym.register(CUSTOM_MAZE, maze, max_episode_steps=EPISODE_STEPS)


def get_task(name: str) -> Task:
    """The task of that name, Gymnasium id, or file with an ASCII map.

    Meta-World's own spellings (`window-close-v3`, `window_close`) are understood.
    """
    if name in TASKS:
        return TASKS[name]
    for task in TASKS.values():
        if name == task.env_id:
            return task
    plain = name.lower().replace("_", "-").replace(" ", "-").removesuffix("-v3")
    if plain in MANIPULATIONS:
        return TASKS[plain]
    path = Path(name)
    if path.suffix == ".txt":
        if not path.is_file():
            raise SfpError(f"there is no map at {path}: expected a text file.")
        # The map itself, not its path: what is recorded in it can be rebuilt anywhere.
        kwargs = {"layout": Layout.from_file(path).to_ascii() + "\n"}
        return Task(path.stem, CUSTOM_MAZE, "point-maze", f"map {path}", kwargs)
    raise unknown(
        "task", name, TASKS, "`sfp list tasks` shows all; a map is a path to a .txt."
    )


def maze_layout(task: Task) -> str:
    """The layout of a point-maze task."""
    if task.suite != "point-maze":
        raise SfpError(f"task {task.name!r} is not a point-maze.")
    return task.kwargs.get("layout", task.name)
