"""How often a mixture of priors meets a goal before learning, by what a toss is for.

    python benchmarks/tosses.py --state priors/room-state --out results/several

A toss decides which of the priors acts, each with the same chance, as in the warm-up of
SFP with several priors: at every step, for ten steps in the mean, or for an episode
(`--commit 1`, `10`, `0`). Every prior continues the actions that were executed. The
table has the share of episodes that meet the goal.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

import sfp
from sfp.cli.console import show
from sfp.exploration.explorers import EXPLORERS, Entry, explore
from sfp.exploration.family import Independent, Seen
from sfp.exploration.prior import PriorExplorer
from sfp.priors.base import Prior, unit_prior
from sfp.priors.noises import noise_prior
from sfp.report.tables import save_csv

TASKS = ("maze", "corridor")
COMMIT = {"step": 1.0, "10 steps": 10.0, "episode": 0.0}
BOX = np.ones(2)
SEED = 100


class Tossed(Independent):
    """Priors of which one acts until the next toss."""

    def __init__(self, priors: list[Prior], commit: float):
        self._all = [(prior, PriorExplorer(prior)) for prior in priors]
        self._often = 1.0 / commit if commit else 0.0

    def begin(self, rng: Generator, seen: Seen, dims: int) -> Any:
        held = tuple(each.begin(rng, seen, dims) for _, each in self._all)
        return held, self._draw(rng, len(seen.position))

    def act(self, memory: Any, seen: Seen, rng: Generator) -> tuple[np.ndarray, Any]:
        held, who = memory
        again = rng.random(len(who)) < self._often
        who = np.where(again, self._draw(rng, len(who)), who)
        made = [
            each.act(history, seen, rng)[0]
            for history, (_, each) in zip(held, self._all, strict=True)
        ]
        action = np.stack(made)[who, np.arange(len(who))]
        executed = action.astype(np.float32)
        pushed = (
            prior.conditioning.push(history, executed)
            for history, (prior, _) in zip(held, self._all, strict=True)
        )
        return action, (tuple(pushed), who)

    def _draw(self, rng: Generator, count: int) -> np.ndarray:
        return rng.integers(len(self._all), size=count)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--state", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--episodes", type=int, default=500)
    given = options.parse_args()
    room = unit_prior(sfp.load_prior("room"))
    beside = {
        "room-state": unit_prior(sfp.load_prior(given.state)),
        "uniform": unit_prior(noise_prior("uniform", -BOX, BOX)),
        "pink": unit_prior(noise_prior("pink", -BOX, BOX)),
    }
    sets: dict[str, tuple[str, str, Tossed]] = {}
    for name, other in beside.items():
        for often, commit in COMMIT.items():
            both = Tossed([room, other], commit)
            sets[f"room, {name}, {often}"] = (f"room, {name}", often, both)
    for name, prior in {"room": room, **beside}.items():
        sets[name] = (name, "", Tossed([prior], 1.0))
    rows = {key: {"priors": who, "a toss per": t} for key, (who, t, _) in sets.items()}
    for name, (*_, explorer) in sets.items():
        EXPLORERS[name] = Entry(explorer, "a mixture")
    for task in TASKS:
        size = {"trajectories": given.episodes, "repetitions": 1, "seed": SEED}
        for done in explore(task, list(sets), **size):
            assert done.success is not None
            rows[done.name][task] = str(round(float(done.success.mean()), 4))
    save_csv(list(rows.values()), given.out / "tosses.csv")
    show(list(rows.values()), json=False, title=f"{given.episodes} episodes")


if __name__ == "__main__":
    main()
