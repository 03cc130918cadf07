"""Faults at every write of a run, and what two runs have to have in common."""

import contextlib
import json
import os
import pathlib
import shutil
import tempfile
from unittest import mock

from safetensors.numpy import load_file

from sfp import files
from sfp.training.log import Log


class Faults:
    """Counts every change of a folder, and lets one of them fail.

    A failing write writes half of what it should. Nothing fails afterwards.

    Args:
        folder: only changes below it count.
        at: the number of the change that fails, from 1; 0 for none.
        fail: what happens then: it raises, or ends the process.
    """

    def __init__(self, folder, at=0, fail=None):
        self.folder, self.at, self.count = os.path.realpath(folder), at, 0
        self.fail = fail or self._full

    @staticmethod
    def _full():
        raise OSError(28, "No space left on device")

    @contextlib.contextmanager
    def __call__(self):
        with contextlib.ExitStack() as stack:
            for owner, name in (
                (os, "fsync"),
                (os, "rename"),
                (os, "replace"),
                (os, "unlink"),
                (os, "rmdir"),
                (shutil, "rmtree"),
                (tempfile, "mkdtemp"),
                (files, "_exchange"),
                (pathlib.Path, "open"),
                (pathlib.Path, "write_text"),
                (pathlib.Path, "write_bytes"),
                (Log, "_tell_events"),
            ):
                wrapped = self._wrap(name, getattr(owner, name))
                stack.enter_context(mock.patch.object(owner, name, wrapped))
            yield self

    def _wrap(self, name, original):
        def wrapped(*args, **kwargs):
            if self._counts(name, args, kwargs):
                self.count += 1
                if self.count == self.at:
                    self._half(name, args)
                    self.fail()
                if name == "fsync":
                    return None  # what it guards against is no fault of ours
            return original(*args, **kwargs)

        return wrapped

    def _counts(self, name, args, kwargs):
        if name == "open":
            mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
            if "r" in mode:
                return False
        where = args[0] if args else kwargs.get("dir")
        if name == "_tell_events":
            where = args[0]._folder
        where = kwargs.get("dir_fd") or kwargs.get("dir") or where
        if isinstance(where, int):
            where = os.readlink(f"/proc/self/fd/{where}")
        return os.path.realpath(os.fspath(where)).startswith(self.folder)

    @staticmethod
    def _half(name, args):
        if name in ("write_text", "write_bytes"):
            with open(args[0], name[6].replace("t", "w").replace("b", "wb")) as file:
                file.write(args[1][: len(args[1]) // 2])
        if name == "_tell_events":
            file = args[0]._files[args[1]]
            file.write(b"123,0.5,")
            file.flush()


def outcome(folder):
    """What a run resulted in: tables, weights, events; no wall-clock times."""
    folder = pathlib.Path(folder)
    newest = max((folder / "checkpoint").glob("step-*"))
    state = load_file(newest / "state.safetensors")
    meta = json.loads((newest / "meta.json").read_text())
    del meta["tables"]["timing"]  # wall-clock times
    return {
        "train": (folder / "train.csv").read_text(),
        "eval": (folder / "eval.csv").read_text(),
        "policy": (folder / "policy" / "policy.safetensors").read_bytes(),
        "best": (folder / "best" / "policy.safetensors").read_bytes(),
        "state": {name: value.tobytes() for name, value in state.items()},
        "meta": meta,
        "finished": json.loads((folder / "finished.json").read_text()),
        "events": scalars(folder / "events"),
    }


def scalars(folder):
    """Every (name, step, value) of the events in a folder, in order."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    found = [
        (value.tag, event.step, value.tensor.float_val[0])
        for path in sorted(folder.iterdir())
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
        if value.tag not in ("charts/SPS", "charts/seconds")
    ]
    return sorted(found)


def whole(folder):
    """That nothing half-written is left, and no checkpoint too many."""
    folder = pathlib.Path(folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("lock", "config.json", "versions.json", "finished.json", "SHA256SUMS"),
        *("train.csv", "eval.csv", "timing.csv"),
        *("events", "checkpoint", "policy", "best"),
    }, names
    left = [path for path in folder.rglob("*") if "draft" in path.name]
    assert not left, left
    steps = list((folder / "checkpoint").glob("step-*"))
    assert 1 <= len(steps) <= 2, steps
    assert len(list((folder / "events").iterdir())) == 1
