"""What PARROT's warp can reach: the share of the data, and of the action box.

    python benchmarks/reach.py --prior room [--data sfp/room/scripted-v0]
    python benchmarks/reach.py --hindsight

An action is within reach of a context if some u in [-1, 1] leads to it. Pairs are drawn
from the whole data; the box is a 41 x 41 grid (2-D actions) for 200 of their contexts.
With --hindsight: which actions of the script in `room` a flow that sees state and goal
and fits the script exactly can reach, for the goal that the script had, and for one
that the same episode achieves later, which is what PARROT-state would have to relabel.
"""

import argparse

import numpy as np

import sfp
from sfp.data.scripted import NOISE, SPEED, Scripted
from sfp.envs.maze import MazeBatch
from sfp.envs.suites import EPISODE_STEPS
from sfp.priors.realnvp import RealNVP
from sfp.priors.warp import reach

PAIRS, CONTEXTS, GRID = 20_000, 200, 41
EPISODES, WIDEST = 200, 1.645


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prior", default="room")
    parser.add_argument("--data", default="sfp/room/scripted-v0")
    parser.add_argument("--hindsight", action="store_true")
    given = parser.parse_args()
    if given.hindsight:
        print_hindsight()
        return
    prior = sfp.load_prior(given.prior)
    if not isinstance(prior.model, RealNVP) or prior.dims != 2:
        parser.error("expected a flow over two action dimensions")
    columns = ("observations", "goals") if prior.conditioning.state else ()
    data = sfp.load(given.data, columns=columns)
    pairs = prior.conditioning.pairs(data)
    rows = np.random.default_rng(0).integers(len(pairs.actions), size=PAIRS)
    of_data = reach(prior, pairs.actions[rows], pairs.contexts[rows])
    axis = np.linspace(-1, 1, GRID)
    box = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)
    box = np.asarray(prior.frame.scale.from_unit(box))
    some = pairs.contexts[rows[:CONTEXTS]]
    of_box = reach(prior, np.tile(box, (CONTEXTS, 1)), np.repeat(some, len(box), 0))
    print(f"of the data   {(of_data <= 1).mean():.3f}")
    print(f"of the box    {(of_box <= 1).mean():.3f}")


def print_hindsight():
    """An exact flow's noise is the script's: |noise| below 1.645 σ is within reach."""
    rng, steps = np.random.default_rng(0), np.arange(EPISODE_STEPS)[:, None]
    batch = MazeBatch("room", EPISODES, rng)
    script = Scripted(batch.maze.layout, batch.position, rng)
    positions, actions, goals = [batch.position], [], []
    for _ in range(EPISODE_STEPS):
        actions.append(script.act(batch.position, rng))
        goals.append(script.goal)
        positions.append(batch.step(actions[-1]))
    at, after = np.array(positions[:-1]), np.array(positions)
    ahead = rng.random((EPISODE_STEPS, EPISODES)) * (EPISODE_STEPS - steps)
    achieved = after[steps + 1 + ahead.astype(int), np.arange(EPISODES)]
    for name, goal in (("own goal", np.array(goals)), ("in hindsight", achieved)):
        gap = goal - at
        length = np.maximum(np.linalg.norm(gap, axis=-1, keepdims=True), 1e-9)
        noise = np.array(actions) / SPEED - gap / length
        within = (np.abs(noise) <= WIDEST * NOISE).all(axis=-1)
        print(f"{name:13} {within.mean():.3f}")


if __name__ == "__main__":
    main()
