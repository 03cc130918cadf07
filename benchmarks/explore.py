"""What makes a prior explore? Goals met without learning, beside what might predict it.

    python benchmarks/explore.py OUT.csv --data DATASET --prior PRIOR ... --task TASK

Every prior rolls out at every temperature in every task: likelihood on the dataset's
held-out trajectories, coverage, gyration and the share of episodes that meet the goal,
beside statistics of its actions alone. A row that OUT.csv has already is not made anew.
With --rank it prints the rank correlation of every statistic with the goals met.
"""

import argparse
import csv
import time
from pathlib import Path

from sfp.compute import keep_compiled, use_threads

use_threads(1)

import jax
import numpy as np
from scipy.stats import spearmanr

from sfp.data.sources import load
from sfp.exploration.explorers import explore
from sfp.exploration.metrics import low_power, persistence, run_length
from sfp.priors.fit import Fitter, Fitting
from sfp.priors.rollout import rollout
from sfp.priors.store import open_prior
from sfp.report.tables import save_csv

STATISTICS = {
    "run_length": run_length,
    "low_power": low_power,
    **{
        f"persistence_{n}": lambda actions, n=n: persistence(actions, window=n)
        for n in (10, 20, 50, 100, 500)
    },
}
RANKED = ["held_out", *STATISTICS]


def read(path):
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def measure(args):
    rows, fitters = read(args.out), {}
    done = {(row["prior"], row["temperature"], row["task"]) for row in rows}
    data = load(args.data, columns=("actions",))
    for name in args.prior:
        prior, card = open_prior(name)
        short = Path(name).name
        for temperature in args.temperature:
            missing = [t for t in args.task if (short, str(temperature), t) not in done]
            if not missing or (temperature != 1 and not hasattr(prior.model, "temper")):
                continue
            changed = prior if temperature == 1 else prior.tempered(temperature)
            k = card.past_actions
            if k not in fitters:
                fitters[k] = Fitter(
                    data,
                    conditioning=card.conditioning,
                    model=card.model,
                    fitting=Fitting(epochs=1),
                )
            is_density = card.model != "deterministic"
            held = fitters[k].score(changed.model) if is_density else None
            actions = np.asarray(
                rollout(changed, jax.random.key(0), count=200, steps=500), np.float64
            )
            found = {key: one(actions) for key, one in STATISTICS.items()}
            for task in missing:
                began = time.perf_counter()
                (walk,) = explore(
                    task,
                    [],
                    priors={"prior": changed},
                    trajectories=args.episodes // args.repetitions,
                    repetitions=args.repetitions,
                )
                row = walk.row()
                rows.append(
                    {
                        "prior": short,
                        "model": card.model,
                        "past_actions": k,
                        "temperature": temperature,
                        "held_out": "" if held is None else held,
                        **found,
                        "task": task,
                        "episodes": args.episodes,
                        "goals_met": row["success"],
                        "coverage": row["coverage"],
                        "gyration": row["gyration"],
                    }
                )
                save_csv(rows, args.out)
                took = time.perf_counter() - began
                print(
                    f"{short} T={temperature} {task}: {row['success']} ({took:.0f} s)"
                )


def rank(path):
    rows = read(path)
    for task in dict.fromkeys(row["task"] for row in rows):
        of_task = [row for row in rows if row["task"] == task]
        met = [float(row["goals_met"]) for row in of_task]
        told = []
        for name in (*RANKED, "coverage", "gyration"):
            pairs = [
                (float(row[name]), y)
                for row, y in zip(of_task, met, strict=True)
                if row[name]
            ]
            told.append(f"{name} {spearmanr(*zip(*pairs, strict=True)).statistic:+.2f}")
        print(f"{task} ({len(of_task)} priors): {', '.join(told)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--prior", nargs="+", default=[])
    parser.add_argument("--task", nargs="+", default=["room", "corridor", "maze"])
    parser.add_argument("--temperature", nargs="+", type=float, default=[1.0])
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--rank", action="store_true")
    args = parser.parse_args()
    keep_compiled()
    if args.prior:
        measure(args)
    if args.rank:
        rank(args.out)


if __name__ == "__main__":
    main()
