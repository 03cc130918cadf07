"""Checkpoints: whole or absent, the last two kept, the replay written as it grows."""

from __future__ import annotations

import contextlib
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfp.arrays import check_part, load_tree, save_tree
from sfp.data.lanes import Replay
from sfp.data.replay import EpisodeReplay
from sfp.documents import read_json
from sfp.errors import SfpError
from sfp.files import (
    CHECKSUMS,
    atomic_file,
    atomic_folder,
    disk_errors,
    read_sums,
    sweep_all,
    verify_checksums,
)

KEPT = 2


class Checkpoints:
    """The `checkpoint` folder of a run.

    `step-N/` holds networks, optimisers and the running episodes; `replay/A-B` the
    moments A to B of the replay, each written once. The newest moment has no action yet
    and is written again by the next piece. The replays of further environments are in
    `replay-1`, `replay-2` and so on. Every file carries its digest; `verified` is
    False once a run has gone on from a checkpoint of an earlier version, without them.

    Args:
        folder: of the checkpoints.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.verified = True

    def steps(self) -> list[int]:
        """Of the checkpoints that are there, oldest first."""
        return sorted(
            int(path.name.removeprefix("step-"))
            for path in self.folder.glob("step-*")
            if path.name.removeprefix("step-").isdecimal()
        )

    def whole(self, state: Any = None) -> bool:
        """Whether networks and numbers of one that is there can be read.

        The networks must be those of a `state`: another version may have others.
        """
        for step in self.steps():
            with contextlib.suppress(SfpError, OSError, ValueError):
                self.meta(step)
                file = self.folder / f"step-{step:09d}" / "state.safetensors"
                if state is not None:
                    check_part(file, "state", state)
                return True
        return False

    def meta(self, step: int) -> dict[str, Any]:
        """The numbers of a checkpoint that is whole."""
        folder = self.folder / f"step-{step:09d}"
        if read_sums(folder) is None:
            raise SfpError(f"{folder / CHECKSUMS} is missing")
        verify_checksums(folder, "meta.json", "state.safetensors")
        return read_json(folder / "meta.json")

    def save(self, step: int, tree: Any, meta: dict[str, Any], replay: Replay) -> None:
        """Write the checkpoint of a step; only the one before is kept too."""
        for lane, held in enumerate(replay.lanes):
            self._save_replay(held, lane)
        first, *others = replay.lanes
        meta = meta | {"count": first.count, "episodes": first.episodes}
        if others:
            meta["lanes"] = [[lane.count, lane.episodes] for lane in others]
        meta["verified"] = self.verified
        with atomic_folder(self.folder / f"step-{step:09d}", force=True) as draft:
            save_tree(draft / "state.safetensors", tree)
            (draft / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
            for lane, held in enumerate(replay.lanes):
                if held.amended:
                    save_tree(draft / _tail(lane), held.piece(_amendable(held.count)))
        self._prune(first.capacity)

    def load(
        self,
        like: Any,
        replay: Replay,
        check: Callable[[dict[str, Any]], None] = lambda meta: None,
    ) -> tuple[Any, dict[str, Any]] | None:
        """The newest checkpoint that is whole, the replay filled; None without any.

        If there are some, but none is whole, that is an error: to begin anew would
        throw away what the run has logged.

        Args:
            like: from the checkpoint's numbers to a tree of the same structure.
            replay: empty; it is filled.
            check: raises if the run's tables are not those of a checkpoint's numbers.
        """
        sweep_all(self.folder)
        for lane in range(len(replay.lanes)):
            sweep_all(self._pieces(lane))
        damage, found = [], list(reversed(self.steps()))
        for step in found:
            folder = self.folder / f"step-{step:09d}"
            try:
                meta = self.meta(step)
                tree = load_tree(folder / "state.safetensors", like(meta))
                lanes = zip(replay.lanes, _counts(meta), strict=True)
                for lane, (held, counts) in enumerate(lanes):
                    self._load_replay(held, lane, *counts, meta)
                    self._load_tail(held, lane, folder)
                check(meta)
            except (SfpError, OSError, ValueError, KeyError, TypeError) as error:
                damage.append(f"the checkpoint of step {step} cannot be read ({error})")
                continue
            for damaged in damage:
                warnings.warn(f"{damaged}: going back to step {step}.", stacklevel=2)
            self._forget_after(step, [count for count, _ in _counts(meta)])
            self.verified = meta.get("verified", False)
            return tree, meta
        if damage:
            raise SfpError(
                f"no checkpoint in {self.folder} is whole: {'; '.join(damage)}. To "
                "begin anew choose another --out."
            )
        for held in replay.lanes:
            held.clear()
        self._forget_after(-1, [-1 for _ in replay.lanes])
        return None

    def _pieces(self, lane: int) -> Path:
        return self.folder / (f"replay-{lane}" if lane else "replay")

    def _save_replay(self, replay: EpisodeReplay, lane: int) -> None:
        """The time steps since the last piece.

        The newest has no action yet, and the reward of the one before it grows while
        a choice goes on: both are written again. If a choice has gone on since, but no
        time step was added, the checkpoint itself holds them.
        """
        stop = max((stop for _, stop, _ in self._ranges(lane)), default=0)
        if stop == replay.count:
            return
        first = max(stop - 2, 0, replay.count - replay.capacity)
        path = self._pieces(lane) / f"{first:012d}-{replay.count:012d}.safetensors"
        with atomic_file(path) as draft:
            save_tree(draft, replay.piece(first))

    def _load_replay(
        self,
        replay: EpisodeReplay,
        lane: int,
        count: int,
        episodes: int,
        meta: dict[str, Any],
    ) -> None:
        ranges = self._ranges(lane)
        sealed = meta.get("verified", False)
        replay.clear()
        wanted = max(0, count - replay.capacity)
        for first, stop, path in ranges:
            if stop <= wanted or stop > count:
                continue
            if first > wanted:
                raise SfpError(f"the replay lacks time steps {wanted} to {first}")
            like = replay.like(first, stop)
            replay.put(first, load_tree(path, like, sealed=sealed))
            wanted = stop - 1  # the newest one is written again by the next piece
        if wanted != count - 1:
            raise SfpError(f"the replay lacks time steps {wanted + 1} to {count}")
        replay.restore(count, episodes)

    def _load_tail(self, replay: EpisodeReplay, lane: int, folder: Path) -> None:
        """The time steps that a choice has changed since their piece was written."""
        if not (folder / _tail(lane)).is_file():
            return
        verify_checksums(folder, _tail(lane))
        first = _amendable(replay.count)
        replay.put(
            first, load_tree(folder / _tail(lane), replay.like(first, replay.count))
        )

    def _ranges(self, lane: int = 0) -> list[tuple[int, int, Path]]:
        """First and stop of every piece, in order."""
        found = []
        for path in sorted(self._pieces(lane).glob("*.safetensors")):
            first, _, stop = path.stem.partition("-")
            if first.isdecimal() and stop.isdecimal():
                found.append((int(first), int(stop), path))
        return found

    def _prune(self, capacity: int) -> None:
        """Keep the newest checkpoints and the pieces that they need."""
        with disk_errors(self.folder):
            for step in self.steps()[:-KEPT]:
                shutil.rmtree(self.folder / f"step-{step:09d}")
            oldest = self.steps()[0]
            try:
                needed = [count - capacity for count, _ in _counts(self.meta(oldest))]
            except (SfpError, OSError, ValueError, KeyError, TypeError):
                return  # damaged: when it goes, its pieces go too
            for lane, least in enumerate(needed):
                for _, stop, path in self._ranges(lane):
                    if stop <= least:
                        path.unlink()

    def _forget_after(self, step: int, counts: list[int]) -> None:
        """Remove what was written after a checkpoint that is gone on from."""
        with disk_errors(self.folder):
            for later in self.steps():
                if later > step:
                    shutil.rmtree(self.folder / f"step-{later:09d}")
            for lane, count in enumerate(counts):
                for _, stop, path in self._ranges(lane):
                    if stop > count:
                        path.unlink()


def _tail(lane: int) -> str:
    return f"tail-{lane}.safetensors"


def _amendable(count: int) -> int:
    """The first of the time steps that a choice which goes on may change."""
    return max(0, count - 2)


def _counts(meta: dict[str, Any]) -> list[tuple[int, int]]:
    """Time steps and episodes that each replay has seen, of a checkpoint's numbers."""
    lanes = [(meta["count"], meta["episodes"]), *meta.get("lanes", ())]
    for lane in lanes:
        if not (len(lane) == 2 and all(isinstance(number, int) for number in lane)):
            raise TypeError(f"a lane is {str(lane)[:40]!r}")
    return [(count, episodes) for count, episodes in lanes]
