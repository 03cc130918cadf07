"""Fuzz what sfp reads, the environments it trains in, and its command lines.

python tests/fuzz/run.py                                400 damaged files
python tests/fuzz/run.py --cases 10000                  as in `make soak`
python tests/fuzz/run.py --what environments --cases 150
python tests/fuzz/run.py --what commands --cases 1000
python tests/fuzz/run.py --only npz --number 17         one case again

Every case either succeeds or is refused in one line. A raw exception, a crash, more
than 10 s (in proportion to the machine's load), 500 MB more than the data, a byte
changed elsewhere, or code that runs is a finding. Prints a line per finding and a
table; the exit code is 0 if there is none.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import commands
import misbehaving
from loaders import LOADERS, NEEDED, preload, settle
from mutations import make_canary, mutate, snapshot
from sandbox import PLANTED, Verdict, Worker


def make_seeds(root, names):
    """Write a good file of each kind; in a fork, as JAX must not start here."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ["MINARI_DATASETS_PATH"] = str(root / "datasets")
            settle(compiled())
            for name in names:
                folder = root / "seeds" / name
                folder.mkdir(parents=True)
                LOADERS[name][0](folder)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit("the seeds could not be made")


def compiled():
    """Where compiled programs are kept from one call to the next."""
    return Path(tempfile.gettempdir()).resolve() / "sfp-fuzz-xla"


class Files:
    """Cases of one loader; the same seed and number give the same case."""

    def __init__(self, root, name, seed):
        self.root, self.name, self.seed = root, name, seed
        self.home = root / "work" / name
        (self.home / "worker").mkdir(parents=True)
        (self.home / f"{PLANTED}.py").write_text("raise SystemExit('code ran')\n")
        self.worker = Worker(self._load, self.home / "worker", writes=(compiled(),))
        self._good()

    def _load(self, number, out):
        """In the worker."""
        if Path.cwd() != self.home:
            os.chdir(self.home)
            sys.path.insert(0, str(self.home))
            os.environ["MINARI_DATASETS_PATH"] = str(self.home / "none")
            settle(compiled())
        rng = random.Random(f"{self.seed}/{self.name}/{number}/load")
        LOADERS[self.name][1](self.home / "case" / "in", out, rng)

    def _good(self):
        """What is not damaged has to load, else nothing is tested."""
        self._prepare()
        self.worker.seconds = 60.0
        for number in range(4):  # the worker warms up, too
            verdict = self.worker(number, out=self._out(), size=2**30)
            if verdict.outcome != "loaded":
                sys.exit(f"{self.name}: a good seed is {verdict}")
        self.worker.seconds = None

    def _prepare(self):
        shutil.rmtree(self.home / "case", ignore_errors=True)
        make_canary(self.home / "case" / "canary")
        shutil.copytree(self.root / "seeds" / self.name, self.home / "case" / "in")

    def _out(self):
        return fresh(self.home / "out")

    def __call__(self, number):
        """The verdict on a case, and what was done to it."""
        self._prepare()
        rng = random.Random(f"{self.seed}/{self.name}/{number}")
        done, forbidden = mutate(rng, self.home / "case" / "in")
        before = snapshot(self.home / "case")
        size = sum(held[1] for held in before.values() if held[1] < 10**8)
        verdict = self.worker(number, out=self._out(), size=size)
        if not verdict.is_finding:
            after = snapshot(self.home / "case")
            changed = [
                p for p in before.keys() | after if before.get(p) != after.get(p)
            ]
            if changed:
                verdict = Verdict("changed", f"bytes outside --out: {changed[:3]}")
            elif forbidden and verdict.outcome == "loaded":
                verdict = Verdict("followed", "loads what lies outside the file")
        return verdict, done


class Environments:
    """Misbehaving environments; all of them in the order that a seed draws."""

    def __init__(self, root, name, seed):
        self.home = root / "work" / name
        (self.home / "worker").mkdir(parents=True)
        self.cases = misbehaving.cases()
        random.Random(seed).shuffle(self.cases)
        self.worker = Worker(self._train, self.home / "worker", writes=(compiled(),))

    def _train(self, case, out):
        settle(compiled())
        misbehaving.attempt(case, out)

    def __call__(self, number):
        case = self.cases[number % len(self.cases)]
        return self.worker(case, out=fresh(self.home / "out")), str(case)


