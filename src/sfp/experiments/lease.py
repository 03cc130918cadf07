"""Leases: who is at a job, told through files that all machines share.

The lease of a folder is its file `N.json` with the highest N. Only one process can make
a file of a name, on network file systems too, and `flock` is not needed. A holder
renews its lease by the file's time. Who watches takes it for gone when the time has not
changed for `LAPSE` seconds of the watcher's own clock, so that clocks need not agree;
then the next number can be taken, and a holder that comes back finds its lease ended.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfp.documents import read_json
from sfp.errors import Busy, SfpError
from sfp.files import disk_errors

BEAT = 2.0
"""Seconds between two renewals."""

LAPSE = 30.0
"""Seconds without a renewal after which a holder is gone, and knows that it is."""


class Lease:
    """A lease that this process holds."""

    def __init__(self, path: Path, about: dict[str, Any]):
        self.path, self._about = path, about
        self._renewed = time.monotonic()

    def renew(self) -> None:
        """Tell that we live; an `SfpError` if we were taken for dead."""
        if time.monotonic() - self._renewed > LAPSE or is_ended(self.path):
            raise SfpError(f"the lease {self.path} was lost: another may have it.")
        os.utime(self.path)
        self._renewed = time.monotonic()

    def end(self, **outcome: Any) -> None:
        end = {"ended": True, "until": time.time()}
        _write(self.path, self._about | end | outcome)


def take(folder: Path, gone: int = -1, **about: Any) -> Lease:
    """Take the lease of a folder.

    Args:
        folder: of the lease; made if it is not there.
        gone: the number up to which leases have ended or lapsed, as `Watch` tells.
        about: what else to write into it.

    Raises:
        Busy: somebody holds it, or was quicker.
    """
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        number = _newest(folder)
        last = folder / f"{number}.json"
        if number > gone and not is_ended(last):
            raise Busy(f"{_holder(_read(last))} is at it")
        path = folder / f"{number + 1}.json"
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            raise Busy("another process was quicker") from None
        if number >= 0 and not is_ended(last):  # its holder is to see that
            end = {"ended": True, "until": time.time(), "kind": "lapsed"}
            _write(last, _read(last) | end)
        lease = Lease(path, whoami() | {"since": time.time()} | about)
        _write(path, lease._about)
        return lease


def is_ended(path: Path) -> bool:
    """Whether a lease has ended; one that was deleted has."""
    return not path.exists() or bool(_read(path).get("ended"))


def is_stopped(folder: Path) -> bool:
    """Whether the last holder of a folder's lease said when it ended: stop."""
    return bool(_read(folder / f"{_newest(folder)}.json").get("stopped"))


class Watch:
    """Tells from afar which leases are gone.

    Args:
        clock: seconds, of this machine.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._seen: dict[Path, tuple[tuple[int, int], float]] = {}

    def gone(self, folder: Path) -> int:
        """The number up to which leases are gone; `Busy` while the last one lives."""
        number = _newest(folder)
        path = folder / f"{number}.json"
        if number < 0 or is_ended(path) or _is_dead(held := _read(path)):
            self._seen.pop(folder, None)
            return number
        with path.open("rb") as file:  # network file systems look anew when opening
            stamp = number, os.fstat(file.fileno()).st_mtime_ns
        before, since = self._seen.get(folder, (None, 0.0))
        if stamp != before:
            self._seen[folder] = stamp, self._clock()
        elif self._clock() - since > LAPSE + BEAT:
            return number
        raise Busy(f"{_holder(held)} is at it")

    def wait(self, folder: Path, sleep: Callable[[float], None] = time.sleep) -> int:
        """As `gone`, but a holder that is silent is waited for until it has lapsed."""
        first = None
        while True:
            try:
                return self.gone(folder)
            except Busy:
                stamp, _ = self._seen[folder]
                if first not in (None, stamp):
                    raise
                first = stamp
                sleep(BEAT / 8)


def whoami() -> dict[str, Any]:
    """What tells this process from all others, on any machine."""
    host, boot, space = _machine()
    pid = os.getpid()
    here = {"host": host, "boot": boot, "space": space}
    return here | {"pid": pid, "began": _began(pid)}


def _is_dead(held: dict[str, Any]) -> bool:
    """Whether a holder was a process of this machine and is no more."""
    here = (held.get("host"), held.get("boot"), held.get("space")) == _machine()
    return (
        here
        and held.get("began") is not None
        and (_began(int(held.get("pid", 0))) != held["began"])
    )


def _machine() -> tuple[str, str, str]:
    try:
        boot = (
            Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        )
        return socket.gethostname(), boot, os.readlink("/proc/self/ns/pid")
    except OSError:  # not Linux
        return socket.gethostname(), "", ""


def _began(pid: int) -> int | None:
    """When a process began, in ticks since the machine did; None if there is none."""
    try:
        state, *rest = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return None
    return None if state == "Z" else int(rest[18])


def _newest(folder: Path) -> int:
    try:
        stems = [name.removesuffix(".json") for name in os.listdir(folder)]
    except FileNotFoundError:
        return -1
    return max((int(stem) for stem in stems if stem.isdecimal()), default=-1)


def _read(path: Path) -> dict[str, Any]:
    """What a lease says; nothing while it is being written."""
    try:
        return read_json(path)
    except SfpError:
        return {}


def _holder(held: dict[str, Any]) -> str:
    return f"process {held.get('pid', '?')} of {held.get('host', 'another machine')}"


def _write(path: Path, value: dict[str, Any]) -> None:
    """In place: a new file of the same name would be seen later on other machines."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")
