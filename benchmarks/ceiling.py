"""How well could any prior predict the scripted room data? A Monte Carlo ceiling per k.

The best possible held-out log-likelihood of a_t given a_{t-k} ... a_{t-1} is minus the
conditional entropy of the generating process (position, goal and its age are hidden).
A particle filter estimates it: particles start from the process's own distribution of
hidden states, are weighted by each past action and moved by it, and predict the next.

    python benchmarks/ceiling.py [--windows 1000] [--particles 20000] [--priors DIR]

With --priors, the folders DIR/room-k0, room-k1 ... are asked about the same windows;
the gap between the two has a far smaller error than either.
"""

import argparse
from pathlib import Path

import numpy as np

from sfp.data.scripted import NOISE, PATIENCE, REACHED, SPEED, Scripted
from sfp.envs.maze import MazeBatch
from sfp.envs.motion import Motion
from sfp.envs.wayfinder import Wayfinder

SIGMA = SPEED * NOISE
CONE = 6 * NOISE
"""Hidden states whose heading is further from the first action do not matter."""

COPIES = 20


def simulate(episodes, steps, rng):
    """Hidden states before each action, and the actions."""
    batch = MazeBatch("room", episodes, rng)
    script = Scripted(batch.maze.layout, batch.position, rng)
    states, actions = [], []
    for _ in range(steps):
        position = batch.position
        action = script.act(position, rng)
        states.append(np.column_stack([position, script.goal, script._age]))
        actions.append(action)
        batch.step(action)
    return np.stack(states, 1), np.stack(actions, 1)


def log_density(states, action):
    """Log N(action; SPEED * unit vector to the goal, SIGMA²) of every particle."""
    gap = states[:, 2:4] - states[:, :2]
    unit = gap / np.linalg.norm(gap, axis=1, keepdims=True)
    z = (action - SPEED * unit) / SIGMA
    return -0.5 * (z * z).sum(axis=1) - np.log(2 * np.pi * SIGMA**2)


def advance(states, action, tools, rng):
    """Move the particles by an action that was really taken; draw goals as due.

    A particle that is due for a new goal becomes `COPIES` particles with a share of its
    weight each, because only a few of many goals explain the next action.
    """
    motion, way = tools
    states = states.copy()
    move = np.broadcast_to(action, (len(states), 2))
    states[:, :2] = motion(states[:, :2], move, rng)
    gap = states[:, 2:4] - states[:, :2]
    due = ((gap * gap).sum(axis=1) <= REACHED**2) | (states[:, 4] >= PATIENCE)
    fresh = np.repeat(states[due], COPIES, axis=0)
    fresh[:, 2:4] = way.draw_goal(len(fresh), rng)
    fresh[:, 4] = 0
    states = np.concatenate([states[~due], fresh])
    states[:, 4] += 1
    log_share = np.zeros(len(states))
    log_share[len(states) - len(fresh) :] = -np.log(COPIES)
    return states, log_share


def predictive(window, library, headings, *, particles, tools, rng):
    """Log p(last action of the window | the ones before)."""
    if len(window) == 1:
        states = library[rng.integers(len(library), size=particles)]
        return _log_sum(log_density(states, window[0])) - np.log(particles)
    angle = np.arctan2(window[0][1], window[0][0])
    first, last = np.searchsorted(headings, [angle - CONE, angle + CONE])
    states = library[rng.integers(first, last, size=particles)]
    log_share = np.zeros(particles)
    for action in window[:-1]:
        weight = log_density(states, action) + log_share
        weight = np.exp(weight - weight.max())
        grid = (rng.random() + np.arange(particles)) / particles
        chosen = np.searchsorted(np.cumsum(weight / weight.sum()), grid)
        states = states[np.minimum(chosen, len(states) - 1)]
        states, log_share = advance(states, action, tools, rng)
    return _log_sum(log_density(states, window[-1]) + log_share) - np.log(particles)


def _log_sum(log_values):
    top = log_values.max()
    return top + np.log(np.exp(log_values - top).sum())


def prior_log_prob(folder, windows):
    """What a fitted prior says about the same windows."""
    import jax

    from sfp.priors.store import load_prior

    prior = load_prior(folder)
    contexts = windows[:, :-1].reshape(len(windows), -1).astype(np.float32)
    last = windows[:, -1].astype(np.float32)
    return np.asarray(jax.jit(jax.vmap(prior.log_prob))(last, contexts), np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=1000)
    parser.add_argument("--particles", type=int, default=20_000)
    parser.add_argument("--past-actions", type=int, nargs="+", default=[0, 1, 2, 5, 10])
    parser.add_argument("--priors", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    hidden, _ = simulate(4000, 500, rng)
    library = hidden.reshape(-1, 5)
    gap = library[:, 2:4] - library[:, :2]
    headings = np.arctan2(gap[:, 1], gap[:, 0])
    order = np.argsort(headings)
    # Three turns, so that a cone around ±π is one stretch.
    headings = headings[order] + 2 * np.pi * np.array([[-1], [0], [1]])
    library = np.tile(library[order], (3, 1))
    headings = headings.ravel()
    layout = MazeBatch("room", 1, rng).maze.layout
    tools = Motion(layout), Wayfinder(layout)
    _, actions = simulate(400, 500, np.random.default_rng(1))
    print("k,ceiling,error,prior,gap,gap_error")
    for k in options.past_actions:
        windows, values = [], []
        while len(values) < options.windows:
            start = rng.integers(actions.shape[1] - k)
            window = actions[rng.integers(len(actions)), start : start + k + 1]
            if np.abs(window).max() >= 1:  # clipped: 0.3 % of the actions
                continue
            windows.append(window)
            values.append(
                predictive(
                    window,
                    library,
                    headings,
                    particles=options.particles,
                    tools=tools,
                    rng=rng,
                )
            )
        values = np.array(values)
        line = [f"{k}", *_mean_and_error(values)]
        if options.priors:
            said = prior_log_prob(options.priors / f"room-k{k}", np.array(windows))
            line += [f"{said.mean():.3f}", *_mean_and_error(values - said)]
        print(",".join(line), flush=True)


def _mean_and_error(values):
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.3f}", f"{error:.3f}"


if __name__ == "__main__":
    main()
