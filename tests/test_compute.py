"""The number of threads, in fresh processes: JAX counts cores when it is imported."""

import json
import os
import subprocess
import sys

import pytest

import sfp
from sfp.cli import main
from sfp.errors import SfpError

pytestmark = pytest.mark.slow

BUSY = """
import sys
import sfp.cli
assert "jax" not in sys.modules
from sfp.compute import threads, use_threads
use_threads(int(sys.argv[1]))
import os, time
import jax.numpy as jnp
def used():
    tasks = {}
    for task in os.listdir("/proc/self/task"):
        fields = open(f"/proc/self/task/{task}/stat").read().rsplit(")", 1)[1].split()
        tasks[task] = int(fields[11]) + int(fields[12])
    return tasks
x = jnp.ones((1500, 1500))
x.dot(x).block_until_ready()
before, end = used(), time.monotonic() + 1.0
while time.monotonic() < end:
    x.dot(x).block_until_ready()
spent = {task: ticks - before.get(task, 0) for task, ticks in used().items()}
most = max(spent.values())
print(threads(), sum(ticks > most / 4 for ticks in spent.values()))
"""


def fresh(*words, code=0):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
@pytest.mark.parametrize("count", [1, 2])
def test_jax_computes_with_as_many_threads_as_asked(count):
    cores = len(os.sched_getaffinity(0))
    stated, busy = map(int, fresh("-c", BUSY, str(count)).stdout.split())
    assert stated == min(count, cores)
    assert (busy == 1) == (min(count, cores) == 1)  # the caller computes too


def test_too_late_is_an_error_not_a_silence():
    late = "import jax, sfp.compute; sfp.compute.use_threads({})"
    cores = len(os.sched_getaffinity(0))
    if cores > 1:
        done = fresh("-c", late.format(1), code=1)
        assert "expected 1 threads before JAX starts" in done.stderr
    fresh("-c", late.format(cores))  # as many as it runs with anyway


TINY = ["--steps", "100", "--warmup", "50", "--update-after", "50", "--width", "8"]
TINY += ["--eval-every", "100", "--eval-episodes", "1", "--capacity", "500"]


def test_a_run_and_a_fit_state_the_one_thread_they_had(tmp_path):
    run = ["train", "room", "--method", "sac", *TINY, "--out", str(tmp_path / "run")]
    fresh("-m", "sfp", *run)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["threads"] == 1
    numbers = "\n".join("0.1,0.2" if i % 2 else "0.2,0.1" for i in range(600))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "take.csv").write_text(numbers + "\n")
    fit = ["fit", str(tmp_path / "data"), "--epochs", "1", "--epoch-steps", "1"]
    fit += ["--batch", "32", "--model", "gaussian", "--out", str(tmp_path / "prior")]
    fresh("-m", "sfp", *fit)
    card = json.loads((tmp_path / "prior" / "config.json").read_text())
    assert card["fit"]["threads"] == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("collect", "room", "--episodes", 2**62), "episodes of 500 steps need"),
        (("collect", "room", "--steps", 2**50), "record fewer, or shorter ones"),
    ],
)
def test_what_cannot_fit_is_refused_at_once(capsys, words, line):
    with pytest.raises(SystemExit) as end:
        main([*map(str, words)])
    assert end.value.code == 2
    assert line in capsys.readouterr().err


def test_networks_that_cannot_fit_are_refused_before_they_are_made(tmp_path):
    with pytest.raises(SfpError, match=r"networks and optimisers need .* less width"):
        sfp.train("room", method="sac", width=10**6, out=tmp_path / "run")


COMPILED = """
import sys
from pathlib import Path
from sfp.compute import keep_compiled
keep_compiled(Path(sys.argv[1]))
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
print(float(jax.jit(lambda x: x * 3)(2.0)))
"""


def test_a_program_that_was_half_written_is_compiled_again_in_silence(tmp_path):
    """As by a process that was killed, or that is not ready with it."""
    for damaged in (False, True):
        kept = list(tmp_path.rglob("jit__lambda*"))
        for path in kept if damaged else ():
            path.write_bytes(path.read_bytes()[:50])
        done = subprocess.run(
            [sys.executable, "-c", COMPILED, str(tmp_path)],
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("6.0\n", "")
        assert bool(kept) == damaged
