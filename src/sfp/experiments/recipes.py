"""Recipes: values that say how recordings and priors are made, once, for many runs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from sfp.data.collect import EPISODES, WITH_IMAGES
from sfp.data.manipulation import ENDS
from sfp.data.sources import load, minari
from sfp.documents import read_json
from sfp.envs.registry import get_task
from sfp.envs.suites import EPISODE_STEPS, get_suite
from sfp.errors import SfpError
from sfp.experiments.job import Words
from sfp.priors.conditioning import Conditioning
from sfp.priors.fit import settings
from sfp.priors.models import SEEING, get_model
from sfp.priors.store import (
    CONFIG,
    find_prior,
    find_shipped,
    read_card,
    read_fingerprint,
    shipped,
)

EPOCHS = {"reach": 40}
"""Of all fits from a task's recordings, where the prior that ships was not fitted for
as long as the preset says: cells of an experiment differ in what it compares only."""


@dataclass(frozen=True)
class Recording:
    """Trajectories of a script, or of the task's expert, in a local Minari dataset."""

    task: str
    episodes: int = EPISODES
    steps: int = EPISODE_STEPS
    seed: int = 0
    expert: bool = False
    images: bool = False

    @property
    def slug(self) -> str:
        """The task, and what is not the default."""
        count = WITH_IMAGES if self.images else EPISODES
        usual = Recording(self.task, count, expert=self.expert, images=self.images)
        size = f"-{self.episodes}x{self.steps}" if self != usual else ""
        who = f"{'-expert' * self.expert}{'-images' * self.images}"
        return f"{self.task}{who}{size}{f'-d{self.seed}' if self.seed else ''}"

    @property
    def dataset(self) -> str:
        """Its Minari id; the default is that of `sfp collect TASK`."""
        rest = self.slug.removeprefix(self.task)
        named = rest.removeprefix("-") if self.expert else f"scripted{rest}"
        return f"sfp/{self.task}/{named}-v0"

    @property
    def words(self) -> Words:
        sizes = ("--episodes", str(self.episodes), "--steps", str(self.steps))
        named = ("--seed", str(self.seed), "--name", self.dataset)
        who = ("--policy", "expert") if self.expert else ()
        who += ("--images",) if self.images else ()
        return ("collect", self.task, *who, *sizes, *named)

    @property
    def marker(self) -> Path:
        return minari.root() / self.dataset / "data" / "metadata.json"

    @property
    def fingerprint(self) -> str | None:
        """What tells its actions from any other; None before it is recorded."""
        if not self.marker.is_file():
            return None
        return _recorded(self.dataset, self.marker, self.marker.stat().st_mtime_ns)

    def check(self) -> None:
        """Refuse a dataset of that name which is not this recording."""
        try:
            held = read_json(self.marker)
            told = held["description"]
            right = held["total_episodes"] == self.episodes
            right = right and held["total_steps"] <= self.episodes * self.steps
            said = (f" {self.steps} steps", f"(seed {self.seed})")
            ends = self.expert and not get_suite(get_task(self.task).suite).experts
            said += (ENDS,) if ends else ()
            right = right and all(words in told for words in said)
        except (SfpError, KeyError, TypeError):
            right = False
        if not right:
            who = "expert" if self.expert else "scripted policy"
            raise SfpError(
                f"dataset {self.dataset} is not {self.episodes} x {self.steps} steps "
                f"of the {who} with seed {self.seed}: move it away, or make it anew "
                f"with `sfp {' '.join(self.words)} --force`."
            )


