"""A Ray cluster that is there already: its nodes, and tasks on them."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit

from sfp.errors import Lost, SfpError, reason
from sfp.versions import install

REFUSED = (
    "is RAY_AUTH_MODE=token set, is RAY_AUTH_TOKEN (or ~/.ray/auth_token) the "
    "cluster's, and do both have the same versions of Ray and Python?"
)

ATTEMPTS, BUSY = 3, "Initialization failure from server"
"""How often one tries to join, and what a head says that is too busy to answer."""


class Node(NamedTuple):
    """A node, as people call it, and how many jobs it takes."""

    name: str
    slots: int


@runtime_checkable
class Cluster(Protocol):
    """What is asked of Ray."""

    def nodes(self) -> dict[str, Node]: ...
    def start(
        self, node: str, function: Callable[..., Any], *args: Any, cpus: int = 0
    ) -> Any: ...
    def finished(self, tasks: Sequence[Any]) -> Iterable[Any]: ...
    def result(self, task: Any) -> Any: ...
    def close(self) -> None: ...


class RayCluster:
    """A cluster that is there already; none is started.

    Args:
        address: `ray` for the one that `RAY_ADDRESS` or this machine knows, or
            `ray://HOST:PORT`.
    """

    def __init__(self, address: str):
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        try:
            import ray  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise SfpError(
                f"--on ray needs Ray, which is not installed: {install('ray')}."
            ) from None
        self._ray = ray
        given = os.environ.get("RAY_ADDRESS", "") if address == "ray" else address
        check_there(given)
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        for attempt in range(ATTEMPTS):
            with _unheard() as said:
                try:
                    ray.init(given or "auto", **quiet)
                    return
                except Exception as error:  # Ray's, gRPC's or the system's
                    why, other = reason(error), "InvalidAuthToken" in said()
                    if BUSY in why and not other and attempt + 1 < ATTEMPTS:
                        continue
                    why = "its token is another" if other else why
                    raise SfpError(
                        f"cannot join the Ray cluster {_called(given)}: {why}; "
                        f"{REFUSED}"
                    ) from error

    def nodes(self) -> dict[str, Node]:
        return {
            node["NodeID"]: Node(node["NodeManagerAddress"], int(cpus))
            for node in self._ray.nodes()
            if node["Alive"] and (cpus := node["Resources"].get("CPU", 0)) >= 1
        }

    def start(
        self, node: str, function: Callable[..., Any], *args: Any, cpus: int = 0
    ) -> Any:
        """Begin a task on a node, which counts that many of its CPUs as taken."""
        from ray.util import (  # pyright: ignore[reportMissingImports]
            scheduling_strategies as strategies,
        )

        where = strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        remote = self._ray.remote(num_cpus=cpus)(function)
        return remote.options(max_retries=0, scheduling_strategy=where).remote(*args)

    def finished(self, tasks: Sequence[Any]) -> Iterable[Any]:
        if not tasks:
            return ()
        return self._ray.wait(list(tasks), num_returns=len(tasks), timeout=0)[0]

    def result(self, task: Any) -> Any:
        """What a task returned; `Lost` if its node is gone, else why it raised."""
        from ray.exceptions import (  # pyright: ignore[reportMissingImports]
            RayTaskError,
        )

        try:
            return self._ray.get(task)
        except RayTaskError as error:
            raise SfpError(f"it raised {reason(error.cause)}") from error
        except Exception as error:
            raise Lost(f"its node or worker is gone: {reason(error)}") from error

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the cluster may be gone
            self._ray.shutdown()


@contextlib.contextmanager
def _unheard() -> Iterator[Callable[[], str]]:
    """Keep what Ray prints while it connects; yields what tells it."""
    with tempfile.TemporaryFile() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def said() -> str:
            return os.pread(file.fileno(), 1_000_000, 0).decode(errors="replace")

        sys.stderr.flush()
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)


def _called(address: str) -> str:
    return f"at {address}" if address else "of this machine (RAY_ADDRESS is not set)"


def check_there(address: str) -> None:
    """Refuse an address where nobody listens; Ray itself would try for a minute."""
    if not address or address in ("auto", "local"):
        return
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        where = parts.hostname or "", parts.port or 10001
        socket.create_connection(where, timeout=5.0).close()
    except (OSError, ValueError) as error:
        raise SfpError(
            f"no Ray cluster {_called(address)} ({error}): start one with `ray start "
            "--head`, or give its address as --on ray://HOST:PORT."
        ) from None
