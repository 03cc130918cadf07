"""How far a job is: from its files, half-written ones too."""

import json

import pytest

from sfp.experiments.jobs import make_jobs
from sfp.experiments.plan import Overrides, make_plan
from sfp.experiments.progress import NOTHING, Progress, read_progress
from sfp.training.log import Log


@pytest.fixture
def jobs(tmp_path):
    given = Overrides(methods=("actions-2",), tasks=("maze",), seeds=(0,))
    plans = [make_plan("conditioning", overrides=given), make_plan("psd")]
    return {job.kind: job for job in make_jobs(plans, tmp_path)}


def test_nothing_yet(jobs):
    assert {read_progress(job) for job in jobs.values()} == {NOTHING}


def test_a_run(jobs):
    job = jobs["train"]
    job.lock.mkdir(parents=True)
    log = Log(job.lock)
    log.open(0)
    log.write("train", 1000, {})
    log.write("eval", 1000, {"eval/success_rate": 0.3})
    log.write("train", 2000, {})
    log.close()
    assert read_progress(job) == Progress(2000, success=0.3)
    with (job.lock / "train.csv").open("a") as file:
        file.write("30")
    assert read_progress(job) == Progress(2000, success=0.3)
    job.marker.write_text(json.dumps({"step": 2500}))
    assert read_progress(job) == Progress(2500, success=0.3)


def test_a_fit(jobs):
    job = jobs["prior"]
    job.lock.mkdir(parents=True)
    (job.lock / "fit.csv").write_text("epoch,held_out\n")
    assert read_progress(job) == NOTHING
    (job.lock / "fit.csv").write_text("epoch,held_out\n1,0.5\n2,0.75\n")
    assert read_progress(job) == Progress(2, held_out=0.75)
    job.marker.parent.mkdir()
    job.marker.write_text(json.dumps({"fit": {"epochs_run": 20}, "score": 0.8}))
    assert read_progress(job) == Progress(20, held_out=0.8)


def test_others_are_done_or_not(jobs):
    job = jobs["explore"]
    job.marker.parent.mkdir(parents=True)
    job.marker.touch()
    assert read_progress(job) == Progress(job.total)