@dataclass(frozen=True)
class PriorRecipe:
    """How a prior is fitted.

    `keep` is the share of the trajectories that are used, `uniform` the share of them
    that is replaced by uniform actions. Without `epochs`, a fit has as many as the
    shipped prior had.
    """

    recording: Recording
    model: str = "realnvp"
    past_actions: int = 1
    state: bool = False
    keep: float = 1.0
    uniform: float = 0.0
    epochs: int | None = None
    seed: int = 0
    preset: str = "default"

    @property
    def slug(self) -> str:
        """Where it was learned, the model, what it sees, and what is not the default.

        `room-realnvp-a1` sees one action, `room-parrot-s` the state.
        """
        parts = [self.recording.slug, self.model]
        parts += ["s"] if self.state else []
        parts += [f"a{self.past_actions}"] if self.past_actions else []
        parts += [f"keep{100 * self.keep:g}"] if self.keep != 1.0 else []
        parts += [f"uniform{100 * self.uniform:g}"] if self.uniform else []
        parts += [f"e{self.epochs}"] if self.epochs is not None else []
        parts += [f"f{self.seed}"] if self.seed else []
        parts += [self.preset] if self.preset != "default" else []
        return "-".join(parts)

    @property
    def length(self) -> int:
        usual = settings(self.model, self.preset).epochs
        if self.preset == "default" and not get_model(self.model).usual:
            usual = EPOCHS.get(self.recording.task, usual)
        return usual if self.epochs is None else self.epochs

    @property
    def shipped(self) -> str | None:
        """The name of the prior that comes with sfp and was made so, if there is one.

        The flow that sees one action ships under the name of its training task.
        """
        task = self.recording.task
        is_default = self == PriorRecipe(Recording(task))
        return task if is_default and _ships(task) else None

    def find(self, out: Path) -> str:
        """What `--prior` takes: a shipped prior by its name, which any machine knows.

        Where a folder has the same name, which would go first, it is a path.
        """
        if self.shipped is None:
            return str(self.folder(out))
        path = find_shipped(self.shipped)
        return self.shipped if find_prior(self.shipped) == path else str(path)

    def fingerprint(self, out: Path) -> str | None:
        """What tells it from any other; None before it is fitted."""
        if not self.shipped and not (self.folder(out) / CONFIG).is_file():
            return None
        return _fingerprint(self.find(out))

    def folder(self, out: Path) -> Path:
        """Where it is kept if it does not ship."""
        return out / "priors" / self.slug

    def words(self, out: Path) -> Words:
        words = ["fit", self.recording.dataset, "--out", str(self.folder(out))]
        words += ["--model", self.model, "--past-actions", str(self.past_actions)]
        words += ["--state"] if self.state else []
        words += ["--keep", f"{self.keep:g}"] if self.keep != 1.0 else []
        words += ["--uniform", f"{self.uniform:g}"] if self.uniform else []
        words += ["--preset", self.preset] if self.preset != "default" else []
        if self.length != settings(self.model, self.preset).epochs:
            words += ["--epochs", str(self.length)]
        return (*words, "--seed", str(self.seed))

    def check(self, out: Path) -> None:
        """Refuse a folder of that name which holds another prior."""
        path = self.folder(out) / CONFIG
        try:
            card = read_card(path)
            fit = {"preset": "default"} | card.fit
            held = card.model, card.conditioning, card.data["episodes"]
            held = *held, fit["epochs"], fit["seed"], fit["preset"]
        except (SfpError, KeyError):
            held = ()
        episodes = round(self.keep * self.recording.episodes)
        fitted = self.length, self.seed, self.preset
        if held != (self.model, self.sees, episodes, *fitted):
            raise SfpError(
                f"{path.parent} holds another prior, or a damaged one: expected a "
                f"{self.model} that sees {self.sees}, learned from {episodes} episodes "
                f"in {self.length} epochs with seed {self.seed}. Move it away."
            )

    @property
    def sees(self) -> Conditioning:
        return Conditioning(self.past_actions, self.state, self.model in SEEING)


@functools.cache
def _recorded(dataset: str, marker: Path, written: int) -> str:
    return load(dataset).fingerprint[:16]


@functools.cache
def _fingerprint(name: str) -> str:
    return read_fingerprint(name)


@functools.cache
def _ships(name: str) -> bool:
    return name in shipped()
