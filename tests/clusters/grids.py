"""A small grid for real clusters, and what must be true of it afterwards."""

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from nodes import SOURCE

from faults import outcome, whole

CACHE = Path(__file__).parent.parent.parent / ".venv" / "xla"
SMALL = {
    **{"width": 8, "depth": 1, "batch": 16, "warmup": 200, "update_after": 100},
    **{"eval_every": 600, "eval_episodes": 1, "log_every": 100},
    **{"checkpoint_every": 100, "capacity": 2000},
}
GRID = ["models", "--methods", "deterministic", "gaussian", "--tasks", "room", "maze"]
GRID += ["--seeds", "0", "1", "2", "--steps", "1500", "--episodes", "30"]
GRID += ["--epochs", "1"]
GRID += [word for item in SMALL.items() for word in ("--set", "{}={}".format(*item))]
RUNS, JOBS = 12, 15
"""A recording and two priors come before the runs."""


def begin(env, out, *words, grid=GRID):
    env = {k: v for k, v in env.items() if k != "MINARI_DATASETS_PATH"}
    env |= {"JAX_COMPILATION_CACHE_DIR": str(CACHE), "PYTHONPATH": SOURCE}
    command = [sys.executable, "-m", "sfp", "reproduce", *grid, "--out", str(out)]
    # It hears Ctrl-C, also when the tests run in the background of a shell.
    return subprocess.Popen(
        ["env", "--default-signal=INT", *command, *words],
        env=env,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def end(runner):
    """Exit code, and what it said."""
    _, err = runner.communicate(timeout=900)
    return runner.returncode, err.decode()


def run_locally(out, grid=GRID):
    env = os.environ | {"HOME": str(out.parent)}
    code, err = end(begin(env, out, "--workers", "2", grid=grid))
    assert code == 0, err
    return out


def check_same(out, local):
    """Every run and prior is there, with the bits of the local ones."""
    runs = sorted(path.name for path in (local / "runs").iterdir())
    assert sorted(path.name for path in (out / "runs").iterdir()) == runs
    for name in runs:
        assert outcome(out / "runs" / name) == outcome(local / "runs" / name)
        whole(out / "runs" / name)
    for prior in (local / "priors").glob("*/prior.safetensors"):
        made = out / prior.relative_to(local)
        assert made.read_bytes() == prior.read_bytes()
    return runs


def leases(out):
    """All leases of each job, in their order."""
    return {
        folder.name: [json.loads((folder / f"{n}.json").read_text()) for n in order]
        for folder in (out / "leases").iterdir()
        if folder.name != "driver"
        and (order := sorted(int(path.stem) for path in folder.glob("*.json")))
    }


def check_nothing_twice(out):
    """A holder has ended, or is dead, before the next one begins."""
    for name, held in leases(out).items():
        log = (out / "logs" / f"{name}.log").read_text()
        assert log.count("\n# ") + log.startswith("# ") == len(held)
        for before, after in itertools.pairwise(held):
            assert before["until"] <= after["since"]
            assert before["kind"] != "done"
        # Or its node died after the job was done, and before it could write that down.
        assert held[-1].get("kind") in ("done", None)


def until(condition, runner, seconds=300.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert runner.poll() is None, runner.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def finished(out):
    return len(list(out.glob("runs/*/finished.json")))


def running(out):
    """Runs that have a checkpoint and are not done."""
    begun = {path.parent.parent for path in out.glob("runs/*/checkpoint/step-*")}
    return [run for run in begun if not (run / "finished.json").exists()]
