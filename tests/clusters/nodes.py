"""A Ray cluster of several nodes on this machine, ended by their pids.

It must run in a network of its own (`loopback.py`).
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sfp

RAY = str(Path(sys.executable).with_name("ray"))
SOURCE = str(Path(sfp.__file__).parent.parent)
PORT, CLIENT = 6379, 10001


class Nodes:
    """The head and as many others as are asked for, a CPU each."""

    def __init__(self, count: int):
        self.folder = Path(tempfile.mkdtemp(prefix="sfp-ray-"))
        self.token = secrets.token_hex(16)
        self.processes: list[subprocess.Popen] = []
        head = ["--head", f"--port={PORT}", f"--ray-client-server-port={CLIENT}"]
        head += ["--include-dashboard=false", f"--temp-dir={self.folder}/t"]
        self._start(head)
        for _ in range(count - 1):
            self.add()

    @property
    def env(self) -> dict[str, str]:
        """For whoever joins."""
        return os.environ | {
            "PYTHONPATH": SOURCE,
            "RAY_ADDRESS": f"127.0.0.1:{PORT}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            "RAY_raylet_start_wait_time_s": "120",
        }

    @property
    def address(self) -> str:
        return f"ray://127.0.0.1:{CLIENT}"

    def add(self, prefix: tuple[str, ...] = (), **env: str) -> subprocess.Popen:
        """Start one more node; `prefix` goes before its command."""
        number = len(self.processes) + 1
        words = [f"--address=127.0.0.1:{PORT}", f"--node-ip-address=127.0.0.{number}"]
        return self._start(words, prefix, **env)

    def _start(self, words, prefix=(), **env) -> subprocess.Popen:
        log = self.folder / f"{len(self.processes)}.log"
        command = [*prefix, RAY, "start", *words, "--num-cpus=1", "--block"]
        with log.open("wb") as file:
            node = subprocess.Popen(
                command, env=self.env | env, stdout=file, stderr=file
            )
        self.processes.append(node)
        deadline = time.monotonic() + 150
        while "will now block" not in log.read_text():  # one after the other
            assert node.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        return node

    def kill(self, node: subprocess.Popen) -> None:
        """End a node as a loss of power does: all of its processes, at once."""
        for pid in [*descendants(node.pid), node.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        node.wait()

    def close(self) -> None:
        for node in reversed(self.processes):
            if node.poll() is None:
                self.kill(node)


def descendants(pid: int) -> list[int]:
    """Children first: none of them can start another when its parent is gone."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        try:
            rest = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        if entry.name.isdecimal():
            parents.setdefault(int(rest[1]), []).append(int(entry.name))
    found, ahead = [], [pid]
    while ahead:
        ahead = [child for parent in ahead for child in parents.get(parent, [])]
        found += ahead
    return found
