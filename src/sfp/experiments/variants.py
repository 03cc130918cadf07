"""The table of variants: what a cell trains, apart from its task and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

STATE = {"state": True, "past_actions": 0}
SHARES = (0.75, 0.5, 0.25)


@dataclass(frozen=True)
class Variant:
    """A method with all it is given.

    `prior` has the fields of the `PriorRecipe` that are not the default, or is None for
    a method without a prior; `data` says whether it learns from the recordings.
    """

    method: str
    prior: Mapping[str, Any] | None = None
    data: bool = False


def _sfp(**prior: Any) -> Variant:
    return Variant("sfp", MappingProxyType(prior))


VARIANTS: dict[str, Variant] = {
    # the main figure and its baselines
    "sfp": _sfp(),
    "sfp-quick": Variant("sfp-quick", {}),
    "sac": Variant("sac"),
    "sac-bc": Variant("sac-bc", data=True),
    "sac-polyrl": Variant("sac-polyrl"),
    "parrot-state": Variant("parrot-state", {"model": "parrot", **STATE}),
    "sac-pink": Variant("sac-pink"),
    "sac-ou": Variant("sac-ou"),
    "sac-zeta": Variant("sac-zeta"),
    "rlpd": Variant("rlpd", data=True),
    "parrot-action": Variant("parrot-action", {}),
    "sac-kl": Variant("sac-kl", {"model": "gaussian"}),
    "sac-kl-state": Variant("sac-kl", {"model": "gaussian", **STATE}),
    # what the prior sees
    "actions-2": _sfp(past_actions=2),
    "actions-5": _sfp(past_actions=5),
    "actions-10": _sfp(past_actions=10),
    "state": _sfp(**STATE),
    "state-action": _sfp(state=True),
    # what models it
    "vae": _sfp(model="vae"),
    "lscde": _sfp(model="lscde"),
    "deterministic": _sfp(model="deterministic"),
    "gaussian": _sfp(model="gaussian"),
    # what it is learned from
    **{f"keep-{share:.0%}".rstrip("%"): _sfp(keep=share) for share in SHARES},
    **{f"uniform-{1 - s:.0%}".rstrip("%"): _sfp(uniform=1 - s) for s in SHARES},
}
