"""Tasks: environments with a name, registered with Gymnasium on import."""

from sfp.envs.layout import Layout
from sfp.envs.maze import Maze, MazeBatch, PointMaze
from sfp.envs.registry import TASKS, Task, get_task, register

__all__ = ["TASKS", "Layout", "Maze", "MazeBatch", "PointMaze", "Task", "get_task"]

register()
