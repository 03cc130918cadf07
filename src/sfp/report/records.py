"""What run folders tell of themselves."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfp.config import DEFAULTS, GONE
from sfp.documents import read_json
from sfp.envs.solved import Solved, as_return, known_threshold
from sfp.errors import SfpError
from sfp.files import is_locked
from sfp.training.folder import CONFIG, FINISHED, UNTOLD, VERSIONS, check_run
from sfp.training.log import AS_MIXTURE, Row, read_table
from sfp.training.verdict import as_mixture, solved_at

WROTE = "Expected what `sfp train` wrote."
APART = (
    *("steps", "until_solved", "solved_at", "threads"),
    *("reward_threshold", "priors", "test_mixture"),
)
"""Settings that make no other variant of a method: how long, on what, names, tests."""


@dataclass(frozen=True)
class RunRecord:
    """What a run folder tells of itself.

    Attributes:
        settings: all of its configuration but task, method and seed, flat.
        variant: the settings in which it differs from other runs of its method.
        name: what an experiment calls its method, if it does.
        versions: of the packages that it began with.
        end: what `finished.json` says; None while it is not finished.
        verified: whether its files were checked against their digests.
        seconds: that it has taken, if known.
        running: whether a process is training in its folder now.
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
    verified: bool = False
    seconds: float | None = None
    running: bool = False

    @property
    def state(self) -> str:
        """`finished`, `is running`, or `was stopped`."""
        if self.end is not None:
            return "finished"
        return "is running" if self.running else "was stopped"

    @property
    def until_solved(self) -> bool:
        """Whether it was to end when its task was solved."""
        return self.settings.get("until_solved") is True

    @property
    def ended_solved(self) -> bool:
        return self.until_solved and self.solved_at is not None

    @property
    def label(self) -> str:
        return f"{self.name or self.method} {self.variant}".strip()

    @property
    def steps(self) -> int:
        rows = [*self.train[-1:], *self.eval[-1:]]
        return max((int(row["step"] or 0) for row in rows), default=0)

    @property
    def rule(self) -> Solved:
        """When its task is solved; earlier versions did not keep the threshold."""
        held = self.settings
        usual = None if held.get("env") else known_threshold(self.task)
        kept = held.get("reward_threshold", usual)
        return Solved(as_return(held.get("solved_at")), as_return(kept))

    @property
    def line(self) -> float | None:
        """The mean return that solves its task; None if success does."""
        told = any(row["eval/success_rate"] is not None for row in self.eval)
        return self.rule.line(told=told)

    @property
    def solved_at(self) -> int | None:
        return solved_at(self.eval, self.rule)

    @property
    def first_reward(self) -> int | None:
        """The step of the first reward in training, once the run has ended."""
        told = (self.end or {}).get("first_reward")
        return told if type(told) is int else None


def read_runs(folders: Sequence[Path]) -> list[RunRecord]:
    """Read run folders, finished or not, and tell variants of a method apart."""
    return tell_apart([read_run(folder) for folder in dict.fromkeys(folders)])


def read_run(folder: Path) -> RunRecord:
    foreign = f"{folder} is no run: expected what `sfp train` wrote"
    try:
        config = read_json(folder / CONFIG, "")
    except SfpError as error:
        raise SfpError(f"{foreign} ({error})") from None
    named = {key: config.get(key) for key in ("task", "method", "seed")}
    if [type(value) for value in named.values()] != [str, str, int]:
        raise SfpError(f"{foreign}, received {named}.")
    checked, end = check_run(folder), _read(folder / FINISHED)
    run = RunRecord(
        folder,
        config["task"],
        config["method"],
        config["seed"],
        _flat({k: v for k, v in config.items() if k not in named}),
        _rising(folder, "train"),
        _rising(folder, "eval"),
        config=config,
        versions={k: str(v) for k, v in (_read(folder / VERSIONS) or {}).items()},
        end=end,
        verified=checked and (end or {}).get("verified") is not False,
        seconds=_seconds(folder),
        running=end is None and is_locked(folder),
    )
    _check_whole(run)
    return run


