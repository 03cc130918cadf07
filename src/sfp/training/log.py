"""The record of a run: tidy CSV, TensorBoard events, and whoever listens."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfp.errors import LONG, SfpError
from sfp.events import EventFile
from sfp.files import append_to, atomic_file, digest, disk_errors, regular, remove
from sfp.outside import OWN_METRIC

Row = dict[str, int | float | None]
Listener = Callable[[int, Mapping[str, float]], None]
"""Called with the step and what is new: Weights & Biases, trackio, a progress bar."""

TABLES: dict[str, tuple[str, ...]] = {
    "train": (
        "step",
        "charts/episodes",
        "charts/episodic_return",
        "charts/episodic_length",
        "charts/success_rate",
        "losses/critic",
        "losses/q",
        "losses/policy",
        "losses/entropy",
        "losses/alpha",
        "losses/kl",
        "losses/mixing",
        "losses/q_prior_minus_policy",
        "mixing/replay",
        "mixing/mean",
        "mixing/p10",
        "mixing/p50",
        "mixing/p90",
        "mixing/prior_share",
    ),
    "eval": (
        "step",
        "eval/mean_reward",
        "eval/std_reward",
        "eval/success_rate",
        "eval/mean_length",
    ),
    "timing": ("step", "charts/SPS", "charts/seconds"),
}
"""Every number that is logged, by file. Wall-clock times stand apart: they are not part
of the result."""

PER_PRIOR = ("mixing/{}", "mixing/{}/acted", "mixing/{}/q_minus_policy")
"""Columns of `train` for each of several priors, which are numbered from 1."""

EVAL = TABLES["eval"][1:]
AS_MIXTURE = {name: name.replace("eval/", "eval/mixture/") for name in EVAL}
"""Columns of `eval` where the mixture is tested as it acts, by the policy's own."""

MIXTURE_TEST = AS_MIXTURE["eval/mean_reward"]
OPTIONAL = re.compile(
    "|".join(
        re.escape(name).replace(r"\{\}", r"\d{1,4}")
        for name in (*PER_PRIOR, *AS_MIXTURE.values())
    )
    + f"|{OWN_METRIC}"
)

NEEDED = {
    "train": {"step"},
    "eval": {"step", "eval/mean_reward"},
    "timing": {"step"},
}
"""Columns without which a table says nothing."""


