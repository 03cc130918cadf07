"""Results folders to read: runs and experiments, made in a moment."""

import base64
import json
from pathlib import Path

import jax
import numpy as np

from sfp.agents.controller import Greedy
from sfp.config import Networks
from sfp.envs.adapter import Environment, make_env
from sfp.files import digest, write_sums
from sfp.nets.encoder import Flat
from sfp.nets.policy import Policy
from sfp.training.log import Log
from sfp.training.trained import Trained, make_spec

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
NASTY = '<img src=x onerror="alert(1)">&</script>'


def make_run(
    folder: Path,
    *,
    task: str = "maze",
    method: str = "sfp",
    seed: int = 0,
    steps: int = 800,
    every: int = 100,
    level: float = 100.0,
    solves_at: int | None = 300,
    finished: bool = True,
    first_reward: int | None = None,
    policy: bool = False,
    **settings: object,
) -> Path:
    """A run whose return jumps to its level, plus its seed, when it solves the task."""
    folder.mkdir(parents=True)
    schedule = {"schedule": {"steps": steps, "eval_every": every}, "mixture": settings}
    config = {"task": task, "method": method, "seed": seed, **schedule}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "versions.json").write_text(json.dumps({"sfp": "0.1.0", "jax": "0.10.2"}))
    log = Log(folder)
    log.open(0)
    for step in range(every, steps + 1, every):
        solved = solves_at is not None and step >= solves_at
        mixing = (0.05 if solved else 0.95) + 0.001 * seed
        log.write("train", step, {"mixing/mean": mixing} if method == "sfp" else {})
        value = level + seed if solved else 0.0
        row = {"eval/mean_reward": value, "eval/success_rate": float(solved)}
        log.write("eval", step, row)
    log.close()
    if policy:
        save_policy(folder, task)
    if finished:
        end = {"step": steps, "solved_at": solves_at, "exact": True}
        end |= {} if first_reward is None else {"first_reward": first_reward}
        (folder / "finished.json").write_text(json.dumps(end))
    sign(folder)
    return folder


def sign(folder: Path) -> None:
    """Write the digests of a run's files as they are now."""
    files = [path for path in folder.iterdir() if path.suffix in (".json", ".csv")]
    write_sums(folder, {path.name: digest(path.read_bytes()) for path in files})


def make_grid(root: Path, seeds: int = 3, *, policies: bool = False) -> Path:
    """SFP, which solves two tasks, and SAC, which solves one."""
    for seed in range(seeds):
        for task in ("maze", "corridor"):
            for method, level in (("sfp", 100.0), ("sac", 60.0)):
                hard = (task, method) == ("maze", "sac")
                make_run(
                    root / "runs" / f"{task}-{method}-s{seed}",
                    task=task,
                    method=method,
                    seed=seed,
                    level=level,
                    solves_at=None if hard else 300,
                    policy=policies and seed == 0,
                )
    return root


def make_experiment(root: Path, place: str = "transfer", **changes: object) -> Path:
    """An experiment over all runs of a folder, or over those that are given."""
    cells = []
    folders = [] if "cells" in changes else sorted((root / "runs").iterdir())
    for folder in folders:
        task, method, seed = folder.name.split("-")
        label = {"folder": f"runs/{folder.name}", "label": method.upper()}
        about = {"kind": "train", "task": task, "seed": int(seed[1:]), "group": method}
        cells.append(label | about)
    held = {
        "format": 1,
        "name": place,
        "title": "Transfer to <unseen> tasks",
        "claim": "SFP is better suited for accelerating RL in unseen tasks.",
        "suite": "point-maze",
        "scale": "small",
        "command": "sfp reproduce transfer",
        "cells": cells,
        "tables": [],
        "figures": [],
    }
    path = root / place / "experiment.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(held | changes))
    return path


def save_policy(folder: Path, task: str) -> None:
    """An untrained policy: it walks, if nowhere in particular."""
    environment = Environment(make_env(task), task)
    size = environment.spec.inputs
    key = jax.random.key_data(jax.random.key(0))
    policy = Policy(size, environment.spec.action, width=8, depth=1, key=key)
    policy = jax.tree.map(np.asarray, policy)
    spec = make_spec(environment, "sfp", Networks(width=8, depth=1))
    Trained(Greedy(Flat(), policy), spec).save(folder / "policy")


def make_everything(root: Path) -> Path:
    """An experiment with attachments, and runs that are damaged, going on or nasty."""
    make_grid(root, policies=True)
    make_experiment(
        root,
        claim=NASTY,
        tables=[{"path": "explore/room.csv", "title": "Coverage"}],
        figures=[{"path": "explore/room.png", "title": "Walks"}],
    )
    (root / "explore").mkdir()
    rows = ("explorer,coverage", "uniform,0.39", "<script>alert(1)</script>,0.97")
    (root / "explore" / "room.csv").write_text("\n".join(rows) + "\n")
    (root / "explore" / "room.png").write_bytes(PIXEL)
    make_run(root / "runs" / "zz-one", task=NASTY, method=NASTY, solves_at=None)
    make_run(root / "runs" / "zz-two", task="room", method="pink", finished=False)
    for seed in range(2):
        diverged = make_run(root / "runs" / f"zz-nan{seed}", task="room", seed=seed)
        path = diverged / "eval.csv"
        path.write_text(path.read_text().replace(f"800,{100 + seed},", "800,nan,"))
        sign(diverged)
    three = make_run(root / "runs" / "zz-three", method="sac")
    (three / "versions.json").write_text(json.dumps({"sfp": NASTY}))
    sign(three)
    broken = make_run(root / "runs" / NASTY.replace("/", ""))
    (broken / "config.json").write_text("{")
    return root