def tell_apart(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Label the runs of a name by the settings in which they differ within a task."""
    kin: dict[str, list[RunRecord]] = {}
    meant: dict[str, set[str]] = {}
    for run in runs:
        kin.setdefault(run.name or run.method, []).append(run)
        meant.setdefault(_priors(run), set()).add(str(run.settings.get("prior")))
    names = {key: _differing(members) for key, members in kin.items()}
    clear = {priors for priors, prints in meant.items() if len(prints) == 1}
    return [
        replace(run, variant=_variant(run, names[run.name or run.method], clear))
        for run in runs
    ]


def column(rows: Sequence[Row], name: str) -> tuple[list[float], list[float]]:
    """The steps and the values of a column, where there are any."""
    kept = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    return [float(s or 0) for s, _ in kept], [float(v or 0) for _, v in kept]


def summarise(run: RunRecord) -> dict[str, Any]:
    """One line: how far a run got."""
    last = run.eval[-1] if run.eval else {}
    _, mixing = column(run.train, "mixing/mean")
    return {
        "task": run.task,
        "method": run.label,
        "seed": run.seed,
        "steps": run.steps,
        "first_reward": run.first_reward,
        "solved_at": run.solved_at,
        "return": last.get("eval/mean_reward"),
        "success": last.get("eval/success_rate"),
        "mixing": mixing[-1] if mixing else None,
        **_on_the_way(run),
        **_as_mixture(run),
        "finished": run.end is not None,
        "seconds": None if run.seconds is None else round(run.seconds),
    }


def _on_the_way(run: RunRecord) -> dict[str, Any]:
    """λ of a run that ended solved, as it was logged last before, or first."""
    steps, values = column(run.train, "mixing/mean")
    if not (steps and run.ended_solved and run.first_reward and run.solved_at):
        return {}
    moments = {"mixing_first": run.first_reward, "mixing_solved": run.solved_at}
    return {
        name: values[max(0, sum(step <= moment for step in steps) - 1)]
        for name, moment in moments.items()
    }


def _as_mixture(run: RunRecord) -> dict[str, Any]:
    """How the mixture did as it acts, and what each of several priors weighs."""
    rows, found = as_mixture(run.eval), {}
    if rows:
        found["mixture_solved_at"] = solved_at(rows, run.rule)
        found["mixture_success"] = rows[-1]["eval/success_rate"]
    for key in _weights(run):
        _, values = column(run.train, key)
        found[key.replace("/", "_")] = values[-1] if values else None
    return found


def _weights(run: RunRecord) -> list[str]:
    """The columns with λ of each prior, if there are several."""
    last = run.train[-1] if run.train else {}
    return [name for name in last if re.fullmatch(r"mixing/\d+", name)]


def tidy(run: RunRecord) -> list[dict[str, Any]]:
    """A run's evaluations with λ beside them, one row each; λ of each of several."""
    mixing = {row["step"]: row for row in run.train}
    shares = ("mixing/mean", "mixing/p10", "mixing/p90", *_weights(run))
    tested = {
        f"mixture_{name}": AS_MIXTURE[f"eval/{column}"]
        for name, column in (("return", "mean_reward"), ("success", "success_rate"))
    }
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
                for name in shares
            },
            **{name: row[key] for name, key in tested.items() if key in row},
        }
        for row in run.eval
    ]


def _check_whole(run: RunRecord) -> None:
    """Refuse a run that ended but whose evaluations are cut short."""
    end, known = (run.end or {}).get("step"), DEFAULTS | run.settings
    every, iteration = known["eval_every"], known["iteration"]
    if all(isinstance(count, int) and count > 0 for count in (end, every, iteration)):
        due = int(end or 0) // max(every, iteration)
        if len(run.eval) < due:
            raise SfpError(
                f"{run.folder / 'eval.csv'} is damaged: {len(run.eval)} evaluations of "
                f"a run of {end:,} steps, expected {due}."
            )


def _rising(folder: Path, name: str) -> list[Row]:
    rows = read_table(folder, name)
    steps = [row["step"] or 0 for row in rows]
    if any(after <= before for before, after in itertools.pairwise(steps)):
        raise SfpError(f"{folder / name}.csv is damaged: its steps do not rise.")
    return rows


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON object; None if there is no file."""
    return read_json(path, WROTE) if os.path.lexists(path) else None


def _seconds(folder: Path) -> float | None:
    rows = read_table(folder, "timing")
    return rows[-1]["charts/seconds"] if rows else None


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat |= _flat(value) if isinstance(value, dict) else {name: value}
    return flat


def _differing(kin: Sequence[RunRecord]) -> list[str]:
    """Settings, other than length, that differ between runs of the same task."""
    found: dict[str, None] = {}
    first: dict[str, RunRecord] = {}
    for run in kin:
        like, own = _told(first.setdefault(run.task, run)), _told(run)
        for name in (*like, *own):
            usual = DEFAULTS.get(name, GONE.get(name))
            one, other = like.get(name, usual), own.get(name, usual)
            told = name not in UNTOLD or (name in like and name in own)
            if told and name not in APART and one != other:
                found[name] = None
    return list(found)


def _told(run: RunRecord) -> dict[str, Any]:
    """All that makes a variant; an experiment may give two methods one name."""
    return {"method": run.method} | run.settings


def _priors(run: RunRecord) -> str:
    """What its priors are called."""
    return " + ".join(map(str, run.settings.get("priors") or ()))


def _variant(run: RunRecord, names: Sequence[str], clear: Set[str]) -> str:
    """Priors go by their names where `clear` says that these tell them apart."""
    held, priors = _told(run), _priors(run)
    if priors and priors in clear:
        held["prior"] = priors
    return ", ".join(f"{name}={held[name]}" for name in names if name in held)
