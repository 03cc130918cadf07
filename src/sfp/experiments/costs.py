"""What jobs cost: seconds of one core, estimated from speeds that were measured."""

from __future__ import annotations

from sfp.envs.parameters import shows_images
from sfp.envs.registry import get_task
from sfp.envs.suites import SUITES
from sfp.experiments.cell import Cell, Walk
from sfp.experiments.recipes import PriorRecipe, Recording
from sfp.priors.fit import settings

START = 10.0
"""Seconds until a process computes: imports and compiled programs."""

TRAINING = 300.0
"""Steps per second of a run, tests included."""

IMAGES, DRAWING = 30.0, 90.0
"""Of a run on images, and of a recording with them."""

GRADIENT = {"realnvp": 100.0, "parrot": 100.0, "vae": 500.0, "mixture": 100.0}
GRADIENT |= {"skills": 50.0, "skills-open": 50.0, "parrot-image": 10.0}
"""Gradient steps per second of a fit; a thousand for all others."""

ASSUMED = (
    f"one core at {TRAINING:.0f} steps/s of training and {GRADIENT['realnvp']:.0f} "
    "gradient steps/s of a flow's fit"
)


def train(cell: Cell) -> float:
    speed = IMAGES if shows_images(cell.task) else TRAINING
    return START + cell.steps / speed


def epochs(recipe: PriorRecipe) -> int:
    return 1 if recipe.model == "lscde" else recipe.length


def fit(recipe: PriorRecipe) -> float:
    """Seconds of a fit that does not stop early."""
    fitting = settings(recipe.model, recipe.preset)
    whole = recipe.recording.episodes * recipe.recording.steps / fitting.batch
    steps = epochs(recipe) * (fitting.epoch_steps or whole)
    return START + steps / GRADIENT.get(recipe.model, 1000.0)


def record(recording: Recording) -> float:
    speed = SUITES[get_task(recording.task).suite].recorded
    speed = min(speed, DRAWING) if recording.images else speed
    return START + recording.episodes * recording.steps / speed


def explore(walk: Walk) -> float:
    explorers = len(walk.explorers) + (walk.prior is not None)
    steps = explorers * walk.repetitions * walk.trajectories * walk.steps
    return START + steps / SUITES[get_task(walk.task).suite].explored
