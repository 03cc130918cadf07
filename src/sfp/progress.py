"""Progress on stderr, shared by the command line and by Python.

A terminal gets a bar. Elsewhere (a pipe, a log file, a notebook) training prints a line
per evaluation, and a fit a line per epoch.
"""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sfp.errors import plain


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on stderr with the time left; yields `advance(to, label=...)`."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    bar = Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )
    with bar:
        task = bar.add_task(plain(label), total=total)

        def advance(to: int | None = None, *, label: str = label) -> None:
            if to is None:
                bar.advance(task)
            else:
                bar.update(task, completed=to, description=plain(label))

        yield advance


@contextlib.contextmanager
def training_progress(
    label: str, total: int
) -> Iterator[
    tuple[
        Callable[[int], None],
        Callable[[int, Mapping[str, float]], None],
        Callable[[float], None],
    ]
]:
    """A bar with speed, success and λ; yields what hears of steps, rows, preparation.

    Preparation is what a method learns before its first step.
    """
    latest: dict[str, float] = {}
    with progress(label, total) as bar:

        def pulse(step: int) -> None:
            bar(step, label=", ".join([label, *_told(latest, BAR)]))

        def listen(step: int, row: Mapping[str, float]) -> None:
            latest.update(row)
            if "eval/mean_reward" in row:
                words = [f"step {step:,} of {total:,}", *_told(latest, LINE)]
                say_line(
                    f"{label}: {', '.join([*words, *_left(latest, total - step)])}"
                )

        def prepared(share: float) -> None:
            bar(0, label=f"{label}, learning from recordings: {share:.0%}")
            if share == 1.0:
                say_line(f"{label}: learned from recordings")

        yield pulse, listen, prepared


BAR = {
    "charts/SPS": "{:.0f} steps/s",
    "eval/success_rate": "success {:.0%}",
    "mixing/mean": "λ {:.2f}",
}
LINE = {"eval/mean_reward": "return {:.4g}"} | dict(reversed(BAR.items()))
"""What is said of the latest numbers, in this order."""


def _told(latest: Mapping[str, float], words: Mapping[str, str]) -> list[str]:
    """The numbers that are there; λ of several priors is shown as their sum."""
    each = [value for key, value in latest.items() if re.fullmatch(r"mixing/\d+", key)]
    parts = " = " + " + ".join(f"{value:.3f}" for value in each) if each else ""
    return [
        text.format(latest[key]) + (parts if key == "mixing/mean" else "")
        for key, text in words.items()
        if key in latest
    ]


def _left(latest: Mapping[str, float], steps: int) -> list[str]:
    """The time that the remaining steps take at the latest speed."""
    seconds = steps / max(latest.get("charts/SPS", 0.0), 1e-9)
    if steps <= 0 or seconds > timedelta(days=999).total_seconds():
        return []
    return [f"about {timedelta(seconds=math.ceil(seconds))} left"]


@contextlib.contextmanager
def fitting_progress(
    label: str, epochs: int, *, blocks: int = 1, unit: str = "nats"
) -> Iterator[Callable[[int, dict[str, int | float] | None], None]]:
    """A bar that also shows the held-out score; yields `advance(done, row)`.

    Args:
        label: what is fitted.
        epochs: at most.
        blocks: calls of `advance` per epoch, which `done` counts.
        unit: of the score.
    """
    told = 0
    with progress(label, epochs * blocks) as bar:

        def advance(done: int, row: dict[str, int | float] | None) -> None:
            nonlocal told
            if row is None:
                bar(done)
                return
            held_out = f"held out {row['held_out']:.4f} {unit}"
            bar(done, label=f"{label}, {held_out}")
            if row["epoch"] > told:
                told = int(row["epoch"])
                now = f"epoch {told} of {epochs}" if row["steps"] else "solved"
                best = f"best {row['best']:.4f}"
                say_line(f"{label}: {now}, {held_out}, {best}, {row['seconds']:.1f} s")

        yield advance


def say_note(line: str) -> None:
    """Print a line on stderr, above a bar if one is shown; nothing for none."""
    if line:
        with contextlib.suppress(OSError, ValueError):  # closed
            print(plain(line), file=sys.stderr, flush=True)


def say_line(line: str) -> None:
    """Print a line on stderr, unless a bar is shown there; nobody need listen."""
    if not Console(stderr=True).is_terminal:
        say_note(line)
