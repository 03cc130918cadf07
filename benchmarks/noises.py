"""Choose Ornstein-Uhlenbeck's θ and the longest hold of Zeta noise, without learning.

    python benchmarks/noises.py --out results/noises

Every noise acts for 1000 episodes in generated mazes whose seeds are for choosing, in
`room` and in `corridor`. A noise's score is its share of episodes that meet the goal,
divided by the best share of its family, averaged over tasks. The best of each family
then acts in mazes that had no part in the choice, beside others.
"""

import argparse
from pathlib import Path

import sfp
from sfp.cli.console import show
from sfp.envs.generator import CHOOSING, REPORTING
from sfp.exploration.explorers import explore, register_explorer
from sfp.exploration.family import Correlated
from sfp.noise.processes import OrnsteinUhlenbeck, Zeta
from sfp.report.tables import save_csv

THETAS = (0.3, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01)
LONGEST = (16, 32, 64, 128, 250, 500)
FAMILIES = {
    "ou": {f"ou-{theta:g}": OrnsteinUhlenbeck(theta) for theta in THETAS},
    "zeta": {f"zeta-{longest}": Zeta(longest=longest) for longest in LONGEST},
}
ON = ("room", "corridor", *(f"maze:seed={n},size=small" for n in CHOOSING[:6]))
THEN = ("maze", *(f"maze:seed={n},size=small" for n in REPORTING[:6]))
SEED = 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--episodes", type=int, default=1000)
    given = options.parse_args()
    for family in FAMILIES.values():
        for name, noise in family.items():
            register_explorer(name, Correlated(noise), "a candidate")
    names = [name for family in FAMILIES.values() for name in family]
    rows = measure([*names, "pink"], ON, given.episodes)
    best = []
    for family in FAMILIES.values():
        scores = score({name: rows[name] for name in family})
        best.append(max(scores, key=lambda name: scores[name]))
        for name, value in scores.items():
            rows[name]["score"] = round(value, 4)
    chosen = [row | {"score": row.get("score", "")} for row in rows.values()]
    save_csv(chosen, given.out / "chosen.csv")
    show(chosen, json=False, title=f"Chosen: {', '.join(best)}")
    others = ["uniform", "polyrl", "zeta", "ou", "pink"]
    then = list(measure([*others, *best], THEN, given.episodes).values())
    save_csv(then, given.out / "then.csv")
    show(then, json=False, title="On other mazes")


def measure(
    names: list[str], tasks: tuple[str, ...], episodes: int
) -> dict[str, dict[str, object]]:
    """By explorer, the share of episodes that meet the goal of each task."""
    priors = {"prior room": sfp.load_prior("room")}
    rows: dict[str, dict[str, object]] = {n: {"explorer": n} for n in [*names, *priors]}
    for task in tasks:
        options = {"trajectories": episodes, "repetitions": 1, "seed": SEED}
        for done in explore(task, names, priors=priors, **options):
            rows[done.name][task] = round(float(done.success.mean()), 4)
    return rows


def score(family: dict[str, dict[str, object]]) -> dict[str, float]:
    """The mean over tasks of a noise's share by that of the best of its family."""
    best = {t: max(float(str(row[t])) for row in family.values()) for t in ON}
    return {
        name: sum(float(str(row[t])) / best[t] for t in ON if best[t]) / len(ON)
        for name, row in family.items()
    }


if __name__ == "__main__":
    main()
