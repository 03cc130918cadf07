"""A grid while it runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from sfp.errors import plain
from sfp.experiments.job import Job
from sfp.experiments.schedule import Event

if TYPE_CHECKING:
    from sfp.experiments.plan import Plan

MARKS = {"done": "✓", "running": "▸", "waiting": "·", "failed": "✗"}
PLAIN = {"done": "+", "running": ">", "waiting": ".", "failed": "x"}
COLOURS = {"done": "green", "running": "cyan", "waiting": "dim", "failed": "red"}

REFRESH = 0.1
"""Seconds between two drawings, at least."""


class Board:
    """What is known of every job."""

    def __init__(self, plans: Sequence[Plan], jobs: Sequence[Job], workers: int):
        self.plans, self.workers = plans, workers
        self.known = {job.name: Event(job, "waiting") for job in jobs}
        self._began = time.monotonic()
        self._before = self._done = self._failed = 0.0
        self._total = sum(job.cost for job in jobs)
        self._counts = Counter({"waiting": len(self.known)})

    def hear(self, event: Event) -> None:
        """Remember the last event of a job."""
        before = self.known[event.job.name]
        if before.state == "waiting":
            self._before += _spent(event)  # what was there already took us no time
        self._done += _spent(event) - _spent(before)
        self._failed += (event.state == "failed") * event.job.cost
        self._counts[before.state] -= 1
        self._counts[event.state] += 1
        self.known[event.job.name] = event

    def count(self, state: str) -> int:
        return self._counts[state]

    def left(self) -> float:
        """Seconds until all is done, by the speed so far once there is one."""
        here = self._done - self._before
        seconds = time.monotonic() - self._began
        speed = here / seconds if here > 60.0 else float(self.workers)
        return max(0.0, self._total - self._failed - self._done) / max(speed, 1e-9)

    def summary(self) -> str:
        states = ("done", "running", "waiting", "failed")
        counts = ", ".join(f"{self.count(s)} {s}" for s in states if self.count(s))
        return f"{counts}; about {timedelta(seconds=round(self.left()))} left"


@contextlib.contextmanager
def watching(board: Board) -> Iterator[Callable[[Event], None]]:
    """Show a board on stderr; yields what hears of events."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda event: _tell(board, event)
        return
    marks = PLAIN if console.options.ascii_only else MARKS
    with Live(console=console, auto_refresh=False, transient=True) as live:
        drawn, cost = -REFRESH, 0.0

        def hear(event: Event) -> None:
            """Draw often, but for no more than a tenth of the time."""
            nonlocal drawn, cost
            board.hear(event)
            began = time.monotonic()
            if began - drawn >= max(REFRESH, 10.0 * cost):
                live.update(draw(board, marks), refresh=True)
                drawn = time.monotonic()
                cost = drawn - began

        yield hear


def describe(event: Event) -> str:
    job, progress = event.job, event.progress
    if job.kind == "train":
        success = progress.success
        tested = "" if success is None else f", success {success:.0%}"
        return f"step {progress.done:,} of {job.total:,}{tested}"
    if job.kind == "prior" and progress.done:
        held_out = f"held out {progress.held_out:.3f}"
        return f"epoch {progress.done} of {job.total}, {held_out}"
    return {"data": "recording", "explore": "walking"}.get(job.kind, "fitting")


def _tell(board: Board, event: Event) -> None:
    """A line when something changes, but not for every step."""
    before = board.known[event.job.name]
    board.hear(event)
    if event.state == before.state == "running":
        return
    words = [f"{event.state} {event.job.name}"]
    if event.state == "running" and event.progress.done:
        words.append(f"from {describe(event)}")
    if event.state == "done" and event.job.kind == "train":
        words.append(describe(event))
    if event.reason:
        words.append(event.reason)
    if event.state == "failed" and event.log:
        words.append(f"see {event.log}")
    line = ": ".join(words)
    Console(stderr=True, width=10_000).print(
        plain(f"{line} ({board.summary()})"), markup=False, highlight=False
    )


def draw(board: Board, marks: dict[str, str]) -> Group:
    """What changes stands above what may not fit on the screen."""
    parts: list[Table | Text] = [Text(board.summary(), style="bold")]
    for event in board.known.values():
        if event.state == "running":
            parts.append(Text(plain(f"{event.job.name}: {describe(event)}")))
        elif event.state == "failed":
            where = f" (see {event.log})" if event.log else ""
            reason = f"{event.job.name} failed: {event.reason}{where}"
            parts.append(Text(plain(reason), style=COLOURS["failed"]))
    for plan in board.plans:
        parts += [Text(f"\n{plan.experiment.title}"), _matrix(board, plan, marks)]
    return Group(*parts)


def _matrix(board: Board, plan: Plan, marks: dict[str, str]) -> Table:
    """A row per variant, a column per task, a mark per seed."""
    tasks = list(dict.fromkeys(entry.cell.task for entry in plan.entries))
    table = Table(
        "", *(Column(Text(task)) for task in tasks), box=None, show_header=bool(tasks)
    )
    for walk in plan.walks:
        event = board.known[f"explore-{walk.slug}"]
        table.add_row(Text(walk.task), Text(event.state, style=COLOURS[event.state]))
    labels = dict.fromkeys(entry.label for entry in plan.entries)
    rows = {label: {task: Text() for task in tasks} for label in labels}
    for entry in plan.entries:
        state = board.known[entry.cell.slug].state
        cell = rows[entry.label][entry.cell.task]
        cell.append(marks[state], style=COLOURS[state])
    for label, cells in rows.items():
        table.add_row(Text(label), *cells.values())
    return table


def _spent(event: Event) -> float:
    """Seconds of one core that a job has behind it, by the estimates."""
    share = min(1.0, event.progress.done / max(1, event.job.total))
    return event.job.cost * {"done": 1.0, "running": share}.get(event.state, 0.0)
