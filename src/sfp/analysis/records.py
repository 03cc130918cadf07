"""What run folders tell of themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfp.errors import SfpError
from sfp.training.evaluate import solved_at
from sfp.training.folder import CONFIG, FINISHED, VERSIONS
from sfp.training.log import Row, read_table

APART = ("steps", "until_solved", "threads")
"""Settings that make no other variant of a method: how long, and on what."""


@dataclass(frozen=True)
class RunRecord:
    """What a run folder tells of itself.

    Attributes:
        folder: where it lies.
        task: its task.
        method: its method.
        seed: its seed.
        settings: everything else in its configuration, flat.
        train: the rows of `train.csv`.
        eval: the rows of `eval.csv`.
        variant: the settings in which it differs from its kin, as text.
        name: what an experiment calls its method, if it does.
        config: its configuration as it stands.
        versions: of the packages that it began with.
        end: what `finished.json` says; None while it is not finished.
    """

    folder: Path
    task: str
    method: str
    seed: int
    settings: dict[str, Any]
    train: list[Row]
    eval: list[Row]
    variant: str = ""
    name: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    end: dict[str, Any] | None = None

    @property
    def label(self) -> str:
        """For legends: the method and its variant."""
        return f"{self.name or self.method} {self.variant}".strip()

    @property
    def steps(self) -> int:
        """How far it got."""
        rows = [*self.train[-1:], *self.eval[-1:]]
        return max((int(row["step"] or 0) for row in rows), default=0)

    @property
    def solved_at(self) -> int | None:
        """The step at which its task was solved."""
        return solved_at(self.eval)


def read_runs(folders: Sequence[Path]) -> list[RunRecord]:
    """Read run folders, finished or not, and tell variants of a method apart."""
    return tell_apart([read_run(folder) for folder in dict.fromkeys(folders)])


def read_run(folder: Path) -> RunRecord:
    """Read one run folder, finished or not."""
    try:
        config = json.loads((folder / CONFIG).read_text())
        task, method, seed = (config[key] for key in ("task", "method", "seed"))
        if not (isinstance(task, str) and isinstance(method, str)):
            raise TypeError
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        raise SfpError(
            f"{folder} is no run: expected what `sfp train` wrote."
        ) from None
    rest = {k: v for k, v in config.items() if k not in ("task", "method", "seed")}
    return RunRecord(
        folder,
        task,
        method,
        seed,
        _flat(rest),
        read_table(folder, "train"),
        read_table(folder, "eval"),
        config=config,
        versions={k: str(v) for k, v in (_read(folder / VERSIONS) or {}).items()},
        end=_read(folder / FINISHED),
    )


def tell_apart(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Label the runs of a method by the settings in which they differ within a task."""
    return [replace(run, variant=_variant(run, runs)) for run in runs]


def column(rows: Sequence[Row], name: str) -> tuple[list[float], list[float]]:
    """The steps and the values of a column, where there are any."""
    kept = [(row["step"], row[name]) for row in rows if row[name] is not None]
    return [float(s or 0) for s, _ in kept], [float(v or 0) for _, v in kept]


def summarise(run: RunRecord) -> dict[str, str | int | float | None]:
    """One line: how far a run got."""
    last = run.eval[-1] if run.eval else {}
    _, mixing = column(run.train, "mixing/mean")
    return {
        "task": run.task,
        "method": run.label,
        "seed": run.seed,
        "steps": int(run.train[-1]["step"] or 0) if run.train else 0,
        "solved_at": run.solved_at,
        "return": last.get("eval/mean_reward"),
        "success": last.get("eval/success_rate"),
        "mixing": mixing[-1] if mixing else None,
    }


def tidy(run: RunRecord) -> list[dict[str, Any]]:
    """A run's evaluations with λ beside them, one row each."""
    mixing = {row["step"]: row for row in run.train}
    return [
        {
            "task": run.task,
            "method": run.label,
            "seed": run.seed,
            "step": int(row["step"] or 0),
            "return": row["eval/mean_reward"],
            "success": row["eval/success_rate"],
            **{
                name.replace("/", "_"): mixing.get(row["step"], {}).get(name)
                for name in ("mixing/mean", "mixing/p10", "mixing/p90")
            },
        }
        for row in run.eval
    ]


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON object; None if there is no file."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise SfpError(f"{path} is damaged: expected what `sfp train` wrote.")
    return value


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat |= _flat(value) if isinstance(value, dict) else {name: value}
    return flat


def _variant(run: RunRecord, runs: Sequence[RunRecord]) -> str:
    """What differs between runs of its name within some task, other than length."""
    kin = [r for r in runs if (r.name, r.method) == (run.name, run.method)]
    names = [
        name
        for name in run.settings
        if name not in APART
        and any(
            one.settings.get(name) != other.settings.get(name)
            for task in dict.fromkeys(r.task for r in kin)
            for one, other in _first_and_others([r for r in kin if r.task == task])
        )
    ]
    return ", ".join(f"{name}={run.settings[name]}" for name in names)


def _first_and_others(
    runs: Sequence[RunRecord],
) -> list[tuple[RunRecord, RunRecord]]:
    return [(runs[0], other) for other in runs[1:]]
