"""Two workers against one on the same grid: at most 0.6 of the time (required).

    python benchmarks/grid.py [--steps 4000] [--runs 6]

Runs SAC on `room` with default settings, a seed per run, twice into a fresh folder:
with one worker, then with two. Compiled programs are there already (a first, short run
makes them), so both pay the same. Wants two idle cores.
"""

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path

from sfp.cli import main as sfp

REQUIRED = 0.6


def grid(out: Path, workers: int, runs: int, steps: int) -> float:
    """Seconds that a grid takes; every run of it must be done."""
    words = ["reproduce", "transfer", "--methods", "sac", "--tasks", "room"]
    words += ["--seeds", *map(str, range(runs)), "--steps", str(steps)]
    words += ["--workers", str(workers), "--out", str(out), "--json"]
    said, began = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(said):
        sfp(words)
    seconds = time.perf_counter() - began
    states = [row["state"] for row in json.loads(said.getvalue())["rows"]]
    assert states == ["done"] * runs, states
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        grid(Path(folder, "warm"), 1, 1, 1200)
        one, two = (
            grid(Path(folder, str(workers)), workers, given.runs, given.steps)
            for workers in (1, 2)
        )
    ratio = two / one
    print(f"{given.runs} runs of {given.steps} steps: {one:.1f} s with one worker,")
    print(f"{two:.1f} s with two: {ratio:.2f} of it (required: {REQUIRED})")
    sys.exit(ratio > REQUIRED)


if __name__ == "__main__":
    main()
