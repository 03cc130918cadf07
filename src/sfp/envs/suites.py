"""Suites: all that is known about a group of tasks, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfp.envs.generator import SIZES
from sfp.envs.locomotion import ROBOTS
from sfp.envs.manipulation import MANIPULATIONS
from sfp.envs.parameters import Parameter
from sfp.errors import unknown

PAPER_STEPS = 125 * 4000
"""125 epochs of 4000 steps."""

EPISODE_STEPS = 500


@dataclass(frozen=True)
class Suite:
    """Tasks that share an action space.

    Attributes:
        entry_point: the class of their environments.
        argument: the argument of that class which names the task.
        summaries: one line about each task, by its name.
        training: the tasks whose recordings the priors are learned from.
        small: environment steps of a run at scale `small`, by task.
        coverage: the task whose coverage is measured (Table 1).
        hopeless: tasks that no method of the paper solves; `small` leaves them out.
        easy: tasks for which weak exploration is enough: SAC with hindsight solved
            them with its first seeds.
        episode_steps: the time limit of an episode.
        parameters: the parameters that each task takes.
        ids: the names of tasks in Gymnasium ids, where title case does not give them.
        episodes: trajectories of a recording, in the paper.
        experts: whether recordings are by experts, one for each task: none is unseen.
        recorded: steps per second of a recording, written and read back.
        explored: steps per second of explorers that do not learn.
    """

    training: tuple[str, ...]
    coverage: str
    entry_point: str = ""
    argument: str = ""
    summaries: Mapping[str, str] = field(default_factory=dict)
    small: Mapping[str, int] = field(default_factory=dict)
    hopeless: frozenset[str] = frozenset()
    easy: frozenset[str] = frozenset()
    episode_steps: int = EPISODE_STEPS
    parameters: Mapping[str, Mapping[str, Parameter]] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    episodes: int = 4000
    experts: bool = False
    recorded: float = 2_000.0
    explored: float = 2_000.0

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks that are learned, those for training first."""
        return tuple(self.small)

    @property
    def downstream(self) -> tuple[str, ...]:
        """All others: what is averaged in the paper's figures."""
        return tuple(task for task in self.small if task not in self.training)

    def training_for(self, task: str) -> str:
        """The task whose recordings serve `task`: itself if it has some."""
        return task if task in self.training else self.training[0]

    def visited(self, scale: str) -> tuple[str, ...]:
        """What an experiment learns unless told otherwise."""
        left_out = frozenset() if scale == "paper" else self.hopeless
        return tuple(task for task in self.small if task not in left_out)

    def steps(self, task: str, scale: str) -> int:
        """Environment steps of a run."""
        return PAPER_STEPS if scale == "paper" else self.small[task]


DISTURBED = {
    "bias": Parameter(float, 0.0, "added to every entry of an observation"),
    "inverted": Parameter(bool, False, "actions are reversed"),  # noqa: FBT003
}
"""What every task of ours can be: `sfp.envs.wrappers`."""

PIXELS = {
    "pixels": Parameter(bool, False, "observe a 64x64 RGB image"),  # noqa: FBT003
    "frames": Parameter(int, 1, "images stacked into an observation", range(1, 17)),
    **DISTURBED,
}
MAZES = {
    "room": "29x29 empty room, goal in a random corner",
    "corridor": "U-shaped corridor of 61 + 1 + 61 cells",
    "maze": "crossings and dead ends, shortest way 66; seed=N generates others",
    "room-large": "81x81 empty room of the coverage table",
}
GENERATED = {
    "seed": Parameter(
        int, None, "generate a maze instead of the paper's", range(2**32)
    ),
    "size": Parameter(str, "medium", "of a generated maze", tuple(SIZES)),
}
SUITES: dict[str, Suite] = {
    "point-maze": Suite(
        entry_point="sfp.envs.maze:PointMaze",
        argument="layout",
        summaries=MAZES,
        training=("room",),
        small={"room": 16_000, "maze": 40_000, "corridor": 60_000},
        coverage="room-large",
        easy=frozenset({"corridor"}),
        recorded=200_000.0,
        explored=20_000.0,
        parameters={name: PIXELS for name in MAZES} | {"maze": PIXELS | GENERATED},
    ),
    "meta-world": Suite(
        entry_point="sfp.envs.metaworld:MetaWorld",
        argument="task",
        summaries={name: task.summary for name, task in MANIPULATIONS.items()},
        training=("reach",),
        small=dict.fromkeys(
            ("reach", *(t for t in MANIPULATIONS if t != "reach")), 60_000
        ),
        coverage="reach",
        hopeless=frozenset({"push", "pick-place", "peg-insert-side"}),
        easy=frozenset({"drawer-close"}),
        recorded=6_000.0,
        explored=6_000.0,
        parameters=dict.fromkeys(MANIPULATIONS, PIXELS),
    ),
    "gym-mujoco": Suite(
        entry_point="sfp.envs.mujoco:Locomotion",
        argument="task",
        summaries={name: robot.summary for name, robot in ROBOTS.items()},
        training=tuple(ROBOTS),
        small=dict.fromkeys(ROBOTS, 100_000),
        coverage="halfcheetah",
        episode_steps=1000,
        parameters={n: robot.parameters | DISTURBED for n, robot in ROBOTS.items()},
        ids={name: robot.name for name, robot in ROBOTS.items()},
        episodes=1000,
        experts=True,
        recorded=3_000.0,
    ),
}


def get_suite(name: str) -> Suite:
    if name not in SUITES:
        raise unknown("suite", name, SUITES, "See `sfp reproduce --help`.")
    return SUITES[name]
