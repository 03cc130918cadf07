"""Defaults of methods: what each takes where nothing is said, and how two compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from sfp.agents.methods import METHODS, Method
from sfp.config import CAPACITY, IMAGES, MIXTURE, Mixture, Networks, Schedule, settle
from sfp.envs.adapter import Environment
from sfp.envs.registry import suite_of
from sfp.errors import SfpError, unknown

REFERENCE = "sac"
"""The method that others are compared with."""

METHODS_OWN = {"warmup_by", *MIXTURE}
"""Settings that are part of what a method is, and the same in no comparison."""

SEVERAL = {"commit": 0.0, "explore_episodes": 0.5}
"""Defaults with several priors. A coin at every step breaks the direction of each, so
that beside one that gets nowhere a good one gets nowhere (`benchmarks/tosses.py`). And
beside a bad prior the policy looks good to the critics too soon: the priors keep half
of the episodes while the policy's meet no reward."""


class Given(NamedTuple):
    """Settings that methods may have defaults of their own for."""

    schedule: Schedule
    networks: Networks
    mixture: Mixture


def as_another(method: Method, match: str) -> Method:
    """The method with the defaults of another one, for a comparison that is fair."""
    if match not in METHODS:
        raise unknown("method", match, METHODS, "See `sfp list methods`.")
    other = METHODS[match]
    hindsight = other.hindsight if method.relabels else method.hindsight
    by_suite = {
        suite: _merged(other.by_suite.get(suite, {}), method.by_suite.get(suite, {}))
        for suite in {**other.by_suite, **method.by_suite}
    }
    return replace(
        method,
        alpha=method.alpha if "alpha" in method.keeps else other.alpha,
        hindsight=hindsight,
        defaults=_merged(other.defaults, method.defaults),
        by_suite=by_suite,
    )


def _merged(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Another method's settings, but for those that a method keeps."""
    kept = {name: value for name, value in own.items() if name in METHODS_OWN}
    return {k: v for k, v in theirs.items() if k not in MIXTURE} | kept


def with_several(method: Method, td_value: str | None = None) -> Method:
    """The method with the defaults for several priors.

    A target that has asked for every prior's value has what Λ learns from; to ask again
    for each of several would cost an eighth of an update.

    Args:
        method: with the defaults for one prior.
        td_value: the target that was asked for; None is the method's own.
    """
    own = {**method.defaults, **SEVERAL}
    if (td_value or own.get("td_value")) in ("best", "expected"):
        own["mixing_loss_at"] = "target"
    return replace(method, defaults=own)


def fill(
    given: Given, name: str, method: Method, environment: Environment, preset: str
) -> Given:
    """The settings with nothing left open: the method's own defaults, by suite."""
    suite = suite_of(environment.env)
    own = {**method.defaults, **method.by_suite.get(suite, {})}
    own["capacity"] = IMAGES if environment.spec.image else CAPACITY
    schedule = settle(given.schedule, own)
    networks = settle(given.networks, own)
    mixture = settle(given.mixture, own)
    schedule = _relabelled(schedule, name, method, environment, preset, suite)
    schedule = _led(schedule, given.schedule, name, method, environment)
    if networks.alpha is None:
        networks = replace(networks, alpha=_of(method.alpha, suite))
    return Given(schedule, networks, mixture)


def differences(
    given: Given, filled: Given, name: str, environment: Environment, preset: str
) -> str:
    """In which settings a method differs from SAC, in a sentence; empty if in none."""
    if name not in METHODS or (given.schedule.hindsight and not environment.has_goals):
        return ""
    usual = fill(given, REFERENCE, METHODS[REFERENCE], environment, preset)
    own, theirs = (asdict(g.schedule) | asdict(g.networks) for g in (filled, usual))
    same = METHODS_OWN | {*METHODS[name].keeps}
    found = [
        f"{key} {own[key]:g} ({REFERENCE}: {value:g})"
        if isinstance(value, float) and isinstance(own[key], float)
        else f"{key} {own[key]} ({REFERENCE}: {value})"
        for key, value in theirs.items()
        if own[key] != value and key not in same
    ]
    if not found:
        return ""
    said = f"{name} and {REFERENCE} differ in more than the method here: "
    said += f"{', '.join(found)}."
    fixed = own["hindsight"] != theirs["hindsight"] and not METHODS[name].relabels
    if len(found) > fixed:
        said += f" --match {REFERENCE} makes them equal."
    return said + (f" {name} cannot have hindsight." if fixed else "")


def _relabelled(
    schedule: Schedule,
    name: str,
    method: Method,
    environment: Environment,
    preset: str,
    suite: str,
) -> Schedule:
    """The schedule with its hindsight settled, if the method and the goals allow it."""
    if schedule.hindsight and not method.relabels:
        raise SfpError(
            f"method {name} allows no hindsight: under another goal its actions mean "
            "something else. Leave hindsight out."
        )
    if schedule.hindsight is None:
        paper = preset == "paper" and method.relabels
        default = 4.0 if paper else _of(method.hindsight, suite)
        can = environment.has_goals and not environment.no_hindsight
        schedule = replace(schedule, hindsight=default if can else 0.0)
    if schedule.hindsight:
        environment.check_hindsight()
    return schedule


def _led(
    schedule: Schedule,
    given: Schedule,
    name: str,
    method: Method,
    environment: Environment,
) -> Schedule:
    """The schedule without a frontier or greedy episodes where there can be none."""
    spec = environment.spec
    if not method.follows:
        if given.greedy_episodes:
            raise SfpError(
                f"method {name} acts through a flow or skills, and cannot be given "
                "the mean of its policy: set greedy_episodes to 0."
            )
        schedule = replace(schedule, greedy_episodes=0.0)
    if method.follows and (spec.goal or spec.state):
        return schedule
    if given.frontier:
        why = (
            f"{environment.name} shows images alone, which tell no places apart"
            if method.follows
            else f"method {name} acts through a flow or skills, and cannot be led"
        )
        raise SfpError(f"{why}: set frontier to 0.")
    return replace(schedule, frontier=0)


def _of(table: Mapping[str, float], suite: str) -> float:
    return table.get(suite, table[""])
