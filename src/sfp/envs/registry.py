"""The table of tasks: one name each, for the command line, Python and the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import FrameStackObservation

from sfp.envs import parameters
from sfp.envs.generator import generate
from sfp.envs.layout import Layout
from sfp.envs.maze import get_layout
from sfp.envs.packages import hint, provide
from sfp.envs.parameters import Parameter, Value, slug
from sfp.envs.suites import DISTURBED, PIXELS, SUITES
from sfp.envs.wrappers import BiasedObservation, InvertedAction
from sfp.errors import SfpError, unknown


@dataclass(frozen=True)
class Task:
    """A Gymnasium environment with a short name, its parameters included.

    Attributes:
        name: what users type; parameters are sorted, and defaults left out.
        env_id: what `gymnasium.make` takes.
        suite: the group of tasks that share an action space; "" is none of ours.
        summary: one line for `sfp list`.
        kwargs: further arguments of `gymnasium.make`.
        parameters: what may stand behind the name, as in `maze:seed=3`; None means
            whatever the environment's constructor takes.
        script: who records in a task from outside (`sfp.register_task`).
    """

    name: str
    env_id: str
    suite: str
    summary: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] | None = None
    script: Any = None

    @property
    def is_ours(self) -> bool:
        """Whether it comes with sfp, which then knows all about it."""
        return self.env_id.startswith("sfp/")

    @property
    def base(self) -> str:
        """The name without parameters."""
        return parameters.base(self.name)

    @property
    def slug(self) -> str:
        """The name as a part of folder names and dataset ids."""
        return slug(self.name)

    @property
    def layout(self) -> Layout | None:
        """The map of a point-maze; None for everything else."""
        if self.suite != "point-maze" or not self.is_ours:
            return None
        return get_layout(self.kwargs.get("layout", self.base))

    def make(self, **kwargs: Any) -> gym.Env:
        """Build the environment; `kwargs` go to its constructor."""
        provide(self.env_id)
        kwargs = {**self.kwargs, **kwargs}
        own = (*DISTURBED, "frames") if self.is_ours else ()
        changes = {key: kwargs.pop(key, 0) for key in own}
        try:
            env = gym.make(self.env_id, **kwargs)
            if changes.get("frames", 0) > 1:
                env = FrameStackObservation(env, changes["frames"])
            env = InvertedAction(env) if changes.get("inverted") else env
            bias = changes.get("bias")
            return BiasedObservation(env, bias) if bias else env
        except SfpError:
            raise
        except Exception as error:  # of Gymnasium, or of the environment itself
            raise SfpError(
                f"Gymnasium cannot make {self.name!r}: {str(error).rstrip('.')}."
                f"{hint(self.env_id, error)}"
            ) from error

    def given(self, values: Mapping[str, Value]) -> Task:
        """The same task with parameters."""
        if not values:
            return self
        if self.parameters is None:
            return replace(
                self, name=parameters.join(self.name, values), kwargs=dict(values)
            )
        chosen = parameters.check(self.name, values, self.parameters)
        kwargs = {**self.kwargs, **chosen}
        if "frames" in chosen and not chosen.get("pixels"):
            raise SfpError(
                f"frames of {self.name} are images: add pixels=true, as in "
                f"{self.name}:pixels=true,frames={chosen['frames']}."
            )
        if "seed" in kwargs:
            seed, size = kwargs.pop("seed"), kwargs.pop("size", "medium")
            # The map itself: what is recorded in it can be rebuilt by any version.
            kwargs["layout"] = generate(seed, size).to_ascii() + "\n"
        elif "size" in values:
            raise SfpError(
                f"the size is that of a generated maze: add a seed, as in "
                f"{self.name}:seed=0,size={values['size']}."
            )
        return replace(self, name=parameters.join(self.name, chosen), kwargs=kwargs)


TASKS: dict[str, Task] = {
    name: Task(
        name,
        f"sfp/{known.ids.get(name, name.title().replace('-', ''))}-v0",
        suite,
        summary,
        parameters=known.parameters.get(name, {}),
    )
    for suite, known in SUITES.items()
    for name, summary in known.summaries.items()
}
CUSTOM_MAZE = "sfp/PointMaze-v0"


def register() -> None:
    """Make every task known to `gymnasium.make`, and mazes with a map of your own."""
    for task in TASKS.values():
        suite = SUITES[task.suite]
        gym.register(
            task.env_id,
            suite.entry_point,
            max_episode_steps=suite.episode_steps,
            kwargs={suite.argument: task.name},
        )
    mazes = SUITES["point-maze"]
    gym.register(CUSTOM_MAZE, mazes.entry_point, max_episode_steps=mazes.episode_steps)


def get_task(name: str) -> Task:
    """The task of a name, a Gymnasium id, or a file with an ASCII map.

    Parameters may follow: `maze:seed=3,size=large`, `room:pixels=true`,
    `Pendulum-v1:g=9.8`. Meta-World's own spellings (`window-close-v3`, `window_close`)
    are understood.
    """
    if name in TASKS:
        return TASKS[name]
    base, values = parameters.split(name)
    return _find(base).given(values)


def canonical(name: str) -> str:
    """A name as runs record it: as it was typed, but its parameters in one order."""
    base, values = parameters.split(name)
    if not values:
        return name
    task = get_task(name)
    return (
        f"{base}{task.name[len(task.base) :]}" if base.endswith(".txt") else task.name
    )


def suite_of(env: gym.Env) -> str:
    """The suite that an environment is from; "" if it is none of ours."""
    made_as = env.spec.id if env.spec else ""
    if made_as == CUSTOM_MAZE:
        return "point-maze"
    return next((t.suite for t in TASKS.values() if t.env_id == made_as), "")


def _find(name: str) -> Task:
    if name in TASKS:
        return TASKS[name]
    for task in TASKS.values():
        if name == task.env_id:
            return task
    plain = name.lower().replace("_", "-").replace(" ", "-").removesuffix("-v3")
    if plain in SUITES["meta-world"].summaries:
        return TASKS[plain]
    path = Path(name)
    if path.suffix == ".txt":
        if not path.is_file():
            raise SfpError(f"there is no map at {path}: expected a text file.")
        # The map itself, not its path: what is recorded in it can be rebuilt anywhere.
        kwargs = {"layout": Layout.from_file(path).to_ascii() + "\n"}
        about = f"map {path}"
        return Task(path.stem, CUSTOM_MAZE, "point-maze", about, kwargs, PIXELS)
    if "/" in name or "-v" in name or name in gym.registry:
        return Task(name, name, "", "a Gymnasium environment")
    raise unknown(
        "task",
        name,
        TASKS,
        "`sfp list tasks` shows all; a map is a path to a .txt; a task of your own is "
        "registered first (sfp.register_task).",
    )
