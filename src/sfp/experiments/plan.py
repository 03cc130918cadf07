"""A plan: the cells of an experiment on a suite at a scale, numbers overridden."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from sfp.agents.methods import METHODS, OPTIONS
from sfp.data.collect import WITH_IMAGES
from sfp.envs.parameters import Value, base, shows_images, split
from sfp.envs.registry import canonical, get_task
from sfp.envs.suites import DISTURBED, SUITES, Suite, get_suite
from sfp.errors import SfpError, at_least, unknown
from sfp.experiments.cell import Cell, Walk, make_settings
from sfp.experiments.grid import EXPERIMENTS, Experiment
from sfp.experiments.recipes import PriorRecipe, Recording
from sfp.experiments.variants import VARIANTS
from sfp.priors.models import SEEING

Scale: TypeAlias = Literal["paper", "small"]
Preset: TypeAlias = Literal["default", "paper"]
PAPER_SEEDS = 10
EXPERT_SEEDS = 5
"""Of the paper in gym-mujoco."""
COUNTS = ("steps", "episodes", "epochs", "repetitions")


@dataclass(frozen=True)
class Overrides:
    """Numbers to use instead of an experiment's own; by default none.

    `methods` are names of cells, and `all` alone is every one the experiment has.
    `task_steps` goes before `steps`, by task, with its parameters or without. The
    preset `paper` is the paper's protocol of fits and runs, where ours is shorter.
    """

    methods: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    steps: int | None = None
    episodes: int | None = None
    epochs: int | None = None
    repetitions: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: Preset = "default"
    task_steps: Mapping[str, int] = field(default_factory=dict)

    def steps_of(self, task: str, usual: int) -> int:
        """Of a run: what is said of the task, of its base, of all, or the usual."""
        rest = usual if self.steps is None else self.steps
        return self.task_steps.get(task, self.task_steps.get(base(task), rest))

    @property
    def words(self) -> list[str]:
        """The same as options of `sfp reproduce`."""
        words: list[str] = []
        for name in ("methods", "tasks", "seeds", *COUNTS):
            given = getattr(self, name)
            values = given if isinstance(given, tuple) else (given,)
            told = [str(value) for value in values if value is not None]
            if name == "steps":
                told += [f"{task}={steps}" for task, steps in self.task_steps.items()]
            words += [f"--{name}", *told] if told else []
        for name, value in self.settings.items():
            text = value if isinstance(value, str) else json.dumps(value)
            words += ["--set", f"{name}={text}"]
        return words + (["--preset", self.preset] if self.preset != "default" else [])


@dataclass(frozen=True)
class Entry:
    """A cell as an experiment shows it."""

    cell: Cell
    name: str
    label: str


@dataclass(frozen=True)
class Plan:
    """All runs or rollouts of an experiment on a suite at a scale, in order."""

    name: str
    suite: str
    scale: Scale
    entries: tuple[Entry, ...]
    walks: tuple[Walk, ...]
    overrides: Overrides

    @property
    def experiment(self) -> Experiment:
        return EXPERIMENTS[self.name]

    @property
    def training(self) -> str:
        """The task that the recordings are from."""
        return self.experiment.expert or get_suite(self.suite).training[0]

    @property
    def command(self) -> str:
        """The command that repeats it, in any folder."""
        words = ["sfp", "reproduce", self.name, "--suite", self.suite]
        return shlex.join([*words, "--scale", self.scale, *self.overrides.words])


def make_plan(
    name: str,
    suite: str = next(iter(SUITES)),
    scale: Scale = "small",
    overrides: Overrides | None = None,
) -> Plan:
    """The cells of an experiment.

    Seeds are the outer loop and short tasks come first: a grid that is stopped early
    has something of everything.
    """
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, "See `sfp list experiments`.")
    experiment, found = EXPERIMENTS[name], get_suite(suite)
    if not experiment.runs_on(suite):
        able = [one for one in SUITES if experiment.runs_on(one)]
        raise SfpError(
            f"{name} is an experiment on {', '.join(able)}, not on {suite}: add "
            f"--suite {able[0]}."
        )
    given = overrides or Overrides()
    counts = {name: getattr(given, name) for name in COUNTS}
    at_least(1, **{name: n for name, n in counts.items() if n is not None})
    at_least(1, **{f"steps of {task}": n for task, n in given.task_steps.items()})
    at_least(0, **{"a seed": min(given.seeds, default=0)})
    chosen = _chosen(name, given, suite)
    episodes = found.episodes if given.episodes is None else given.episodes

    def recording_for(task: str) -> Recording:
        if found.experts:
            return Recording(task, episodes, expert=True)
        if experiment.expert:
            return Recording(experiment.expert, episodes, expert=True)
        return Recording(found.training_for(task), episodes)

    fitting = {"epochs": given.epochs, "preset": given.preset}
    if experiment.walks:
        prior = PriorRecipe(recording_for(found.training[0]), **fitting)
        walks = _walks(experiment, found, chosen, given, prior)
        return Plan(name, suite, scale, (), walks, given)
    _check_options(chosen, given)
    paper = EXPERT_SEEDS if found.experts else PAPER_SEEDS
    seeds = given.seeds or range(paper if scale == "paper" else experiment.seeds)
    usual_tasks = found.tasks if experiment.expert else found.visited(scale)
    levels = experiment.levels.get(scale, ())
    tasks = _tasks(given.tasks or usual_tasks, found.tasks, levels)
    given = replace(given, task_steps=_by_task(given.task_steps, found.tasks))
    checked = cache(lambda key, steps: make_settings(_settings(key, given), steps))
    entries = []
    for seed in dict.fromkeys(seeds):
        for task in sorted(tasks, key=lambda task: found.steps(base(task), scale)):
            steps = given.steps_of(task, found.steps(base(task), scale))
            recording = recording_for(base(task))
            for key in chosen:
                variant, prior = VARIANTS[key], None
                if key in experiment.undisturbed and is_disturbed(task):
                    continue
                if METHODS[variant.method].sees_images and not shows_images(task):
                    continue
                if variant.prior is not None:
                    sees = variant.prior.get("model") in SEEING
                    own = _with_images(recording, given) if sees else recording
                    prior = PriorRecipe(own, **fitting, **variant.prior)
                data = None
                if variant.data:
                    sees = shows_images(task)
                    data = _with_images(recording, given) if sees else recording
                cell = Cell(
                    task,
                    variant.method,
                    seed,
                    steps,
                    prior=prior,
                    data=data,
                    settings=checked(key, steps),
                    preset=given.preset,
                    beside=tuple(
                        one
                        if isinstance(one, str)
                        else PriorRecipe(recording, **fitting, **one)
                        for one in variant.beside
                    ),
                    match=variant.match,
                )
                entries.append(Entry(cell, key, experiment.cells[key]))
    return Plan(name, suite, scale, tuple(entries), (), given)


def _with_images(recording: Recording, given: Overrides) -> Recording:
    """The recording with images: of fewer episodes, if nothing else is said."""
    episodes = WITH_IMAGES if given.episodes is None else given.episodes
    return replace(recording, images=True, episodes=episodes)


def _chosen(name: str, given: Overrides, suite: str) -> tuple[str, ...]:
    experiment = EXPERIMENTS[name]
    refused = {
        cell: METHODS[VARIANTS[cell].method].refused.get(suite)
        for cell in experiment.cells
        if cell in VARIANTS
    }
    if given.methods == ("all",):
        return tuple(cell for cell in experiment.cells if not refused.get(cell))
    for method in given.methods:
        if refused.get(method):
            raise SfpError(f"{method} is not for {suite}: {refused[method]}.")
        if method not in experiment.cells:
            raise unknown(
                f"cell of {name}", method, experiment.cells, "Or give `all` alone."
            )
    asked = tuple(dict.fromkeys(given.methods))
    return asked or experiment.shown or tuple(experiment.cells)


def _tasks(
    asked: Iterable[str],
    known: tuple[str, ...],
    levels: Sequence[Mapping[str, Value]] = (),
) -> tuple[str, ...]:
    """Their names; a task without parameters is visited at every level."""
    names = []
    for task in asked:
        if base(task) not in known:
            raise unknown("task of this experiment", task, known, "Choose of these.")
        at = levels if task == base(task) else ()
        names += [get_task(task).given(level).name for level in at] or [canonical(task)]
    return tuple(dict.fromkeys(names))


def is_disturbed(task: str) -> bool:
    """Whether its observations are biased or its actions inverted."""
    return bool(split(task)[1].keys() & DISTURBED.keys())


def _by_task(steps: Mapping[str, int], known: tuple[str, ...]) -> dict[str, int]:
    _tasks(steps, known)
    return {canonical(task): count for task, count in steps.items()}


def _settings(key: str, given: Overrides) -> dict[str, Any]:
    """Those of the variant, and those that are asked for, as far as it has them."""
    own, method = VARIANTS[key].settings, METHODS[VARIANTS[key].method]
    for name in own.keys() & given.settings.keys():
        raise SfpError(
            f"{name} of the cell {key} is {own[name]}: leave out --set {name}, or the "
            "cell."
        )
    foreign = OPTIONS - set(method.options)
    return {**own, **{k: v for k, v in given.settings.items() if k not in foreign}}


def _check_options(chosen: Iterable[str], given: Overrides) -> None:
    """Refuse an option that none of the cells has; those that have it take it."""
    had = {name for key in chosen for name in METHODS[VARIANTS[key].method].options}
    for name in sorted(given.settings.keys() & OPTIONS - had):
        raise SfpError(f"none of the cells has {name}: leave out --set {name}.")


def _walks(
    experiment: Experiment,
    suite: Suite,
    chosen: tuple[str, ...],
    given: Overrides,
    prior: PriorRecipe,
) -> tuple[Walk, ...]:
    explorers = tuple(name for name in chosen if name != "sfp")
    if not explorers:
        raise SfpError("expected an explorer beside sfp: add uniform, for one.")
    usual = suite.coverage if experiment.walks == "coverage" else suite.training[0]
    known = (usual, *(task for task in suite.tasks if task != usual))
    made = Walk(
        task=usual,
        explorers=explorers,
        prior=prior if "sfp" in chosen else None,
        seed=given.seeds[0] if given.seeds else 0,
    )
    if given.repetitions is not None:
        made = replace(made, repetitions=given.repetitions)
    tasks = _tasks(given.tasks, known) or (usual,)
    return tuple(replace(made, task=task) for task in tasks)
