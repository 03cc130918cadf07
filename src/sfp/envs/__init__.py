"""Tasks: environments with a name, registered with Gymnasium on import."""

from sfp.envs.layout import Layout
from sfp.envs.maze import Maze, MazeBatch, PointMaze
from sfp.envs.registry import TASKS, Task, get_task, register
from sfp.envs.suites import SUITES, Suite
from sfp.envs.wrappers import BiasedObservation, InvertedAction, SparseDisplacement

__all__ = [
    "SUITES",
    "TASKS",
    "BiasedObservation",
    "InvertedAction",
    "Layout",
    "Maze",
    "MazeBatch",
    "PointMaze",
    "SparseDisplacement",
    "Suite",
    "Task",
    "get_task",
]

register()
