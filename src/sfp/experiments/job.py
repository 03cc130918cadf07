"""A job: a command to run until its marker is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sfp.training.folder import CONFIG

Kind: TypeAlias = Literal["data", "prior", "train", "explore"]

Words: TypeAlias = tuple[str, ...]
"""Of a command: `sfp WORDS...`."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command to run until its marker is there.

    `lock` is the folder that whoever runs it has locked, `total` counts its steps or
    epochs, `cost` estimates seconds of one core, `needs` names the jobs to be done
    before, and `check` raises if the marker belongs to something else.
    """

    name: str
    kind: Kind
    words: Words
    marker: Path
    lock: Path
    total: int
    cost: float
    needs: tuple[str, ...] = ()
    check: Callable[[], None] = lambda: None

    def is_done(self) -> bool:
        """Whether it need not run; an `SfpError` if something else is in its place."""
        if not self.marker.is_file():
            return False
        self.check()
        return True

    def command(self) -> Words:
        """What to run now: a run that was begun resumes."""
        begun = self.kind == "train" and (self.lock / CONFIG).is_file()
        return (*self.words, "--resume") if begun else self.words
