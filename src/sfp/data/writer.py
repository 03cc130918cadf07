"""Writing episodes as a Minari dataset: checksummed, whole or absent."""

import contextlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer
from minari.dataset._storages import hdf5_storage
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage
from minari.namespace import create_namespace
from PIL import Image

from sfp.data.sources import load, minari
from sfp.data.trajectories import Trajectories
from sfp.envs.maze import PIXELS
from sfp.envs.spaces import action_names
from sfp.errors import SfpError
from sfp.files import atomic_folder
from sfp.versions import DISTRIBUTION, version

IMAGE = "image"
"""Where a recording with images keeps them, beside state and goals."""


def check_id(dataset_id: str, *, force: bool = False) -> None:
    """Refuse a name that Minari would not take, or that is taken already."""
    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):  # a TypeError if the version is missing
        raise SfpError(
            f"{dataset_id!r} is no Minari dataset id: expected namespace/name-v0, "
            "e.g. --name sfp/room/scripted-v0."
        ) from None
    target = minari.root() / dataset_id
    if not os.path.exists(target):  # False too for a name that cannot be
        return
    if not minari.matches(target):
        raise SfpError(f"{target} is there and no dataset: choose another --name.")
    if not force:
        raise SfpError(
            f"dataset {dataset_id} exists already in {minari.root()}: add --force "
            "(force=True in Python) to replace it, or choose another --name."
        )


def write(
    dataset_id: str,
    episodes: Iterable[EpisodeBuffer],
    env: gym.Env,
    *,
    description: str,
    algorithm: str,
    images: bool = False,
    force: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Trajectories:
    """Write episodes as a local Minari dataset; the file is in memory until complete.

    The environment gives the spaces and the specification to rebuild it from, unless
    that holds code. With `images`, observations have an `IMAGE` beside what it shows.
    """
    check_id(dataset_id, force=force)
    target = minari.root() / dataset_id
    metadata: dict[str, Any] = {
        "dataset_id": dataset_id,
        "minari_version": version("minari"),
        "algorithm_name": algorithm,
        "description": description,
        "author": {"sfp"},
        "requirements": [f"{DISTRIBUTION}=={version('sfp')}"],
        "action_names": action_names(env),
    }
    with atomic_folder(target, force=force) as draft:
        storage = MinariStorage.new(
            draft / "data",
            _with_image(env.observation_space) if images else env.observation_space,
            env.action_space,
            env.spec if _is_plain(env.spec) else None,
            data_format="hdf5",
        )
        storage.update_metadata(metadata)
        # In memory first: HDF5 crashes the whole process when a write to disk fails.
        file = io.BytesIO()
        storage._file_path = file  # pyright: ignore[reportAttributeAccessIssue]
        with _lossless():
            storage.update_episodes(_counted(episodes, progress))
        (draft / "data" / "main_data.hdf5").write_bytes(file.getbuffer())
        storage.update_metadata({"dataset_size": storage.get_size()})
    namespace = parse_dataset_id(dataset_id)[0]
    if namespace is not None:
        # It is only a label: no harm if it is there already or does not fit on disk.
        with contextlib.suppress(ValueError, OSError):
            create_namespace(namespace)
    return load(target)


def _with_image(space: spaces.Space) -> spaces.Space:
    assert isinstance(space, spaces.Dict)
    image = spaces.Box(0, 255, (PIXELS, PIXELS, 3), np.uint8)
    return spaces.Dict({**space.spaces, IMAGE: image})


@contextlib.contextmanager
def _lossless() -> Iterator[None]:
    """Images as PNG: Minari writes JPEG, but reads either.

    A loss would blur what is three pixels wide, and PNG of such images is smaller.
    """

    def encode(frame: np.ndarray) -> np.ndarray:
        buffer = io.BytesIO()
        Image.fromarray(frame).save(buffer, format="PNG", compress_level=1)
        return np.frombuffer(buffer.getvalue(), np.uint8)

    before = hdf5_storage.encode_frame
    hdf5_storage.encode_frame = encode
    try:
        yield
    finally:
        hdf5_storage.encode_frame = before


def _is_plain(spec: EnvSpec | None) -> bool:
    try:
        return spec is not None and bool(spec.to_json())
    except (ValueError, TypeError):  # a function, or an argument that is no JSON
        return False


def _counted(
    episodes: Iterable[EpisodeBuffer], progress: Callable[[int], None]
) -> Iterator[EpisodeBuffer]:
    for number, episode in enumerate(episodes):
        yield episode
        progress(number + 1)


def make_buffer(
    observations: Any, actions: Any, rewards: Any, *, terminated: bool = False
) -> EpisodeBuffer:
    """An episode as Minari stores it; it ends in a termination or a truncation."""
    last = np.arange(len(actions)) == len(actions) - 1
    return EpisodeBuffer(
        observations=observations,
        actions=actions,
        rewards=rewards,
        terminations=last & terminated,
        truncations=last & (not terminated),
    )
