"""Jobs: plans as commands, each once, in an order in which they can run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sfp.experiments import costs
from sfp.experiments.cell import Cell, Walk
from sfp.experiments.job import Job
from sfp.experiments.plan import Plan
from sfp.experiments.recipes import PriorRecipe, Recording
from sfp.training.folder import FINISHED


def make_jobs(plans: Sequence[Plan], out: Path) -> list[Job]:
    """All jobs of the plans, once each, every one behind those that it needs."""
    jobs: dict[str, Job] = {}

    def add(job: Job) -> tuple[str, ...]:
        jobs.setdefault(job.name, job)
        return (job.name,)

    @cache
    def recorded(recording: Recording | None) -> tuple[str, ...]:
        return add(_record(recording)) if recording else ()

    @cache
    def fitted(recipe: PriorRecipe | str | None) -> tuple[str, ...]:
        if recipe is None or isinstance(recipe, str) or recipe.shipped:
            return ()
        return add(_fit(recipe, out, recorded(recipe.recording)))

    for plan in plans:
        for walk in plan.walks:
            add(_explore(walk, out, fitted(walk.prior)))
        for entry in plan.entries:
            cell = entry.cell
            needs = [name for prior in cell.priors for name in fitted(prior)]
            add(_train(cell, out, (*needs, *recorded(cell.data))))
    return list(jobs.values())


def price(plan: Plan) -> tuple[int, float]:
    """The number of a plan's runs (or rollouts), and its hours of one core."""
    jobs = make_jobs([plan], Path())
    hours = sum(job.cost for job in jobs) / 3600
    return len(plan.entries) + len(plan.walks), round(hours, 2)


def _record(recording: Recording) -> Job:
    marker = recording.marker
    return Job(
        name=f"data-{recording.slug}",
        kind="data",
        words=recording.words,
        marker=marker,
        lock=marker.parent.parent,
        total=recording.episodes,
        cost=costs.record(recording),
        check=recording.check,
    )


def _fit(recipe: PriorRecipe, out: Path, needs: tuple[str, ...]) -> Job:
    folder = recipe.folder(out)
    return Job(
        name=f"prior-{recipe.slug}",
        kind="prior",
        words=recipe.words(out),
        marker=folder / "config.json",
        lock=folder.parent / f".{folder.name}.fit",
        total=costs.epochs(recipe),
        cost=costs.fit(recipe),
        needs=needs,
        check=lambda: recipe.check(out),
    )


def _train(cell: Cell, out: Path, needs: tuple[str, ...]) -> Job:
    folder = cell.folder(out)
    return Job(
        name=cell.slug,
        kind="train",
        words=cell.words(out),
        marker=folder / FINISHED,
        lock=folder,
        total=cell.steps,
        cost=costs.train(cell),
        needs=needs,
        check=lambda: cell.check(out),
    )


def _explore(walk: Walk, out: Path, needs: tuple[str, ...]) -> Job:
    return Job(
        name=f"explore-{walk.slug}",
        kind="explore",
        words=walk.words(out),
        marker=walk.file(out, ".csv"),
        lock=walk.folder(out),
        total=walk.steps * (len(walk.explorers) + (walk.prior is not None)),
        cost=costs.explore(walk),
        needs=needs,
        check=lambda: walk.check(out),
    )
