"""How long an explorer waits for its first reward, led to rare places or not.

    python benchmarks/first_reward.py --runs 100 --out results/frontier

Every run acts as the warm-up of a method does (`sfp train`), until the first reward or
`--limit` steps; nothing is learned. Run n has the seed `--seed` + n, with and without
a frontier.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import sfp
from sfp.agents.base import Agent
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.cli.console import show
from sfp.config import Mixture, Networks, Schedule
from sfp.envs.adapter import Environment, make_env
from sfp.envs.vector import Alone
from sfp.exploration.family import Correlated, Explorer, Uniform
from sfp.exploration.prior import PriorWarmup
from sfp.noise.processes import Colored, OrnsteinUhlenbeck, Zeta
from sfp.observation import Spec
from sfp.priors.base import unit_prior
from sfp.progress import progress, say_line
from sfp.report.tables import save_csv
from sfp.training.rollout import Rollout

MAZES = tuple(f"maze:seed={seed},size=medium" for seed in range(1000, 1004))
TASKS = ("maze", "corridor", *MAZES)
TINY = Networks(width=1, depth=1)
"""Of networks that have no part in this."""


def agent_of(name: str, prior: str, spec: Spec) -> Agent:
    """Who acts: several priors, a toss per episode for one of them, or an explorer."""
    kind, _, told = name.partition(":")
    if kind == "prior" and "+" in told:
        priors = tuple(unit_prior(sfp.load_prior(each)) for each in told.split("+"))
        mixture = Mixture(commit=0.0, bank=0, mixing_width=1, mixing_depth=1)
        return SFP(spec, priors, networks=TINY, mixture=mixture)
    return SAC(spec, networks=TINY, explorer=explorer(name, prior))


def explorer(name: str, prior: str) -> Explorer:
    """By the name that the table has; a number behind it is the noise's own."""
    kind, _, number = name.partition(":")
    if kind == "prior":
        return PriorWarmup(unit_prior(sfp.load_prior(number or prior)))
    noises: dict[str, Callable[[], Explorer]] = {
        "uniform": Uniform,
        "pink": lambda: Correlated(Colored(float(number or 1), 500)),
        # tuned on mazes (benchmarks/noises.py)
        "ou": lambda: Correlated(OrnsteinUhlenbeck(float(number or 0.05))),
        "zeta": lambda: Correlated(Zeta(longest=int(number or 16))),
    }
    if kind not in noises:
        known = ", ".join(["prior", *noises])
        raise SystemExit(f"there is no explorer {name}: expected one of {known}.")
    return noises[kind]()


def first_reward(
    environment: Environment, agent: Agent, frontier: int, seed: int, limit: int
) -> int | None:
    """The step of the first reward, if there is one."""
    schedule = Schedule(
        steps=limit, warmup=limit, capacity=limit + limit // 10 + 100, frontier=frontier
    )
    replay = agent.replay(schedule, environment)
    key = jax.random.key(seed)
    actor = agent.actor(agent.init(key))
    rollout = Rollout(
        Alone(environment), agent, replay, seed=seed, key=key, schedule=schedule
    )
    while rollout.first_reward is None and rollout.step < limit:
        rollout.explore(actor, schedule.iteration)
    return rollout.first_reward


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for all runs of a kind; those without a reward count as the limit."""
    made = []
    for kind in dict.fromkeys((r["task"], r["explorer"], r["frontier"]) for r in rows):
        own = [r for r in rows if (r["task"], r["explorer"], r["frontier"]) == kind]
        steps = np.array([r["first_reward"] or r["limit"] for r in own])
        met = sum(r["first_reward"] is not None for r in own)
        row = dict(zip(("task", "explorer", "frontier"), kind, strict=True))
        row |= {"runs": len(own), "met": met, "median": int(np.median(steps))}
        row |= {f"p{q}": int(np.percentile(steps, q)) for q in (90, 95)}
        made.append(row)
    return made


def main() -> None:
    options = argparse.ArgumentParser(description="First rewards.")
    options.add_argument("--tasks", nargs="+", default=TASKS)
    names = "prior (or prior:PRIOR, or several: prior:PRIOR+PRIOR), uniform, "
    names += "pink:EXPONENT, ou:THETA, zeta:LONGEST"
    options.add_argument("--explorers", nargs="+", default=["prior"], help=names)
    options.add_argument("--prior", default="room")
    options.add_argument("--frontier", type=int, nargs="+", default=[0, 50])
    options.add_argument("--runs", type=int, default=100)
    options.add_argument("--seed", type=int, default=200, help="of the first run")
    options.add_argument("--limit", type=int, default=20_000)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    rows, kinds = [], len(given.tasks) * len(given.explorers) * len(given.frontier)
    with progress("first rewards", kinds * given.runs) as advance:
        for task in given.tasks:
            environment = Environment(make_env(task), task)
            for name in given.explorers:
                agent = agent_of(name, given.prior, environment.spec)
                for frontier in given.frontier:
                    kind = {"task": task, "explorer": name, "frontier": frontier}
                    for seed in range(given.seed, given.seed + given.runs):
                        at = first_reward(
                            environment, agent, frontier, seed, given.limit
                        )
                        told = {"seed": seed, "first_reward": at, "limit": given.limit}
                        rows.append(kind | told)
                        advance()
                    (row,) = summary(rows[-given.runs :])
                    say_line(", ".join(f"{k} {v}" for k, v in row.items()))
                    if given.out:
                        save_csv(rows, given.out / "first-rewards.csv")
    show(summary(rows), json=False)


if __name__ == "__main__":
    main()
