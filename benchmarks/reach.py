"""What PARROT's warp can reach: the share of the data, and of the action box.

    python benchmarks/reach.py --prior room [--data sfp/room/scripted-v0]

An action is within reach of a context if some u in [-1, 1] leads to it. Pairs are drawn
from the whole data; the box is a 41 x 41 grid (2-D actions) for 200 of their contexts.
Of a flow that sees a goal of the same kind as the state (point-mazes), a third line
says how many of the recorded actions are within reach once their goal is one that the
same episode achieves later: what hindsight would have to relabel.
"""

import argparse

import numpy as np

import sfp
from sfp.priors.realnvp import RealNVP
from sfp.priors.warp import reach

PAIRS, CONTEXTS, GRID = 20_000, 200, 41


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prior", default="room")
    parser.add_argument("--data", default="sfp/room/scripted-v0")
    given = parser.parse_args()
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
    if prior.conditioning.state and data.goals is not None:
        seen = relabelled(data, pairs, rows)
        in_hindsight = reach(prior, pairs.actions[rows], seen)
        print(f"in hindsight  {(in_hindsight <= 1).mean():.3f}")


def relabelled(data, pairs, rows):
    """The contexts of some pairs, their goals achieved later in the same episode."""
    ends = data.ends[pairs.episodes[rows]]
    steps = prior_rows(data, pairs)[rows]
    ahead = np.random.default_rng(1).random(len(rows)) * (ends - 1 - steps)
    later = np.minimum(steps + 1 + ahead.astype(int), ends - 1)
    contexts = pairs.contexts[rows].copy()
    contexts[:, -data.goals.shape[1] :] = data.observations[later]
    return contexts


def prior_rows(data, pairs):
    """Where in the data each pair is: those of an episode are its last ones."""
    counts = np.bincount(pairs.episodes, minlength=len(data))
    each = zip(data.ends, counts, strict=True)
    return np.concatenate([np.arange(end - count, end) for end, count in each])


if __name__ == "__main__":
    main()
