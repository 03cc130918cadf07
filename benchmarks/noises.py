"""Choose Ornstein-Uhlenbeck's θ and the longest hold of Zeta noise, without learning.

    python benchmarks/noises.py --out results/noises

Every noise acts for 1000 episodes in tasks that no result is reported on (generated
mazes whose seeds are for choosing), in `room` and in `corridor`. A noise's score is its
share of episodes that meet the goal, divided by the best share of its family, averaged
over tasks. Pink noise and the shipped prior stand beside them for comparison.
"""

import argparse
from pathlib import Path

import sfp
from sfp.cli.console import show
from sfp.envs.generator import CHOOSING
from sfp.exploration.explorers import explore, register_explorer
from sfp.exploration.family import Correlated
from sfp.noise.processes import OrnsteinUhlenbeck, Zeta
from sfp.report.tables import save_csv

THETAS = (0.3, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01)
LONGEST = (16, 32, 64, 128, 250, 500)
MAZES = [f"maze:seed={seed},size=small" for seed in CHOOSING[:6]]
TASKS = ("room", "corridor", *MAZES)
SEED = 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--episodes", type=int, default=1000)
    given = options.parse_args()
    families = {
        "ou": {f"ou-{x:g}": OrnsteinUhlenbeck(x) for x in THETAS},
        "zeta": {f"zeta-{n}": Zeta(longest=n) for n in LONGEST},
    }
    for family in families.values():
        for name, noise in family.items():
            register_explorer(name, Correlated(noise), "a candidate")
    names = [name for family in families.values() for name in family]
    rows = {name: {"explorer": name} for name in (*names, "pink", "room")}
    for task in TASKS:
        for done in explore(
            task,
            [*names, "pink"],
            priors={"room": sfp.load_prior("room")},
            trajectories=given.episodes,
            repetitions=1,
            seed=SEED,
        ):
            rows[done.name][task] = round(float(done.success.mean()), 4)
    for family in families.values():
        best = {t: max(float(rows[name][t]) for name in family) for t in TASKS}
        for name in family:
            shares = [float(rows[name][t]) / best[t] for t in TASKS if best[t]]
            rows[name]["score"] = round(sum(shares) / len(shares), 4)
    table = [row | {"score": row.get("score", "")} for row in rows.values()]
    save_csv(table, given.out / "noises.csv")
    show(table, json=False)


if __name__ == "__main__":
    main()
