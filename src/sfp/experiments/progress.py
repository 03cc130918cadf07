"""How far a job is, read from what it writes."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from sfp.errors import SfpError
from sfp.experiments.jobs import Job
from sfp.training.log import read_table


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes:
        done: steps of a run, epochs of a fit.
        value: the last success rate of a run, the last held-out likelihood of a fit.
    """

    done: int = 0
    value: float | None = None


NOTHING = Progress()


def read_progress(job: Job) -> Progress:
    """What the tables of a job say now; what cannot be read yet is nothing."""
    try:
        if job.kind == "train":
            return _of_run(job.lock, job.marker)
        if job.kind == "prior":
            return _of_fit(job.lock)
    except (SfpError, OSError, ValueError, KeyError, TypeError):
        pass  # being written, or damaged: then the job itself will say so
    return NOTHING


def _of_run(folder: Path, finished: Path) -> Progress:
    steps, tests = read_table(folder, "train"), read_table(folder, "eval")
    done = int(steps[-1]["step"] or 0) if steps else 0
    if finished.is_file():  # steps since the last row are done too
        done = int(json.loads(finished.read_text())["step"])
    return Progress(done, tests[-1]["eval/success_rate"] if tests else None)


def _of_fit(work: Path) -> Progress:
    with (work / "fit.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return Progress(int(rows[-1]["epoch"]), float(rows[-1]["held_out"]))
