"""A first comparison of every method on the point-mazes, cell by cell, resumable.

    python benchmarks/rivals.py --out runs/rivals --workers 2 [--seeds 0 1]

Makes the recordings and the priors that are missing, then runs every cell (method x
task x seed) as `sfp train` with defaults, one process and one core each. Give the same
command again after an interruption: finished cells are kept, started ones go on. At the
end `sfp curves` writes the tables. About two hours on two cores.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

STEPS = {"room": 16_000, "maze": 40_000, "corridor": 60_000}
DATA = "sfp/room/scripted-v0"
FITS = {
    "parrot": ["--model", "parrot", "--state", "--past-actions", "0"],
    "gaussian": ["--model", "gaussian", "--past-actions", "1"],
    "gaussian-state": ["--model", "gaussian", "--state", "--past-actions", "0"],
}
CELLS = {
    "sfp": ["--method", "sfp", "--prior", "room"],
    "sac": ["--method", "sac"],
    "sac-polyrl": ["--method", "sac-polyrl"],
    "sac-pink": ["--method", "sac-pink"],
    "sac-ou": ["--method", "sac-ou"],
    "sac-zeta": ["--method", "sac-zeta"],
    "sac-bc": ["--method", "sac-bc", "--data", DATA],
    "rlpd": ["--method", "rlpd", "--data", DATA],
    "parrot-state": ["--method", "parrot-state", "--prior", "{priors}/parrot"],
    "parrot-action": ["--method", "parrot-action", "--prior", "room"],
    "sac-kl": ["--method", "sac-kl", "--prior", "{priors}/gaussian"],
    "sac-kl-state": ["--method", "sac-kl", "--prior", "{priors}/gaussian-state"],
}


def sfp(*words, log=None, core=None):
    """Run a command of this package on one core; its output goes to a log."""
    pin = ["taskset", "-c", str(core)] if core is not None else []
    command = [*pin, sys.executable, "-m", "sfp", *map(str, words)]
    with open(log or os.devnull, "w") as file:
        return subprocess.run(command, stdout=file, stderr=file, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/rivals"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--tasks", nargs="+", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--steps", type=int, help="instead of 16, 40 and 60 thousand")
    parser.add_argument("--epochs", type=int, default=20, help="of the priors' fits")
    given = parser.parse_args()
    priors, logs = given.out / "priors", given.out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    if sfp("data", DATA, log=logs / "data.log") and sfp("collect", "room"):
        sys.exit("cannot record the room")
    cores: SimpleQueue = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[: given.workers]:
        cores.put(core)
    began, done = time.time(), []

    def run(name, words, finished):
        core = cores.get()
        try:
            failed = False if finished else sfp(*words, log=logs / name, core=core)
        finally:
            cores.put(core)
        done.append(name)
        state = f"failed, see {logs / name}" if failed else "done"
        print(f"{time.time() - began:6.0f} s  {name}: {state}", flush=True)
        return failed

    with ThreadPoolExecutor(given.workers) as pool:
        fits = [
            pool.submit(
                run,
                f"fit-{name}.log",
                ["fit", DATA, *words, "--epochs", given.epochs, "--out", priors / name],
                (priors / name / "config.json").is_file(),
            )
            for name, words in FITS.items()
            if any(f"{{priors}}/{name}" in CELLS[cell] for cell in given.cells)
        ]
        if any([fit.result() for fit in fits]):
            sys.exit("a prior could not be fitted")
        folders, runs = [], []
        for seed in given.seeds:
            for task in given.tasks:
                for cell in given.cells:
                    folder = given.out / f"{task}-{cell}-s{seed}"
                    words = [word.format(priors=priors) for word in CELLS[cell]]
                    words = ["train", task, *words, "--seed", seed, "--out", folder]
                    words += ["--steps", given.steps or STEPS[task]]
                    words += ["--resume"] * (folder / "config.json").is_file()
                    over = (folder / "finished.json").is_file()
                    folders.append(folder)
                    runs.append(pool.submit(run, f"{folder.name}.log", words, over))
        failed = sum(bool(one.result()) for one in runs)
    ended = [folder for folder in folders if (folder / "finished.json").is_file()]
    sfp("curves", *ended, "--out", given.out / "tables", log=logs / "curves.log")
    print(f"{len(ended)} of {len(folders)} cells, tables in {given.out / 'tables'}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
