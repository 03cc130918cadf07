"""Long recordings in parts: many processes, each part whole or absent, kept on disk."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from sfp.errors import SfpError
from sfp.files import atomic_file, remove
from sfp.tensors import load_arrays, save_arrays

PATIENCE = 3
"""Times that all workers may die in a row without a single part done."""

Arrays = dict[str, np.ndarray]


@runtime_checkable
class Part(Protocol):
    """A piece of work whose result depends on nothing but itself; it is pickled."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int:
        """Episodes in it."""
        ...

    def make(self) -> Arrays: ...


def make_parts(
    folder: Path,
    parts: Sequence[Part],
    workers: int,
    progress: Callable[[int], None] = lambda episodes: None,
) -> None:
    """Make the parts that are missing in a folder that nobody else writes to.

    Existing parts are checked against their digests; a damaged one is made anew. A
    worker that dies loses only the part it was at, which is begun again. One worker
    works in this process. `progress` is called with the episodes that are there so far.
    """
    _remove_damaged(folder, parts)
    deaths = 0
    while True:
        missing = [part for part in parts if not _path(folder, part).is_file()]
        ready = sum(part.size for part in parts) - sum(part.size for part in missing)
        progress(ready)
        if not missing:
            return
        try:
            for part in _work(folder, missing, workers):
                ready += part.size
                progress(ready)
        except BrokenProcessPool:
            made = any(_path(folder, part).is_file() for part in missing)
            deaths = 0 if made else deaths + 1
            if deaths == PATIENCE:
                raise SfpError(
                    f"the workers died {PATIENCE} times without finishing anything "
                    "(killed, or out of memory?): try --workers 1. What is done is "
                    "kept; the same command goes on."
                ) from None


def read_part(folder: Path, part: Part) -> Arrays:
    try:
        arrays, _ = load_arrays(_path(folder, part), sealed=True)
    except SfpError as error:
        raise SfpError(f"{error} The same command makes that part anew.") from None
    return arrays


def _remove_damaged(folder: Path, parts: Sequence[Part]) -> None:
    damaged = []
    for path in (path for part in parts if (path := _path(folder, part)).exists()):
        try:
            load_arrays(path, sealed=True)
        except SfpError:
            damaged.append(path.name)
            remove(path)
    if damaged:
        warnings.warn(
            f"{folder}: {', '.join(damaged[:3])}{' ...' if damaged[3:] else ''} "
            f"({len(damaged)} parts) had no checksum or another: made anew.",
            stacklevel=3,
        )


def _work(folder: Path, parts: Sequence[Part], workers: int):
    if workers == 1:
        for part in parts:
            _make(folder, part)
            yield part
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_prepare)
    try:
        waiting = {pool.submit(_make, folder, part): part for part in parts}
        for done in as_completed(waiting):
            done.result()
            yield waiting[done]
    finally:
        pool.shutdown(cancel_futures=True)


def _make(folder: Path, part: Part) -> None:
    arrays = part.make()
    with atomic_file(_path(folder, part)) as draft:
        save_arrays(draft, arrays)


def _path(folder: Path, part: Part) -> Path:
    return folder / f"{part.name}.safetensors"


def _prepare() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