class Commands:
    """Command lines, each in a process of its own."""

    def __init__(self, root, name, seed):
        self.root, self.seed = root, seed
        self.home = root / "work" / name
        (self.home / "worker").mkdir(parents=True)
        places = (root, compiled(), "/dev", "/proc")
        self.worker = Worker(
            commands.attempt, self.home / "worker", writes=places, lives=1, runs=True
        )

    def __call__(self, number):
        words = commands.line(random.Random(f"{self.seed}/{number}"))
        commands.furnish(self.home / "out", self.root / "seeds")
        verdict = self.worker(words, out=self.home / "out", size=COMPILER)
        return verdict, " ".join(word[:60] for word in words)


COMPILER = 300 * 2**20
"""Bytes that JAX's compiler takes in a command that does as it is told."""


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = ("files", "environments", "commands")
    parser.add_argument("--what", choices=kinds, default="files")
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", nargs="*", choices=list(LOADERS), default=list(LOADERS)
    )
    parser.add_argument("--number", type=int, help="one case of each, in any case told")
    parser.add_argument("--keep", type=Path, help="where to keep what was found")
    args = parser.parse_args()
    for name in ("MPLCONFIGDIR", "JAX_COMPILATION_CACHE_DIR"):
        os.environ[name] = str(compiled())
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sfp-fuzz-") as folder:
        root = Path(folder).resolve()
        if args.what == "files":
            preload()
            make_seeds(root, args.only)
            fuzzers = [(Files, name) for name in args.only]
        elif args.what == "environments":
            preload()
            fuzzers = [(Environments, "environments")]
        else:
            make_seeds(root, NEEDED)
            fuzzers = [(Commands, "commands")]
        print(
            f"{'':15} {'cases':>6} {'good':>6} {'refused':>8} {'found':>6}"
            f" {'slowest':>8} {'largest':>8} {'time':>6}"
        )
        found = cases = 0
        for at, (kind, name) in enumerate(fuzzers):
            share = (args.cases + at) // len(fuzzers)
            numbers = range(share) if args.number is None else [args.number]
            cases += len(numbers)
            found += fuzz(
                lambda k=kind, n=name: k(root, n, args.seed), name, numbers, args
            )
    minutes = (time.monotonic() - began) / 60
    print(
        f"{cases} {args.what} with --seed {args.seed}: {found} findings, "
        f"{minutes:.1f} min."
    )
    sys.exit(1 if found else 0)


def fuzz(make, name, numbers, args):
    """All cases of a fuzzer; prints what was found, and how long it will take."""
    began = told = time.monotonic()
    fuzzer, counts, slowest, largest = make(), {}, 0.0, 0.0
    for done, number in enumerate(numbers):
        verdict, case = fuzzer(number)
        counts[verdict.outcome] = counts.get(verdict.outcome, 0) + 1
        slowest = max(slowest, verdict.seconds)
        largest = max(largest, verdict.megabytes)
        if verdict.is_finding or args.number is not None:
            print(
                f"{name} {number} [{case[:300]!r}]: {verdict.outcome}: {verdict.note} "
                f"({verdict.seconds:.1f} s, {verdict.megabytes:.0f} MB)",
                flush=True,
            )
        if verdict.is_finding and args.keep and hasattr(fuzzer, "name"):
            keep(fuzzer.home / "case" / "in", args.keep / f"{name}-{number}")
        if time.monotonic() - told > 60:
            told = time.monotonic()
            left = (told - began) / (done + 1) * (len(numbers) - done - 1) / 60
            print(f"  {name}: {done + 1} of {len(numbers)}, {left:.1f} min left")
    fuzzer.worker.close()
    good, refused = counts.pop("loaded", 0), counts.pop("refused", 0)
    print(
        f"{name:15} {len(numbers):6} {good:6} {refused:8} {sum(counts.values()):6}"
        f" {slowest:6.1f} s {largest:5.0f} MB {time.monotonic() - began:4.0f} s",
        flush=True,
    )
    return sum(counts.values())


def keep(case, target):
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.system(f"cp -a '{case}' '{target}'")


if __name__ == "__main__":
    main()
