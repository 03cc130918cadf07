"""A real SLURM of one node: same bits; time limits, cancelled jobs, a killed driver."""

import shutil
import subprocess

import pytest
from controller import Controller, missing
from grids import (
    GRID,
    begin,
    check_nothing_twice,
    check_same,
    end,
    finished,
    leases,
    run_locally,
    running,
    until,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason="needs slurm-wlm"),
]
SMALL = [*GRID[:5], "room", "--seeds", "0", "1", *GRID[GRID.index("--steps") :]]
"""Four runs."""


@pytest.fixture(scope="module")
def slurm():
    slurm = Controller()
    yield slurm
    slurm.close()
    shutil.rmtree(slurm.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return run_locally(tmp_path_factory.mktemp("local") / "out", SMALL)


def jobs(slurm):
    return slurm.run("squeue", "-h", "-r", "-o", "%i %T").stdout.splitlines()


def test_the_driver_is_killed_and_a_job_is_cancelled(slurm, local, tmp_path):
    """The jobs outlive the driver; the next one waits for them."""
    out = tmp_path / "out"
    words = ("--on", "slurm", "--partition", "cpu", "--array", "3")
    runner = begin(slurm.env, out, *words, grid=SMALL)
    until(lambda: running(out), runner)
    runner.kill()
    runner.communicate()
    assert finished(out) < 4
    runner = begin(slurm.env, out, *words, grid=SMALL)
    until(lambda: finished(out) > 0 and running(out), runner)
    (line, *_) = [line for line in jobs(slurm) if line.endswith("RUNNING")]
    subprocess.run(["scancel", line.split()[0]], env=slurm.env, check=True)
    code, err = end(runner)
    assert code == 0, err
    assert len(check_same(out, local)) == 4
    check_nothing_twice(out)
    assert jobs(slurm) == []


def test_a_signal_before_the_time_limit_saves(slurm, tmp_path):
    """SLURM sends SIGUSR2 before the limit; the job goes on in another one."""
    out = tmp_path / "out"
    grid = [*SMALL[:2], "gaussian", "--tasks", "room", "--seeds", "0"]
    grid += SMALL[SMALL.index("--steps") :]
    runner = begin(slurm.env, out, "--on", "slurm", grid=grid)
    until(lambda: running(out), runner)
    running_name = running(out)[0].name
    (line,) = jobs(slurm)
    command = ["scancel", "--signal=USR2", line.split()[0]]
    subprocess.run(command, env=slurm.env, check=True)
    code, err = end(runner)
    assert code == 0, err
    assert "the cluster asked it to stop" in err
    held = leases(out)[running_name]
    assert [lease["kind"] for lease in held] == ["lost", "done"]


def test_what_users_get_wrong(slurm, tmp_path):
    words = ("--on", "slurm", "--partition", "mars")
    code, err = end(begin(slurm.env, tmp_path / "out", *words, grid=SMALL))
    assert code == 2
    assert "SLURM refuses the jobs" in err.splitlines()[-1]
    assert "nvalid partition" in err.splitlines()[-1]
