"""Kill runs at random moments and at every write; each has to end with the same bits.

python tests/soak.py            twenty kills, and every write: it dies, and it fails
python tests/soak.py --quick    three kills, every tenth write

Prints a line per case and a verdict; the exit code is 0 if all is well. Cases run in
forks of a process that has imported everything, but not yet computed anything.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import sfp
import sfp.training.run
from environments import SMALL, make_prior, maze
from faults import Faults, outcome, scalars, whole  # noqa: F401
from sfp.compute import keep_compiled
from sfp.errors import SfpError
from sfp.files import _exchange  # noqa: F401

KINDS = {
    "sfp on maze": lambda: dict(env=maze(), method="sfp", prior=make_prior()),
    "sac with terminations": lambda: dict(env="probe/Drift-v0", method="sac"),
    "sac with hindsight": lambda: dict(env="probe/Reach-v0", method="sac"),
}
SETTINGS = SMALL | {"steps": 250}
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


def undisturbed(kind, folder):
    """The outcome to compare with, and how long it took."""
    began = time.monotonic()
    must(finish(fork(lambda: train(kind, folder))), [0], "the undisturbed run")
    return outcome(folder), time.monotonic() - began


def killed(kind, folder, rng, seconds, times):
    """Kill -9 at random moments of the whole run, then let it end."""
    moments = []
    for _ in range(times):
        child = fork(lambda: train(kind, folder))
        moments.append(rng.uniform(0.0, seconds))
        time.sleep(moments[-1])
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        must(finish(child), [0, -signal.SIGKILL], "a run to be killed")
    must(finish(fork(lambda: train(kind, folder))), [0], "the resumed run")
    return ", ".join(f"{moment:.2f} s" for moment in moments)


def faulty(kind, folder, at, *, dies):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    args = parser.parse_args()
    rng, began, cases, failed = random.Random(args.seed), time.monotonic(), 0, []
    print(f"soak with --seed {args.seed}")
    with tempfile.TemporaryDirectory(prefix="sfp-soak-") as name:
        root = Path(name)

        def case(what, job, expected):
            nonlocal cases
            cases += 1
            folder = root / "run"
            try:
                note = job(folder) or ""
                whole(folder)
                got = outcome(folder)
                other = [part for part in expected if got[part] != expected[part]]
                assert not other, f"{', '.join(other)} differ"
                verdict = "same bits"
            except Exception as error:
                verdict, note = f"FAILED: {error}", ""
                failed.append(what)
            shutil.rmtree(folder, ignore_errors=True)
            minutes = (time.monotonic() - began) / 60
            print(f"[{minutes:5.1f} min] {what} {note}: {verdict}", flush=True)

        for number, kind in enumerate(KINDS):
            undisturbed(kind, root / f"first-{number}")  # compiles
            expected, seconds = undisturbed(kind, root / f"second-{number}")
            for times in (1,) if args.quick else (1, 1, 2, 3):  # 21 kills in all
                case(
                    f"{kind}: kill -9 at",
                    lambda f, k=kind, s=seconds, t=times: killed(k, f, rng, s, t),
                    expected,
                )
            count = writes(kind, root / f"counted-{number}")
            every = 1 if kind == ALL_WRITES and not args.quick else 10
            print(f"{kind}: {count} writes, a fault in 1 of {every}", flush=True)
            for at in range(1, count + 1, every):
                for dies in (True, False):
                    case(
                        f"{kind}: write {at} {'dies' if dies else 'fails'}",
                        lambda f, k=kind, a=at, d=dies: faulty(k, f, a, dies=d),
                        expected,
                    )
    print(f"{cases - len(failed)} of {cases} cases ended with the same bits.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
