"""Kill runs at random moments and at every write; each has to end with the same bits.

python tests/soak.py            a hundred kills of runs, twenty each of a fit, a
                                collection, an experiment; every write dies, or fails
python tests/soak.py --quick    three kills of runs, one of each, every tenth write
python tests/soak.py --only fit --others 5      five kills of fits, nothing else

Prints a line per case, how long the rest will take, and a verdict; the exit code is 0
if all is well. Cases run in forks of a process that has imported everything, but not
yet computed anything.
"""

import argparse
import contextlib
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import sfp
import sfp.training.run
from environments import SMALL, make_prior, maze
from faults import Faults, outcome, scalars, whole  # noqa: F401
from kills import OTHERS, preload
from sfp.compute import keep_compiled
from sfp.errors import SfpError
from sfp.files import _exchange  # noqa: F401

KINDS = {
    "sfp on maze": lambda: dict(env=maze(), method="sfp", prior=make_prior()),
    "sac with terminations": lambda: dict(env="probe/Drift-v0", method="sac"),
    "sac with hindsight": lambda: dict(env="probe/Reach-v0", method="sac"),
}
SETTINGS = SMALL | {"steps": 250}
WRITES = 20
"""A guess at the writes that are hit, until they are counted."""

ALL_WRITES = "sac with terminations"
"""The kind that is hit at all its writes; they are the same for the others."""


def train(kind, out, faults=None, **kwargs):
    """Begin, or go on with, a run; in this process."""
    keep_compiled(Path(tempfile.gettempdir()) / "sfp-soak-xla")
    resume = (out / "config.json").exists()
    with faults() if faults else contextlib.nullcontext():
        sfp.train(**KINDS[kind](), **SETTINGS, out=out, resume=resume, **kwargs)


def fork(job):
    """Start a job in a process of its own; returns its id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        job()
        code = 0
    except SfpError as error:
        print(f"    {error}", file=sys.stderr)
        code = 2
    except BaseException:
        traceback.print_exc()
    os._exit(code)


def finish(child):
    """Its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def must(code, expected, what):
    if code not in expected:
        raise AssertionError(f"{what} ended with code {code}")


def undisturbed(begin, folder):
    """How long it takes if nothing happens."""
    began = time.monotonic()
    must(finish(fork(lambda: begin(folder))), [0], "the undisturbed one")
    return time.monotonic() - began


def killed(begin, folder, rng, seconds, times):
    """Kill -9 at random moments of the whole, then let it end."""
    moments = []
    for _ in range(times):
        child = fork(lambda: begin(folder))
        moments.append(rng.uniform(0.0, seconds))
        time.sleep(moments[-1])
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        must(finish(child), [0, -signal.SIGKILL], "what was to be killed")
    must(finish(fork(lambda: begin(folder))), [0], "what went on")
    return ", ".join(f"{moment:.2f} s" for moment in moments)


def faulty(kind, folder, *, at, dies):
    """A fault at the write of that number, then let the run end."""

    def die():
        os._exit(9)

    faults = Faults(folder, at, die if dies else None)
    # A name that cannot be made durable is no error: such a run ends by itself.
    must(finish(fork(lambda: train(kind, folder, faults))), [0, 2, 9], "a faulty run")
    must(finish(fork(lambda: train(kind, folder))), [0], "the resumed run")


def writes(kind, folder):
    """How many writes there are in a run."""
    read, write = os.pipe()

    def job():
        faults = Faults(folder)
        train(kind, folder, faults)
        os.write(write, str(faults.count).encode())

    must(finish(fork(job)), [0], "the counted run")
    return int(os.read(read, 20))