class Log:
    """Appends rows to the tables of a run folder; without a folder, keeps them only.

    Args:
        folder: of the run, or None.
        listeners: told of every row.
        priors: adds columns for so many of them.
        mixture: adds columns for tests of the mixture as it acts.
        metrics: adds columns of `train` that an agent names.
    """

    def __init__(
        self,
        folder: Path | None,
        listeners: tuple[Listener, ...] = (),
        *,
        priors: int = 0,
        mixture: bool = False,
        metrics: tuple[str, ...] = (),
    ):
        self.columns = dict(TABLES)
        numbered = [name.format(k + 1) for k in range(priors) for name in PER_PRIOR]
        self.columns["train"] += tuple(numbered)
        known = self.columns["train"]
        self.columns["train"] += tuple(name for name in metrics if name not in known)
        self.columns["eval"] += tuple(AS_MIXTURE.values()) if mixture else ()
        self.rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._folder, self._listeners = folder, listeners
        self._files: dict[str, Any] = {}
        self._digests: dict[str, Any] = {}
        self._events: EventFile | None = None

    def open(self, step: int) -> None:
        """Begin, or go on after `step`: later rows are forgotten.

        The event files are written anew from the tables: nothing is there twice.
        """
        if self._folder is None:
            return
        with disk_errors(self._folder):
            for name in TABLES:
                self.rows[name] = [
                    row for row in self._read(name) if (row["step"] or 0) <= step
                ]
                self._rewrite(name)
            remove(self._folder / "events")
            self._events = EventFile(self._folder / "events")
            for name, rows in self.rows.items():
                for row in rows:
                    self._tell_events(name, row)

    def write(self, table: str, step: int, values: Mapping[str, float | None]) -> None:
        """One row; a name that is not in the table raises."""
        unknown = set(values) - set(self.columns[table])
        if unknown:
            raise SfpError(
                f"{', '.join(sorted(unknown))}: expected numbers that {table}.csv has "
                "a column for; an agent names others in its `metrics`, as own/NAME."
            )
        row: Row = dict.fromkeys(self.columns[table]) | {"step": step, **values}
        self.rows[table].append(row)
        if self._folder is not None:
            with disk_errors(self._folder):
                file, line = self._files[table], _line(row.values()).encode()
                file.write(line)
                file.flush()
                self._digests[table].update(line)
                self._tell_events(table, row)
        for listener in self._listeners:
            listener(step, _known(row))

    @property
    def seconds(self) -> float:
        """How long the run took until its last row."""
        rows = self.rows["timing"]
        return (rows[-1]["charts/seconds"] or 0.0) if rows else 0.0

    def sync(self) -> dict[str, list[Any]]:
        """Force every row to the disk; the checkpoint relies on what is returned.

        Returns:
            The number of rows and the digest of every table.
        """
        assert self._folder is not None
        with disk_errors(self._folder):
            for file in self._files.values():
                os.fsync(file.fileno())
        return {
            name: [len(self.rows[name]), made.hexdigest()]
            for name, made in self._digests.items()
        }

    def check(self, meta: Mapping[str, Any]) -> None:
        """Refuse tables in which a row of a checkpoint is missing or changed."""
        told = meta.get("tables", {})
        if not isinstance(told, dict) or not told.keys() <= TABLES.keys():
            raise TypeError(f"tables is {str(told)[:40]!r}")
        for name, (rows, expected) in told.items():
            if not isinstance(rows, int) or rows < 0:
                raise TypeError(f"the rows of {name} are {str(rows)[:40]!r}")
            path = self._path(name)
            *lines, _ = regular(path).read_bytes().split(b"\n")
            held = b"".join(line + b"\n" for line in lines[: rows + 1])
            if digest(held) != expected:
                raise SfpError(
                    f"{path} is damaged: its first {rows} rows are not what was written"
                )

    def check_new(self, first: int) -> None:
        """Refuse tables that reach beyond the first checkpoint, if none is there.

        To begin anew would throw away what the run has logged.
        """
        rows = [row for name in TABLES for row in self._read(name)]
        reached = max((int(row["step"] or 0) for row in rows), default=0)
        if reached > first:
            raise SfpError(
                f"{self._folder} has no checkpoint, but its tables reach step {reached}"
                ": put its checkpoint folder back, or choose another --out to begin "
                "anew."
            )

    def close(self) -> None:
        """Close the files. What a full disk did not take has been told by `write`."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        if self._events is not None:
            with contextlib.suppress(OSError):
                self._events.__exit__()
        self._files, self._events = {}, None

    def _read(self, name: str) -> list[Row]:
        return read_table(self._folder, name) if self._folder else []

    def _rewrite(self, name: str) -> None:
        assert self._folder is not None
        rows = [[row.get(key) for key in self.columns[name]] for row in self.rows[name]]
        lines = [_line(self.columns[name]), *map(_line, rows)]
        content = "".join(lines).encode()
        with atomic_file(self._path(name)) as draft:
            draft.write_bytes(content)
        self._digests[name] = hashlib.sha256(content)
        self._files[name] = append_to(self._path(name))

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.csv"

    def _tell_events(self, table: str, row: Row) -> None:
        if self._events is not None:
            self._events.scalars(int(row["step"] or 0), _known(row))


class Clock:
    """Steps per second since the last time it was asked.

    Args:
        step: where the run goes on.
        seconds: that it took so far.
    """

    def __init__(self, step: int, seconds: float = 0.0):
        self._time = time.perf_counter()
        self._began, self._step = self._time - seconds, step

    def read(self, step: int) -> dict[str, float | None]:
        """A row of `timing.csv`."""
        now = time.perf_counter()
        speed = (step - self._step) / max(1e-9, now - self._time)
        self._time, self._step = now, step
        return {"charts/SPS": speed, "charts/seconds": now - self._began}


def read_table(folder: Path, name: str) -> list[Row]:
    """The rows of a run's table; a last line that was cut off is left out.

    Columns that an earlier version did not have yet are empty.
    """
    path = folder / f"{name}.csv"
    if not os.path.lexists(path):
        return []
    try:
        whole, _, _ = regular(path).read_text(encoding="utf-8").rpartition("\n")
        reader = csv.DictReader(whole.split("\n"), restval="missing")
        found = set(reader.fieldnames or ())
        strange = {
            key for key in found - {*TABLES[name]} if not OPTIONAL.fullmatch(key)
        }
        if whole and (strange or not NEEDED[name] <= found):
            raise SfpError(f"{path} has other columns: another version wrote it.")
        return [
            dict.fromkeys(TABLES[name]) | {k: _value(k, v) for k, v in row.items()}
            for row in reader
        ]
    except (OSError, TypeError, ValueError, csv.Error):
        raise SfpError(f"{path} is damaged: a row is not made of numbers.") from None


def _value(key: str, text: str) -> int | float | None:
    if key == "step":
        step = int(text)
        if abs(step) >= LONG:
            raise ValueError
        return step
    return float(text) if text else None


def _line(values: Any) -> str:
    return ",".join(_cell(value) for value in values) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _known(row: Row) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in row.items()
        if key != "step" and value is not None and not math.isnan(value)
    }
