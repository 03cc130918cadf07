"""How well the encoder of a run on a point-maze locates agent and goal, in cells.

    python benchmarks/locate.py RUN

Linear regression from the encoder's features to positions, on images of agents and
goals anywhere in the maze: median errors on a fifth of them that was held out, and
beside them those of the same encoder before training.
"""

import sys

import jax
import numpy as np

import sfp
from sfp.envs.maze import PIXELS
from sfp.envs.picture import AGENT, GOAL, Canvas
from sfp.envs.registry import get_task
from sfp.nets.encoder import make_encoder
from sfp.observation import Obs

IMAGES, HELD = 4000, 800


def shown(layout, rng):
    """Images, and where the agent and the goal are."""
    eye = Canvas(layout, PIXELS, PIXELS, keep_aspect=False)
    free = np.argwhere(layout.free) + np.array(layout.origin)
    cells = free[rng.integers(len(free), size=(IMAGES, 2))]
    places = cells + rng.uniform(-0.5, 0.5, cells.shape)
    images = np.repeat(eye.blank[None], IMAGES, axis=0)
    for image, (agent, goal) in zip(images, places, strict=True):
        eye.square(image, goal, GOAL)
        eye.square(image, agent, AGENT)
    return images, places.reshape(IMAGES, 4)


def features(encoder, images):
    none = np.zeros((200, 0), np.float32)
    parts = np.split(images, IMAGES // 200)
    made = [encoder(Obs(none, none, part)) for part in parts]
    return np.concatenate([*made]).astype(np.float64)


def errors(seen, places):
    """Median distances in cells of what a linear map makes of the features."""
    seen = np.concatenate([seen, np.ones((IMAGES, 1))], axis=1)
    known, judged = slice(HELD, None), slice(0, HELD)
    square = seen[known].T @ seen[known] + 1e-3 * np.eye(seen.shape[1])
    weights = np.linalg.solve(square, seen[known].T @ places[known])
    gap = (seen[judged] @ weights - places[judged]).reshape(HELD, 2, 2)
    return np.median(np.linalg.norm(gap, axis=-1), axis=0)


def main():
    policy = sfp.Trained.load(sys.argv[1])
    images, places = shown(get_task(policy.spec.task).layout, np.random.default_rng(0))
    key = jax.random.key(0)
    fresh, _ = make_encoder(policy.spec.sizes, policy.spec.encoder, key=key)
    encoders = {"before": jax.tree.map(np.asarray, fresh)}
    encoders["after"] = policy.controller.encoder
    for when, encoder in encoders.items():
        agent, goal = errors(features(encoder, images), places)
        print(f"{when} training: agent {agent:.2f} cells, goal {goal:.2f} cells")


if __name__ == "__main__":
    main()
