"""The priors of a run: one or several, each once, for the same actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from sfp.envs.adapter import Environment
from sfp.errors import SfpError, unknown
from sfp.priors.base import Prior
from sfp.priors.compatibility import check_prior
from sfp.priors.noises import NOISES, is_noise, noise_prior
from sfp.priors.store import fingerprint, load_prior, shipped

Given: TypeAlias = str | Path | Prior
"""A prior, its folder, the name of a shipped one, or a noise."""


def gather_priors(
    given: Given | Sequence[Given] | None, environment: Environment
) -> dict[str, Prior]:
    """What is given as priors, by what to call them."""
    if given is None:
        return {}
    several = not isinstance(given, str | Path | Prior)
    listed = list(given) if several else [given]
    found: dict[str, Prior] = {}
    for number, one in enumerate(listed, 1):
        rest = f"prior {number}" if several else "the prior"
        name = rest if isinstance(one, Prior) else str(one)
        if name in found:
            raise _twice(name, name)
        found[name] = as_prior(one, environment.low, environment.high)
    return found


def as_prior(given: Given, low: np.ndarray, high: np.ndarray) -> Prior:
    """The prior that is meant; a noise has these bounds."""
    if isinstance(given, Prior):
        return given
    if not isinstance(given, str | Path):
        raise SfpError(
            f"expected a prior, its folder or its name, received a "
            f"{type(given).__name__}."
        )
    if is_noise(given):
        return noise_prior(str(given), low, high)
    known = [*shipped(), *NOISES]
    if not Path(given).exists() and str(given) not in known:
        raise unknown("prior", str(given), known, "Or give the folder of one.")
    return load_prior(given)


def check_priors(priors: Mapping[str, Prior], environment: Environment) -> None:
    """Refuse priors of other action spaces, and the same prior twice."""
    seen: dict[str, str] = {}
    for name, prior in priors.items():
        check_prior(prior, name, environment)
        other = seen.setdefault(fingerprint(prior), name)
        if other != name:
            raise _twice(other, name)


def fingerprint_all(priors: Mapping[str, Prior]) -> str | None:
    """Of one prior its fingerprint; of several all of them, in order."""
    return " + ".join(fingerprint(prior) for prior in priors.values()) or None


def short_names(priors: Mapping[str, Prior]) -> list[str]:
    """What tables and figures call them: folders by their last name, if that tells."""
    short = [Path(name).name for name in priors]
    return short if len({*short}) == len(short) else list(priors)


def _twice(one: str, other: str) -> SfpError:
    which = one if one == other else f"{one} and {other}"
    return SfpError(
        f"the same prior was given twice ({which}): expected priors that differ, since "
        "two equal ones share one weight. Leave one out."
    )
