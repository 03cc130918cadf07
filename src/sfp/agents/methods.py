"""The table of methods: one name each, for the command line, Python and the docs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sfp.agents.base import Agent
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP, unit_prior
from sfp.config import Mixture, Networks
from sfp.errors import SfpError, unknown
from sfp.priors.base import Prior


@dataclass(frozen=True)
class Ingredients:
    """What an agent is made of."""

    obs_size: int
    action_size: int
    alpha: float
    networks: Networks
    mixture: Mixture
    prior: Prior | None


@dataclass(frozen=True)
class Method:
    """A line of the table.

    Attributes:
        build: the agent from its ingredients.
        summary: one line for `sfp list methods`.
        needs_prior: whether it mixes in a prior.
        alpha: by suite; "" is any other.
        hindsight: by suite; "" is any other.
    """

    build: Callable[[Ingredients], Agent]
    summary: str
    needs_prior: bool = False
    alpha: Mapping[str, float] = field(default_factory=dict)
    hindsight: Mapping[str, float] = field(default_factory=dict)


def _sac(given: Ingredients) -> Agent:
    return SAC(given.obs_size, given.action_size, given.alpha, given.networks)


def _sfp(given: Ingredients) -> Agent:
    assert given.prior is not None
    return SFP(
        given.obs_size,
        given.action_size,
        unit_prior(given.prior),
        given.alpha,
        given.networks,
        given.mixture,
    )


METHODS: dict[str, Method] = {
    "sac": Method(
        _sac,
        "Soft Actor-Critic, uniform actions at first",
        alpha={"point-maze": 0.02, "": 0.2},
        hindsight={"": 4.0},
    ),
    "sfp": Method(
        _sfp,
        "SAC mixed with a state-free (or any other) prior, as far as Λ(s) trusts it",
        needs_prior=True,
        alpha={"": 0.01},
        hindsight={"": 0.0},
    ),
}


def get_method(name: str, prior: Prior | None) -> Method:
    """The method of that name, if it has what it needs."""
    if name not in METHODS:
        raise unknown("method", name, METHODS, "See `sfp list methods`.")
    method = METHODS[name]
    if method.needs_prior and prior is None:
        raise SfpError(
            f"method {name} needs a prior: fit one with `sfp fit`, or take the shipped "
            "one for point-mazes, --prior room."
        )
    if prior is not None and not method.needs_prior:
        raise SfpError(f"method {name} takes no prior: leave it out.")
    return method
