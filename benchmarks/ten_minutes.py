"""Time from a fresh virtual environment to a policy trained with one's own recordings.

Builds a wheel, then runs the ten lines of examples/ten_minutes.sh one by one in an
empty folder; `pip install` gets the wheel and the pinned versions. Required: ten
minutes in all, and a policy that solves the task.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIRED = 600.0


def build(folder):
    """The wheel, as a release has it."""
    words = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-d",
        str(folder),
        "-t",
        "wheel",
    ]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def lines(wheel):
    """What a user types; the wheel stands for the name on the index."""
    script = (ROOT / "examples" / "ten_minutes.sh").read_text().splitlines()
    pins = f"-c {ROOT / 'constraints.txt'}"
    for line in script:
        if not line.startswith("#"):
            yield line, line.replace("state-free-priors", f"{wheel} {pins}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="an empty folder to work in")
    args = parser.parse_args()
    work = args.keep or Path(tempfile.mkdtemp())
    work.mkdir(exist_ok=True)
    shutil.copy(ROOT / "examples" / "recordings.py", work)
    wheel = build(work / "dist")
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "JAX_COMPILATION_CACHE_DIR")
    env = {k: v for k, v in os.environ.items() if k not in ours}
    env["PATH"] = f"{work / '.venv' / 'bin'}{os.pathsep}{env['PATH']}"
    env["XDG_CACHE_HOME"] = str(work / "cache")  # nothing is compiled yet
    begin = time.perf_counter()
    with (work / "log.txt").open("w") as log:
        for shown, line in lines(wheel):
            since = time.perf_counter()
            done = subprocess.run(
                ["bash", "-c", line], cwd=work, env=env, stdout=log, stderr=log
            )
            if done.returncode:
                sys.exit(f"{shown}\nfailed:\n{(work / 'log.txt').read_text()[-2000:]}")
            print(f"{time.perf_counter() - since:6.1f} s  {shown}", flush=True)
    took = time.perf_counter() - begin
    end = json.loads((work / "run" / "finished.json").read_text())
    print(f"{took:6.1f} s  in all (required: {REQUIRED:.0f}); {end}")
    if not args.keep:
        shutil.rmtree(work)
    if took > REQUIRED or end["solved_at"] is None:
        sys.exit("below what is required")


if __name__ == "__main__":
    main()
