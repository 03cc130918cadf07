"""Command lines as a hasty, unlucky or hostile user types them.

`line` draws one; `attempt` runs it and raises unless it ends as promised: code 0, or
one line and code 2 (75 if busy, 130 if interrupted).
"""

import contextlib
import io
import os
import shutil
import signal
import sys

from mutations import NUMBERS, WORDS
from sandbox import patience

PATIENCE = 0.6
"""Share of the time after which a command that still works is interrupted."""

GOOD = (
    "collect room --episodes 2 --steps 4 --seed 1 --name a/b-v0",
    "collect map.txt --episodes 1 --steps 3 --force --json",
    "collect reach --episodes 1 --steps 2 --workers 1 --expert",
    "data data.npz --columns goals --keep 0.5 --uniform 0.1 --seed 3 --out figures",
    "data set --drop-short --json",
    "fit data.npz --out prior2 --epochs 1 --epoch-steps 1 --batch 2 --model gaussian",
    "fit data.npz --out prior3 --epochs 1 --epoch-steps 1 --state --past-actions 2",
    "fit data.npz --out p4 --learning-rate 0.1 --keep 0.9 --uniform 0.5 --threads 1",
    "prior show prior --past 0.1 0.2 --out figures",
    "prior show room --json",
    "explore room --explorer uniform --trajectories 1 --steps 3 --repetitions 1",
    "explore map.txt --prior prior --trajectories 1 --steps 2 --position 0 --seed 9",
    "train room --method sac --steps 40 --warmup 10 --iteration 10 --batch 4 --out r1",
    "train room --prior prior --steps 20 --width 4 --capacity 50 --out r2 --seed 7",
    "train map.txt --method sac-bc --data data.npz --steps 20 --batch 4 --out r3",
    "train room --method sac --out run --resume --threads 1 --eval-every 10",
    "train room --method sac --steps 20 --gamma 0.9 --n-step 2 --hindsight 1 --out r4",
    "evaluate policy --episodes 1 --task room --json",
    "evaluate run --episodes 1 --video a.gif",
    "curves run --out figures",
    "curves run run --json",
    "report results --out report.html --window 3 --interval basic --no-replays",
    "reproduce transfer --dry-run --workers 1 --steps 100 --seeds 0 --tasks maze",
    "reproduce conditioning --dry-run --suite point-maze --methods sfp --set batch=4",
    "reproduce all --dry-run --scale paper --episodes 5 --epochs 1 --repetitions 1",
    "list tasks",
    "list methods --json",
    "doctor",
    "--version",
    "--help",
    "train --help",
)
SAFE = [word for word in WORDS if word not in ("/etc/passwd",)]
"""No path of the machine: a command may write where it is told to."""

PATHS = (
    *("", ".", "..", "nowhere", "nowhere/else", "data.npz", "run", "prior", "pipe"),
    *("policy", "results", "map.txt", "loop", "dangling", "empty", "/dev/null", "~x"),
    *("/dev/full", "/proc/self/nothing", "a/" * 2000, "name with spaces", "é", "-x"),
    *("--", "planted:Env", "planted.inner:Env-v0", "CartPole-v1", "Pendulm-v1", "*"),
)


def line(rng):
    """The words of a command, most of them near to what works."""
    words = rng.choice(GOOD).split()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(words))
        how = rng.randrange(9)
        value = rng.choice(rng.choice((NUMBERS, NUMBERS, SAFE, PATHS)))
        value = value.replace("\0", "")  # no system passes one on
        if how < 4:
            spots = [i for i, word in enumerate(words) if not word.startswith("--")]
            words[rng.choice(spots or [at])] = value
        elif how == 4:
            del words[at]
        elif how == 5:
            words.insert(
                at, rng.choice((value, words[at], "--force", "--jsn", "--out"))
            )
        elif how == 6:
            words[at] = words[at][: len(words[at]) // 2] + words[at][-1:]
        elif how == 7 and words[at].startswith("--"):
            words[at] += f"={value}"
        else:
            words += rng.choice(
                (["--seed", value], ["--out", value], ["--steps", value])
            )
        if not words:
            break
    if words[:1] == ["reproduce"] and "--dry-run" not in words:
        words.append("--dry-run")  # without it an experiment takes hours
    return words


def furnish(home, root):
    """A folder to work in, with something of everything."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    shutil.copy(root / "npz" / "data.npz", home)
    shutil.copy(root / "map" / "plain.txt", home / "map.txt")
    for name in ("prior", "policy", "run"):
        shutil.copytree(root / name / name, home / name)
    shutil.copytree(root / "results", home / "results")
    shutil.copytree(root / "collected" / "set", home / "set")
    os.mkfifo(home / "pipe")
    (home / "loop").symlink_to("loop")
    (home / "dangling").symlink_to("nowhere")
    (home / "empty").mkdir()
    (home / "planted.py").write_text("raise SystemExit('code ran')\n")


def attempt(words, out):
    """Run a command in this process, which ends with it."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(out)
    os.environ["MINARI_DATASETS_PATH"] = str(out / "datasets")
    from sfp.cli import main

    said, told, code = io.StringIO(), io.StringIO(), 0
    said.fileno = told.fileno = lambda: 1
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * patience())
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            main(words)
    except SystemExit as end:
        code = end.code or 0
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout = sys.__stdout__
    lines = [row for row in told.getvalue().splitlines() if row.strip()]
    lines = [row for row in lines if not row.startswith("sfp: warning: ")]
    assert code in (0, 2, 75, 130), f"code {code}: {lines[-1:]}"
    assert "Traceback" not in told.getvalue(), lines[-1]
    if code:
        ours = [row for row in lines if row.startswith("sfp: ")]
        assert len(ours) == 1, f"code {code} with {len(ours)} lines: {lines[-3:]}"
        assert len(ours[0]) > 8, ours[0]
    if code == 2:
        from sfp.errors import SfpError

        raise SfpError(ours[0])
