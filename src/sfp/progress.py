"""Progress bars on stderr, shared by the command line and by Python."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

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
    shown = {"charts/SPS": "{:.0f} steps/s", "eval/success_rate": "success {:.0%}"}
    shown["mixing/mean"] = "λ {:.2f}"
    latest: dict[str, float] = {}
    with progress(label, total) as bar:

        def pulse(step: int) -> None:
            known = [text.format(latest[k]) for k, text in shown.items() if k in latest]
            bar(step, label=", ".join([label, *known]))

        def prepared(share: float) -> None:
            bar(0, label=f"{label}, learning from recordings: {share:.0%}")

        yield pulse, lambda step, row: latest.update(row), prepared


@contextlib.contextmanager
def fitting_progress(
    label: str, total: int
) -> Iterator[Callable[[int, dict[str, int | float] | None], None]]:
    """A bar that also shows the held-out likelihood; yields `advance(done, row)`."""
    with progress(label, total) as bar:

        def advance(done: int, row: dict[str, int | float] | None) -> None:
            shown = f"{label}, held out {row['held_out']:.4f} nats" if row else label
            bar(done, label=shown)

        yield advance