class Tally:
    """Counts cases, says how each ended and when the last one will."""

    def __init__(self, root, expected):
        self.root, self.expected = root, expected
        self.began, self.cases, self.failed = time.monotonic(), 0, []

    def __call__(self, what, job, result, bits):
        """Do a case in a fresh folder; `result` of it has to be the given bits."""
        self.cases += 1
        folder = self.root / "case"
        try:
            note = job(folder) or ""
            got = result(folder)
            other = [part for part in bits if got.get(part) != bits[part]]
            assert not other, f"{', '.join(other)} differ"
            assert got.keys() == bits.keys(), f"there are {sorted(got)}"
            verdict = "same bits"
        except Exception as error:
            verdict, note = f"FAILED: {error}", ""
            self.failed.append(what)
        shutil.rmtree(folder, ignore_errors=True)
        spent = (time.monotonic() - self.began) / 60
        left = spent / self.cases * max(0, self.expected - self.cases)
        done = f"{self.cases} of {self.expected}, {left:.0f} min left"
        print(f"[{spent:5.1f} min, {done}] {what} {note}: {verdict}", flush=True)


def run_outcome(folder):
    """Of a run, which has to be whole."""
    whole(folder)
    return outcome(folder)


def soak_runs(root, rng, tally, args):
    """Kills, and faults at writes, of runs of three kinds."""
    for number, kind in enumerate(KINDS):
        begin = partial(train, kind)
        undisturbed(begin, root / f"first-{number}")  # compiles
        seconds = undisturbed(begin, root / f"second-{number}")
        bits = run_outcome(root / f"second-{number}")
        for times in split(args.kills // len(KINDS)):
            job = partial(killed, begin, rng=rng, seconds=seconds, times=times)
            tally(f"{kind}: kill -9 at", job, run_outcome, bits)
        count = writes(kind, root / f"counted-{number}")
        every = 1 if kind == ALL_WRITES and not args.quick else 10
        print(f"{kind}: {count} writes, a fault in 1 of {every}", flush=True)
        tally.expected += 2 * len(range(1, count + 1, every)) - WRITES
        for at in range(1, count + 1, every):
            for dies in (True, False):
                job = partial(faulty, kind, at=at, dies=dies)
                how = "dies" if dies else "fails"
                tally(f"{kind}: write {at} {how}", job, run_outcome, bits)


def soak_other(name, root, rng, tally, args):
    """Kills of a fit, a collection or an experiment."""
    begin, result = OTHERS[name]
    undisturbed(begin, root / f"first-{name}")
    seconds = undisturbed(begin, root / f"second-{name}")
    bits = result(root / f"second-{name}")
    for times in split(args.others):
        job = partial(killed, begin, rng=rng, seconds=seconds, times=times)
        tally(f"{name}: kill -9 at", job, result, bits)


def split(kills):
    """One, one, two and three in a row, over and over, until there are enough."""
    found, sizes = [], itertools.cycle((1, 1, 2, 3))
    while sum(found) < kills:
        found.append(min(next(sizes), kills - sum(found)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--kills", type=int, help="of runs")
    parser.add_argument("--others", type=int, help="of each of the others")
    kinds = ("runs", *OTHERS)
    parser.add_argument("--only", nargs="*", choices=kinds, default=kinds)
    args = parser.parse_args()
    preload()
    args.kills = args.kills or (3 if args.quick else 102)
    args.others = args.others or (1 if args.quick else 20)
    rng = random.Random(args.seed)
    print(f"soak with --seed {args.seed}")
    runs = len(KINDS) * (len(split(args.kills // len(KINDS))) + WRITES)
    expected = runs * ("runs" in args.only)
    expected += len(split(args.others)) * len(set(args.only) & set(OTHERS))
    with tempfile.TemporaryDirectory(prefix="sfp-soak-") as name:
        root = Path(name).resolve()
        tally = Tally(root, expected)
        for kind in args.only:
            if kind == "runs":
                soak_runs(root, rng, tally, args)
            else:
                soak_other(kind, root, rng, tally, args)
    good = tally.cases - len(tally.failed)
    print(f"{good} of {tally.cases} cases ended with the same bits.")
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
