"""Collecting D_exp in Meta-World: in parts, by several processes, resumable."""

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
from minari.data_collector import EpisodeBuffer

from sfp.data.parts import Arrays, make_parts, read_part
from sfp.data.reaching import Expert, Reaching
from sfp.data.record import Episode, roll, stack
from sfp.data.sources import minari
from sfp.data.trajectories import Trajectories
from sfp.data.writer import IMAGE, check_id, make_buffer, write
from sfp.envs.metaworld import MetaWorld
from sfp.envs.registry import Task
from sfp.envs.spaces import GOAL_KEYS
from sfp.files import locked, sweep_all
from sfp.versions import version

ENDS = "and its episodes end at success"
"""What the description of an expert's recording says: most experts stand still once
they have succeeded, for up to nine tenths of an episode."""

PART = 20
"""Episodes that are written together. The data does not depend on it."""


@dataclass(frozen=True)
class Episodes:
    task: str
    steps: int
    seed: int
    expert: bool
    first: int
    size: int
    images: bool = False

    @property
    def name(self) -> str:
        return f"episodes-{self.first:06d}-{self.size}"

    def make(self) -> Arrays:
        who, env = Expert(self.task) if self.expert else Reaching(), _env(self.task)
        numbers = range(self.first, self.first + self.size)
        streams = [np.random.default_rng([self.seed, number]) for number in numbers]
        look = env.look if self.images else None
        made = [
            roll(env, who, self.steps, rng, until_reward=self.expert, look=look)
            for rng in streams
        ]
        arrays = [_arrays(episode) for episode in made]
        joined = {k: np.concatenate([one[k] for one in arrays]) for k in arrays[0]}
        return joined | {"length": np.array([len(e.actions) for e in made])}


def collect(
    task: Task,
    size: tuple[int, int],
    seed: int,
    *,
    expert: bool,
    workers: int,
    images: bool,
    name: str | None,
    force: bool,
    progress: Callable[[int], None],
) -> Trajectories:
    """Record `size` (episodes, steps) as a Minari dataset; see `sfp.data.collect`."""
    episodes, steps = size
    kind = "expert" if expert else "scripted"
    dataset_id = name or f"sfp/{task.slug}/{kind}{'-images' * images}-v0"
    check_id(dataset_id, force=force)
    env = task.make()
    parts = [
        Episodes(
            *(task.name, steps, seed, expert, first),
            size=min(PART, episodes - first),
            images=images,
        )
        for first in range(0, episodes, PART)
    ]
    folder = minari.root() / ".parts" / f"{task.name}-{kind}-{_key(parts[0])}"
    with locked(folder, "recording into"):
        sweep_all(folder)
        make_parts(folder, parts, workers, progress)
        does = f"solves the task, {ENDS}" if expert else "reaches uniformly drawn goals"
        up_to = "up to " if expert else ""
        data = write(
            dataset_id,
            _buffers(folder, parts),
            env,
            images=images,
            description=(
                f"{episodes} trajectories of {up_to}{steps} steps in {task.name}: a "
                f"scripted policy {does} (seed {seed}). desired_goal is the goal it is "
                "after."
            ),
            algorithm=f"sfp.data.reaching.{'Expert' if expert else 'Reaching'}",
            force=force,
        )
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are recording
        folder.parent.rmdir()
    env.close()
    return data


@cache
def _env(task: str) -> MetaWorld:
    return MetaWorld(task)


def _key(part: Episodes) -> str:
    """Name all that decides the bits, so that parts of other versions are not mixed."""
    decides = asdict(part) | {"first": None, "size": None, "joined": True}
    if not part.images:
        del decides["images"]
    for package in ("sfp", "metaworld", "mujoco", "numpy"):
        try:
            decides[package] = version(package)
        except PackageNotFoundError:
            decides[package] = None
    return hashlib.sha256(repr(sorted(decides.items())).encode()).hexdigest()[:12]


def _arrays(episode: Episode) -> Arrays:
    seen = stack(episode.observations)
    seen = {k: v if k == IMAGE else v.astype(np.float32) for k, v in seen.items()}
    rewards = np.array(episode.rewards, np.float64)
    return seen | {"action": stack(episode.actions), "reward": rewards}


def _buffers(folder: Path, parts: Sequence[Episodes]) -> Iterator[EpisodeBuffer]:
    for part in parts:
        made, first = read_part(folder, part), 0
        for i, length in enumerate(made["length"]):
            own = slice(first, first + length)
            seen = slice(first + i, first + i + length + 1)  # one state more each
            keys = (*GOAL_KEYS, IMAGE) if part.images else GOAL_KEYS
            observations = {key: made[key][seen] for key in keys}
            yield make_buffer(observations, made["action"][own], made["reward"][own])
            first += length
