"""The same bits as an earlier version: every method, and a fit of every model.

    git archive 88aea2d | tar x -C SOURCE
    pip install --no-deps --target OLD SOURCE
    python benchmarks/bits.py OLD --out results/bits.csv

Both versions run the same commands with one thread on one core, each in a process of
its own: they fit priors to the same recordings, and train on `maze`, two methods on
`window-close` too, with networks of the usual size. What both wrote is compared number
by number: the columns of tables that both have, and arrays of weights, whatever they
are called. Wall-clock times are left out. Ends with an error if something differs.
Beside it stand the seconds of CPU time that both took, start-up included.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from safetensors.numpy import load_file

TRAINING = "--warmup 1000 --eval-every 1000 --eval-episodes 2 --threads 1 --steps "
FITS = {
    "realnvp": "--model realnvp",
    "vae": "--model vae",
    "lscde": "--model lscde",
    "gaussian": "--model gaussian",
    "deterministic": "--model deterministic",
    "parrot-action": "--model parrot",
    "parrot-state": "--model parrot --past-actions 0 --state",
}
FITTING = "--epochs 2 --epoch-steps 150"
PRIORS = {"parrot-state": "parrot-state", "parrot-action": "parrot-action"}
PRIORS |= {"sac-kl": "gaussian", "sfp": "realnvp"}
WITH_DATA = "sac-bc", "rlpd"
METHODS = ("sac", "sfp", "sac-bc", "sac-polyrl", "parrot-state", "parrot-action")
METHODS += ("sac-kl", "sac-pink", "sac-ou", "sac-zeta", "rlpd")
SINCE = {
    "sac-kl": "--warmup-by method",
    "sac-bc": "--warmup-by method",
}
"""What the present version is told where a default is another one since."""

LEFT_OUT = {"seconds", "sps", "charts/SPS", "charts/seconds", "time"}
DATA = "sfp/room/scripted-v0"


class Sides:
    """Commands of both versions, and what they wrote."""

    def __init__(self, old, folder, core, steps):
        here = Path(__file__).parent.parent / "src"
        self.sources = {"old": Path(old).resolve(), "new": here.resolve()}
        self.folder, self.core, self.training = folder, core, f"{TRAINING}{steps}"
        self.seconds = {}

    def run(self, words, since=""):
        """Both run these words; {out} is a folder of the side's own."""
        for side, source in self.sources.items():
            said = f"{words} {since}" if side == "new" else words
            said = said.format(out=self.folder / side)
            one = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(source)}
            one["MINARI_DATASETS_PATH"] = str(self.folder / side / "data")
            command = [sys.executable, "-m", "sfp", *said.split()]
            before = spent()
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=os.environ | one,
                capture_output=True,
                text=True,
                preexec_fn=lambda: os.sched_setaffinity(0, {self.core}),
            )
            if done.returncode:
                sys.exit(f"{side}: {said}\n{done.stderr[-2000:]}")
            self.seconds[side] = round(spent() - before, 1)

    def same_tables(self, name, tables):
        return all(
            _alike(*(_read(self.folder / side / name / table) for side in self.sources))
            for table in tables
        )

    def same_weights(self, name):
        old, new = (sorted(_arrays(self.folder / side / name)) for side in self.sources)
        return old == new and bool(old)


def spent():
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _alike(old, new):
    if not old or len(old) != len(new):
        return False
    shared = (old[0].keys() & new[0].keys()) - LEFT_OUT
    return len(shared) > 1 and all(
        float(a[name] or "nan") == float(b[name] or "nan") or a[name] == b[name]
        for a, b in zip(old, new, strict=True)
        for name in shared
    )


def _arrays(folder):
    """Shape and bytes of all arrays of the weights in a folder."""
    for path in folder.rglob("*.safetensors"):
        if "checkpoint" not in path.parts and "best" not in path.parts:
            for array in load_file(path).values():
                yield str(array.dtype), array.shape, array.tobytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="a folder with the earlier package")
    parser.add_argument("--only", nargs="*", default=[], help="some of the cells")
    parser.add_argument("--steps", type=int, default=3000, help="of every run")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="a table of what was the same")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(
            compare(Sides(given.old, Path(folder), given.core, given.steps), given.only)
        )
    if given.out:
        with given.out.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerows([("what", "tables", "weights", "old", "new"), *rows])
    if not all(tables and weights for _, tables, weights, *_ in rows):
        sys.exit("not the same")


def compare(sides, only):
    """What, whether its tables and its weights are the same, seconds of old and new."""
    wanted = lambda name: not only or name in only  # noqa: E731
    sides.run("collect room --episodes 100")
    for name, words in FITS.items():
        if wanted(f"fit {name}") or any(
            wanted(m) and p == name for m, p in PRIORS.items()
        ):
            out = f"{{out}}/priors/{name}"
            sides.run(f"fit {DATA} {words} {FITTING} --out {out}")
            yield told(sides, f"fit {name}", f"priors/{name}", ("fit.csv",))
    for method in METHODS:
        if wanted(method):
            words = f"train maze --method {method} {sides.training}"
            words += f" --out {{out}}/{method}"
            if method in PRIORS:
                words += f" --prior {{out}}/priors/{PRIORS[method]}"
            if method in WITH_DATA:
                words += f" --data {DATA}"
            sides.run(words, SINCE.get(method, ""))
            yield told(sides, method, method, ("train.csv", "eval.csv"))
    for method, more in {"sac": "", "sfp": " --prior reach"}.items():
        name = f"{method} on window-close"
        if wanted(name):
            out = f"{{out}}/{method}-window"
            words = f"train window-close --method {method} {sides.training}"
            sides.run(f"{words} --out {out}{more}")
            yield told(sides, name, f"{method}-window", ("train.csv", "eval.csv"))


def told(sides, what, name, tables):
    found = what, sides.same_tables(name, tables), sides.same_weights(name)
    said, (old, new) = ("differ", "same"), sides.seconds.values()
    print(
        f"{what}: tables {said[found[1]]}, weights {said[found[2]]}, "
        f"{old} s and {new} s",
        flush=True,
    )
    return *found, old, new


if __name__ == "__main__":
    main()
