"""Seconds of one core until a task is solved, start-up and compilation included.

CPU time, user and system, as the kernel counts it for the process (Linux).

    python benchmarks/to_solved.py --seeds 3 --out results/to-solved
                                    (needs the extra: pip install -e '.[bench]')

Every run is a process of its own on one core, with an empty cache of compiled programs:
`sfp-quick` and the paper's `sfp` with the shipped prior, and the SAC of
Stable-Baselines3 and SBX with hindsight (their defaults, four relabelled goals for each
true one). All are tested by two episodes every 1,000 steps; a task is solved at the
first of two tests in a row that succeed in every episode. Whoever has not solved it
after `--limit` seconds of CPU time is stopped, and the table says at which step.
"""

import argparse
import csv
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OURS = ("sfp-quick", "sfp")
PEERS = ("sb3", "sbx")
EVERY, EPISODES, STEPS = 1000, 2, 60_000
COLUMNS = ("task", "learner", "seed", "solved_at", "seconds", "steps")


def peer(name, task, seed, table):
    """Train the SAC of another library, one row of `table` per test."""
    import gymnasium as gym
    import sbx
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.vec_env import DummyVecEnv

    from sfp.envs.registry import get_task

    torch.set_num_threads(1)
    named = get_task(task).env_id
    tested = gym.make(named)
    model = {"sb3": sb3, "sbx": sbx}[name].SAC(
        "MultiInputPolicy",
        DummyVecEnv([lambda: gym.make(named)]),
        replay_buffer_class=sb3.HerReplayBuffer,
        learning_starts=1000,
        seed=seed,
        **({"device": "cpu"} if name == "sb3" else {}),
    )
    for step in range(EVERY, STEPS + 1, EVERY):
        model.learn(EVERY, reset_num_timesteps=False)
        succeeded = 0
        for episode in range(EPISODES):
            obs, _ = tested.reset(seed=10_000 + episode)
            over = success = False
            while not over:
                action, _ = model.predict(obs, deterministic=True)
                obs, _, terminated, truncated, info = tested.step(action)
                success = success or bool(info["is_success"])
                over = terminated or truncated
            succeeded += success
        with table.open("a") as file:
            file.write(f"{step},{succeeded / EPISODES}\n")


def process(learner, task, seed, folder):
    """The words of a run, and its table of tests."""
    if learner in PEERS:
        table = folder / "tests.csv"
        table.write_text("step,eval/success_rate\n")
        words = [sys.executable, __file__, "--peer", learner, "--table", str(table)]
        return [*words, "--tasks", task, "--seed", str(seed)], table
    words = [sys.executable, "-m", "sfp", "train", task, "--method", learner]
    words += ["--prior", "room", "--seed", str(seed), "--steps", str(STEPS)]
    words += ["--eval-every", str(EVERY), "--eval-episodes", str(EPISODES)]
    words += ["--until-solved", "--threads", "1", "--out", str(folder / "run")]
    return words, folder / "run" / "eval.csv"


def tests(table):
    """Steps and success rates that stand in it so far."""
    if not table.exists():
        return []
    with table.open() as file:
        rows = list(csv.DictReader(file))
    return [(int(r["step"]), float(r["eval/success_rate"])) for r in rows]


def spent(pid):
    """CPU seconds of a process so far, of all its threads."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def measure(learner, task, seed, limit, core):
    """When and after how many steps this run had solved its task."""
    with tempfile.TemporaryDirectory() as folder:
        words, table = process(learner, task, seed, Path(folder))
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        one |= {"MKL_NUM_THREADS": "1", "XDG_CACHE_HOME": folder}
        run = subprocess.Popen(
            words,
            env=os.environ | one,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        seen, solved, now = {}, None, 0.0
        while solved is None and now < limit:
            over = run.poll() is not None
            now = now if over else spent(run.pid)
            for step, rate in tests(table):
                seen.setdefault(step, (rate, now))
            rows = sorted(seen.items())
            for (first, (a, when)), (_, (b, _)) in itertools.pairwise(rows):
                if a == b == 1.0:
                    solved = first, when
                    break
            if over:
                break
            time.sleep(0.1)
        if run.poll() is None:
            run.send_signal(signal.SIGTERM)
        run.wait()
        if run.returncode > 0 and solved is None:
            sys.exit(f"{learner} failed: {' '.join(words)}")
        last = max(seen, default=0)
        at, seconds = solved if solved else (None, None)
        row = (task, learner, seed, at, seconds and round(seconds, 1), last)
        return dict(zip(COLUMNS, row, strict=True))


def median(rows):
    """Of the seconds; a run that did not solve its task counts as later than all."""
    return float(np.median([r["seconds"] or np.inf for r in rows]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=["maze", "corridor"])
    parser.add_argument("--learners", nargs="+", default=[*OURS, *PEERS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=30, help="the first one")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a run")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="a folder for to-solved.csv")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        peer(given.peer, given.tasks[0], given.seed, given.table)
        return
    rows = []
    for seed in range(given.seed, given.seed + given.seeds):
        for task in given.tasks:
            for learner in given.learners:  # in turns: all meet the same weather
                rows.append(measure(learner, task, seed, given.limit, given.core))
                print(", ".join(f"{k} {v}" for k, v in rows[-1].items()), flush=True)
                if given.out:
                    given.out.mkdir(parents=True, exist_ok=True)
                    with (given.out / "to-solved.csv").open("w", newline="") as file:
                        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                        table.writeheader()
                        table.writerows(rows)
    for task in given.tasks:
        for learner in given.learners:
            own = [r for r in rows if (r["task"], r["learner"]) == (task, learner)]
            solved = sum(r["solved_at"] is not None for r in own)
            print(
                f"{task:10} {learner:10} {solved} of {len(own)} solved, "
                f"median {median(own):.0f} s"
            )


if __name__ == "__main__":
    main()
