"""One picture of every task: `python benchmarks/gallery.py docs/images/gallery.png`."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sfp.envs.registry import TASKS

COLUMNS, STEPS = 5, 20


def picture(name: str) -> np.ndarray:
    """After some steps of uniform actions."""
    env = TASKS[name].make(render_mode="rgb_array", width=240, height=240)
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(STEPS):
        env.step(env.action_space.sample())
    seen = env.render()
    env.close()
    return np.asarray(seen)


def main() -> None:
    rows = -(-len(TASKS) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(2 * COLUMNS, 2.2 * rows))
    for axis in axes.flat:
        axis.axis("off")
    for axis, name in zip(axes.flat, TASKS, strict=False):
        axis.imshow(picture(name))
        axis.set_title(name, fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=80)


if __name__ == "__main__":
    main()
