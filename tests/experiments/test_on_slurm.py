"""Jobs under SLURM: `submitit` runs them here, or a fake queue does."""

import contextlib
import os
import sys

import pytest
from test_local import PROGRAM, last, make_job, starts, until

from sfp.errors import SfpError
from sfp.experiments import on_slurm
from sfp.experiments.driver import Driver
from sfp.experiments.on_slurm import Settings, SlurmExecutor, SlurmQueue
from sfp.experiments.places import Place
from sfp.experiments.schedule import run_jobs
from sfp.experiments.work import work


class Handle:
    def __init__(self, job_id):
        self.job_id = job_id


class Now:
    """A queue that runs its jobs when they are submitted, or loses some."""

    def __init__(self, losses=(), refusal=None):
        self.losses, self.refusal = list(losses), refusal
        self.arrays, self.excluded, self.cancelled = [], [], []

    def clear(self):
        pass

    def submit(self, orders):
        if self.refusal:
            raise self.refusal
        self.arrays.append([order["lease"].rpartition("/")[2] for order in orders])
        for order, name in zip(orders, self.arrays[-1], strict=True):
            if name in self.losses:
                self.losses.remove(name)
            else:
                work(order)
        return [Handle(f"7_{number}") for number, _ in enumerate(orders)]

    def alive(self, handles):
        return set()

    def exclude(self, host):
        self.excluded.append(host)

    def cancel(self, handles, *, pending):
        self.cancelled.append(pending)


@pytest.fixture
def driver(tmp_path, monkeypatch):
    for name in ("LOOK", "ASK", "GRACE"):
        monkeypatch.setattr(on_slurm, name, 0.0)
    return Driver(tmp_path, tmp_path / "datasets", PROGRAM)


@pytest.mark.slow
def test_jobs_are_submitted_as_arrays_and_lost_ones_again(tmp_path, driver):
    names = ["a", "b", "c", "d"]
    jobs = [make_job(tmp_path, name, "once") for name in names[:1]]
    jobs += [make_job(tmp_path, name, "busy") for name in names[1:]]
    for job in jobs[1:]:  # three starts ago
        job.lock.mkdir()
        (job.lock / "starts").write_text(3 * "{}\n")
    queue = Now(losses=["b"])
    events = list(run_jobs(jobs, SlurmExecutor(queue, driver, 3)))
    end = last(events)
    assert {event.state for event in end.values()} == {"done"}
    assert queue.arrays[0] == ["a", "b", "c"]
    assert sorted(name for names in queue.arrays[1:] for name in names) == [
        "a",
        "b",
        "d",
    ]
    told = [event.reason for event in events if event.reason]
    assert "the disk is on fire: put it out." in told
    assert any("SLURM job 7_1 ended without a word: see" in reason for reason in told)
    assert queue.cancelled == [True, False]
    assert list((tmp_path / "slurm" / "answers").iterdir()) == []


def test_a_queue_that_refuses_and_a_node_that_is_unfit(tmp_path, driver, monkeypatch):
    refusal = SfpError("SLURM refuses the jobs: invalid partition")
    job = make_job(tmp_path, "a")
    end = last(run_jobs([job], SlurmExecutor(Now(refusal=refusal), driver, 1)))
    assert end["a"].reason == "SLURM refuses the jobs: invalid partition"
    driver = Driver(tmp_path, tmp_path / "datasets", PROGRAM)
    queue = Now()
    executor = SlurmExecutor(queue, driver, 1)
    monkeypatch.setattr("sfp.experiments.driver.source", lambda: "sfp 9")
    executor.submit(job)
    with pytest.warns(UserWarning, match=r"has sfp 0.*driver sfp 9: it gets no more"):
        ended = executor.poll()
    assert "the driver sfp 9" in str(ended[0].error)
    assert queue.excluded == [os.uname().nodename]
    assert starts(tmp_path, "a") == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # processes of submitit
def test_submitit_runs_jobs_which_save_when_they_are_stopped(tmp_path, driver):
    queue = SlurmQueue(tmp_path, Settings(), "local")
    jobs = [make_job(tmp_path, "quick"), make_job(tmp_path, "long", "sleep")]
    executor = SlurmExecutor(queue, driver, 2)
    with contextlib.closing(run_jobs(jobs, executor)) as events:
        for event in events:
            if (event.job.name, event.state) == ("quick", "done"):
                until(lambda: starts(tmp_path, "long"))
                break
    assert (tmp_path / "long" / "saved").exists()


def test_what_users_get_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(
        SfpError, match=r"commands of SLURM, and sbatch is missing: run"
    ):
        SlurmQueue(tmp_path, Settings())
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(SfpError, match=r"needs submitit, .*-priors\[slurm\]'"):
        SlurmQueue(tmp_path, Settings())
    with pytest.raises(SfpError, match=r"--array and --sbatch are for --on slurm, rec"):
        Place("ray", slurm=Settings(array=7))
    with pytest.raises(SfpError, match=r"expected array of at least 1, received 0"):
        Place("slurm", slurm=Settings(array=0))
