"""How far a job is, read from what it writes."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from sfp.documents import read_json
from sfp.errors import SfpError
from sfp.experiments.job import Job
from sfp.training.log import read_table


@dataclass(frozen=True)
class Progress:
    """Steps of a run or epochs of a fit, and its last success rate or held-out nats."""

    done: int = 0
    success: float | None = None
    held_out: float | None = None


NOTHING = Progress()


def read_progress(job: Job) -> Progress:
    """What the files of a job say now; a file that cannot be read yet says nothing."""
    readers = {"train": _of_run, "prior": _of_fit}
    try:
        return readers.get(job.kind, _of_other)(job)
    except (SfpError, OSError, ValueError, LookupError, TypeError, csv.Error):
        return NOTHING  # being written, or damaged: then the job itself will say so


def _of_run(job: Job) -> Progress:
    steps, tests = read_table(job.lock, "train"), read_table(job.lock, "eval")
    done = int(steps[-1]["step"] or 0) if steps else 0
    if job.marker.is_file():  # steps since the last row are done too
        done = int(read_json(job.marker)["step"])
    return Progress(done, success=tests[-1]["eval/success_rate"] if tests else None)


def _of_fit(job: Job) -> Progress:
    if job.marker.is_file():
        card = read_json(job.marker)
        return Progress(card["fit"]["epochs_run"], held_out=card["score"])
    with (job.lock / "fit.csv").open(newline="", encoding="utf-8") as file:
        *_, row = csv.DictReader(file)
    return Progress(int(row["epoch"]), held_out=float(row["held_out"]))


def _of_other(job: Job) -> Progress:
    return Progress(job.total) if job.marker.is_file() else NOTHING
