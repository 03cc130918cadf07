"""Evaluation: test episodes with the policy's mean, always with the same seeds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from jaxtyping import UInt8

from sfp.agents.controller import Controller
from sfp.envs.adapter import Environment, Observed, make_env
from sfp.errors import SfpError, reason
from sfp.observation import Obs
from sfp.training.log import Row
from sfp.training.trained import Trained, episode_rng
from sfp.training.video import RATE, Film
from sfp.types import Image

FIRST_SEED = 1_000_000
TEST_SEEDS = range(FIRST_SEED, FIRST_SEED + 10_000)
"""Test episodes have these seeds: training never meets them (`rollout.episode_seed`).
Where a maze has several goals, they take turns: of ten episodes in `room`, two or three
have the same corner."""

LONGEST = 10_000
"""An episode without a time limit of its own is cut off here."""


@dataclass
class Episode:
    """A test episode: what was seen, its return, and whether the goal was reached."""

    observed: list[Observed]
    rewards: list[float]
    success: bool | None

    @property
    def total(self) -> float:
        """The return."""
        return float(sum(self.rewards))


def play(
    environment: Environment,
    controller: Controller,
    seed: int,
    watch: Callable[[Obs], None] = lambda obs: None,
) -> Episode:
    """One episode; `watch` is called with what is seen before every step."""
    observed, rng = environment.reset(seed, test=True), episode_rng(seed)
    episode, memory = Episode([observed], [], None), controller.begin(rng)
    for _ in range(LONGEST):
        watch(observed.obs)
        action, memory = controller.act(memory, observed.obs, rng)
        outcome = environment.step(action)
        observed = outcome.observed
        episode.observed.append(observed)
        episode.rewards.append(outcome.reward)
        if outcome.success is not None:
            episode.success = bool(episode.success) or outcome.success
        if outcome.terminated or outcome.truncated:
            break
    else:
        warnings.warn(
            f"a test episode in {environment.name} was cut off after {LONGEST:,} "
            "steps: give it a time limit (gymnasium.wrappers.TimeLimit).",
            stacklevel=2,
        )
    return episode


def evaluate(
    environment: Environment,
    controller: Controller,
    episodes: int,
    *,
    first_seed: int = FIRST_SEED,
    watch: Callable[[Obs], None] = lambda obs: None,
) -> tuple[Row, list[Episode]]:
    """Test episodes, and the row of `eval.csv` that sums them up.

    An episode succeeds if the goal is reached at some step of it.
    """
    seeds = range(first_seed, first_seed + episodes)
    played = [play(environment, controller, seed, watch) for seed in seeds]
    totals = np.array([episode.total for episode in played])
    told = any(episode.success is not None for episode in played)
    # Some environments speak of success only when there is one.
    successes = [bool(episode.success) for episode in played] if told else []
    row: Row = {
        "eval/mean_reward": float(totals.mean()),
        "eval/std_reward": float(totals.std()),
        "eval/success_rate": float(np.mean(successes)) if successes else None,
        "eval/mean_length": float(np.mean([len(e.rewards) for e in played])),
    }
    return row, played


def evaluate_policy(
    trained: Trained,
    task: str,
    *,
    episodes: int,
    film: Film | None = None,
    imports: bool = False,
    progress: Callable[[], None] = lambda: None,
) -> tuple[Row, list[Episode]]:
    """Test episodes of a trained policy.

    `film` takes pictures, at its own rate where the environment states one; beside what
    the policy does they show the image that it sees, if it sees one. `imports` is for a
    task that the user names: see `make_env`.
    """
    mode = {"render_mode": "rgb_array"} if film else {}
    env = make_env(task, imports=imports, **mode)
    environment = Environment(env, task)
    trained.check(environment)
    every = max(1, round(env.metadata.get("render_fps", RATE) / RATE))

    steps = itertools.count()

    def watch(obs: Obs) -> None:
        if film and next(steps) % every == 0:
            film(_beside(render(env, task), obs.image))
        progress()

    result = evaluate(environment, trained.controller, episodes, watch=watch)
    env.close()
    return result


def _beside(picture: Image, seen: np.ndarray) -> UInt8[np.ndarray, "height wider 3"]:
    """A picture, and to its right the newest image of an observation, as high."""
    if not seen.size:
        return picture
    frame = seen[..., -3:] if seen.shape[2] >= 3 else np.repeat(seen[..., -1:], 3, -1)
    rows = np.arange(len(picture)) * len(frame) // len(picture)
    width = max(1, frame.shape[1] * len(picture) // len(frame))
    columns = np.arange(width) * frame.shape[1] // width
    between = np.full((len(picture), 4, 3), 128, np.uint8)
    return np.concatenate([picture, between, frame[rows][:, columns]], axis=1)


def render(env: gym.Env, task: str) -> Image:
    """A picture of the environment as it is, or one line why there is none."""
    try:
        image = np.asarray(env.render())
    except Exception as error:  # it is not our code: it may raise anything
        raise SfpError(
            f"{task} cannot be rendered ({reason(error)}): install what it needs, or "
            "leave out videos."
        ) from error
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise SfpError(
            f"{task} renders no RGB images (received {image.dtype} of shape "
            f"{image.shape}): leave out videos."
        )
    return image
