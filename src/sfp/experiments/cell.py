"""The cells of a grid: values that determine a result; the slug is the folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfp.agents.methods import METHODS
from sfp.config import DEFAULTS, MIXTURE, STANDARD
from sfp.documents import read_json
from sfp.envs.parameters import slug
from sfp.envs.registry import get_task
from sfp.errors import SfpError
from sfp.experiments.job import Words
from sfp.experiments.recipes import PriorRecipe, Recording
from sfp.training.folder import CONFIG
from sfp.training.match import as_another, with_several
from sfp.training.settings import configure

Setting = tuple[str, str | int | float | bool | None]


@dataclass(frozen=True)
class Cell:
    """A training run, before its recordings and its prior are there.

    `settings` holds what is not the default, by name; `beside` has further priors;
    `match` is the method whose defaults it has.
    """

    task: str
    method: str
    seed: int
    steps: int
    prior: PriorRecipe | None = None
    data: Recording | None = None
    settings: tuple[Setting, ...] = ()
    preset: str = "default"
    beside: tuple[PriorRecipe | str, ...] = ()
    match: str = ""

    @property
    def priors(self) -> tuple[PriorRecipe | str, ...]:
        """All of them; a noise is its name."""
        return (self.prior, *self.beside) if self.prior else self.beside

    @property
    def slug(self) -> str:
        """`maze-sfp-room-realnvp-a1-40000-s0`; other settings add a checksum."""
        parts = [slug(self.task), self.method]
        parts += [
            "-and-".join(p if isinstance(p, str) else p.slug for p in self.priors)
        ]
        parts = [part for part in parts if part]
        parts += [self.data.slug] if self.data else []
        parts += [f"as-{self.match}"] if self.match else []
        if self.settings:
            parts.append(_digest(self.settings))
        if self.preset != "default":
            parts.append(f"{self.preset}-preset")
        return "-".join([*parts, str(self.steps), f"s{self.seed}"])

    def folder(self, out: Path) -> Path:
        return out / "runs" / self.slug

    def words(self, out: Path) -> Words:
        words = ["train", self.task, "--method", self.method]
        for one in self.priors:
            words += ["--prior", one if isinstance(one, str) else one.find(out)]
        words += ["--data", self.data.dataset] if self.data else []
        words += ["--seed", str(self.seed), "--steps", str(self.steps)]
        words += ["--preset", self.preset] if self.preset != "default" else []
        words += ["--match", self.match] if self.match else []
        for name, value in self.settings:
            option = f"--{name.replace('_', '-')}"
            flag = value is True and name not in STANDARD  # those take True or False
            words += [option] if flag else [option, str(value)]
        return (*words, "--out", str(self.folder(out)))

    def _asked(self) -> dict[str, Any]:
        """All settings of the run, but those that depend on the suite."""
        method = METHODS[self.method]
        td_value = next((str(v) for k, v in self.settings if k == "td_value"), None)
        method = with_several(method, td_value) if len(self.priors) > 1 else method
        method = as_another(method, self.match) if self.match else method
        by_suite = method.by_suite.get(get_task(self.task).suite, {})
        own = {**STANDARD, **method.defaults, **by_suite}
        flat = _flat({**dict(self.settings), "steps": self.steps})
        filled = {k: own.get(k) if v is None else v for k, v in flat.items()}
        others = set(MIXTURE) - set(method.options)
        return {k: v for k, v in filled.items() if v is not None and k not in others}

    def check(self, out: Path) -> None:
        """Refuse a folder of that name which holds another run."""
        path, held = self.folder(out) / CONFIG, {}
        try:
            held = read_json(path)
            groups = [group for group in held.values() if isinstance(group, dict)]
            flat = {name: value for group in groups for name, value in group.items()}
            asked = {"task": self.task, "method": self.method, "seed": self.seed}
            right = all(held[name] == value for name, value in asked.items())
            right = right and all(
                flat.get(name, STANDARD.get(name, value)) == value
                for name, value in self._asked().items()
            )
        except (SfpError, KeyError):
            right = False
        if not right:
            raise SfpError(
                f"{path.parent} holds another run, or a damaged one: move it away."
            )
        known = str(held.get("prior")).split(" + ")
        recipes = [one for one in self.priors if not isinstance(one, str)]
        for recipe in recipes:
            if recipe.fingerprint(out) not in (None, *known):
                raise SfpError(
                    f"{path.parent} was trained with another prior than "
                    f"{recipe.find(out)} is now: move the run away, or put that back."
                )
        if self.data and self.data.fingerprint not in (None, held.get("data")):
            raise SfpError(
                f"{path.parent} was trained with other recordings than "
                f"{self.data.dataset} are now: move the run away, or put those back."
            )


@dataclass(frozen=True)
class Walk:
    """Rollouts of explorers that do not learn: coverage, gyration, spectra.

    The prior is one more explorer; repetitions of the measurement give its spread.
    """

    task: str
    explorers: tuple[str, ...]
    prior: PriorRecipe | None
    repetitions: int = 10
    trajectories: int = 20
    steps: int = 500
    seed: int = 0

    @property
    def slug(self) -> str:
        """`room-large-uniform-polyrl-room-realnvp-a1-10x20x500-s0`."""
        parts = [slug(self.task), *self.explorers]
        parts += [self.prior.slug] if self.prior else []
        size = f"{self.repetitions}x{self.trajectories}x{self.steps}"
        return "-".join([*parts, size, f"s{self.seed}"])

    def folder(self, out: Path) -> Path:
        return out / "explore" / self.slug

    def file(self, out: Path, ending: str) -> Path:
        """The table or figure of that ending; `.json` says what made them."""
        return self.folder(out) / f"explore-{slug(self.task)}{ending}"

    def words(self, out: Path) -> Words:
        words = ["explore", self.task]
        for explorer in self.explorers:
            words += ["--explorer", explorer]
        words += ["--prior", self.prior.find(out)] if self.prior else []
        for name in ("trajectories", "steps", "repetitions", "seed"):
            words += [f"--{name}", str(getattr(self, name))]
        return (*words, "--out", str(self.folder(out)))

    def check(self, out: Path) -> None:
        """Refuse rollouts of another prior than the one that is there now."""
        if self.prior is None or (now := self.prior.fingerprint(out)) is None:
            return
        path = self.file(out, ".json")
        if not path.exists():  # walks of an earlier version did not tell
            return
        try:
            held = dict(read_json(path)["priors"]).values()
        except (SfpError, KeyError, TypeError, ValueError):
            held = ()
        if now not in held:
            raise SfpError(
                f"{path.parent} holds walks of another prior than "
                f"{self.prior.find(out)} is now: move it away."
            )


def make_settings(given: dict[str, object], steps: int) -> tuple[Setting, ...]:
    """Settings of a run of that many steps, checked; defaults are left out.

    Those that methods have defaults of their own for are kept.
    """
    values = _flat({**given, "steps": steps})
    return tuple(
        (name, values[name])
        for name in sorted(given)
        if name != "steps" and (name in STANDARD or values[name] != DEFAULTS[name])
    )


def _flat(given: dict[str, object]) -> dict[str, Any]:
    return {k: v for group in configure(given) for k, v in vars(group).items()}


def _digest(settings: tuple[Setting, ...]) -> str:
    return "x" + hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:8]
