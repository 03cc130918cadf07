"""The table of variants: what a cell trains, apart from its task and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

STATE = {"state": True, "past_actions": 0}
FAST_STATE = {**STATE, "model": "mixture"}
SHARES = (0.75, 0.5, 0.25)


@dataclass(frozen=True)
class Variant:
    """A method with all it is given.

    `prior` has the fields of the `PriorRecipe` that are not the default, or is None for
    a method without a prior; `beside` has more such priors, or noises by their names;
    `data` says whether it learns from the recordings,
    `settings` what it does not leave to the method, and `match` the method whose
    defaults it has (`sfp train --match`).
    """

    method: str
    prior: Mapping[str, Any] | None = None
    data: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[Mapping[str, Any] | str, ...] = ()
    match: str = ""


def _sfp(**prior: Any) -> Variant:
    return Variant("sfp", MappingProxyType(prior))


GAUSSIAN = {"model": "gaussian"}
SKILLS = {"model": "skills", "past_actions": 0, "state": True}
WARM, UNIFORM = {"warmup_by": "method"}, {"warmup_by": "uniform"}
HALF = {"update_every": 2}
SHORT, NO_MIXTURE = {"warmup": 2_000}, {"mixing_fixed": 0.0}
NO_HER = {"hindsight": 0.0}
TEN_A_TOSS, ONE_A_TOSS = {"commit": 10.0}, {"commit": 1.0}
QUICK = "sfp-quick"


def _quick(**settings: Any) -> Variant:
    return Variant(QUICK, {}, settings=settings)


VARIANTS: dict[str, Variant] = {
    # the main figure and its baselines
    "sfp": _sfp(),
    "sfp-quick": Variant("sfp-quick", {}),
    "sac": Variant("sac"),
    "sac-bc": Variant("sac-bc", data=True),
    "sac-polyrl": Variant("sac-polyrl"),
    "parrot-state": Variant("parrot-state", {"model": "parrot", **STATE}),
    "spirl": Variant("spirl", SKILLS),
    **{
        f"spirl-{delta:g}": Variant(
            "spirl", SKILLS, settings={"target_divergence": delta}
        )
        for delta in (1.0, 2.0, 10.0)
    },
    "sac-pink": Variant("sac-pink"),
    "sac-ou": Variant("sac-ou"),
    "sac-zeta": Variant("sac-zeta"),
    "rlpd": Variant("rlpd", data=True),
    "parrot-action": Variant("parrot-action", {}),
    "sac-kl": Variant("sac-kl", GAUSSIAN),
    "sac-kl-state": Variant("sac-kl", {**GAUSSIAN, **STATE}),
    # who acts in the warm-up: the prior or the clone where the paper says nothing of
    # it, and uniform actions in place of SFP's prior
    "sac-warm": Variant("sac-warm", {}),
    "sac-kl-warm": Variant("sac-kl", GAUSSIAN, settings=WARM),
    "sac-kl-state-warm": Variant("sac-kl", {**GAUSSIAN, **STATE}, settings=WARM),
    "sac-bc-warm": Variant("sac-bc", data=True, settings=WARM),
    "sfp-uniform": Variant("sfp", {}, settings=UNIFORM),
    # noises chosen by exploration on other mazes and seeds (benchmarks/noises.py)
    "sac-ou-tuned": Variant("sac-ou", settings={"noise_theta": 0.05}),
    "sac-zeta-tuned": Variant("sac-zeta", settings={"noise_longest": 128}),
    # goals in hindsight for those that have none by default, and none for those that do
    "sfp-her": Variant("sfp", {}, settings={"hindsight": 4.0}),
    "sac-no-her": Variant("sac", settings=NO_HER),
    "sac-kl-no-her": Variant("sac-kl", GAUSSIAN, settings=NO_HER),
    "sac-kl-warm-no-her": Variant("sac-kl", GAUSSIAN, settings={**WARM, **NO_HER}),
    "sac-pink-no-her": Variant("sac-pink", settings=NO_HER),
    # a short warm-up: what it does, and what the mixture does, each with and without
    "short": Variant("sfp", {}, settings=SHORT),
    "short-uniform": Variant("sfp", {}, settings={**SHORT, **UNIFORM}),
    "short-alone": Variant("sfp", {}, settings={**SHORT, **NO_MIXTURE}),
    "short-neither": Variant("sfp", {}, settings={**SHORT, **UNIFORM, **NO_MIXTURE}),
    "sac-warm-short": Variant("sac-warm", {}, settings=SHORT),
    # the schedule of sfp-quick for others, and sfp-quick without each of its parts
    "sac-warm-quick": Variant("sac-warm", {}, match=QUICK),
    "sac-kl-quick": Variant("sac-kl", GAUSSIAN, settings=WARM, match=QUICK),
    "sac-pink-quick": Variant("sac-pink", match=QUICK),
    "sac-quick": Variant("sac", match=QUICK),
    "quick-no-wait": _quick(warmup=10_000, warmup_until="steps"),
    "quick-no-frontier": _quick(frontier=0),
    "quick-early": _quick(update_from="steps", head_start=0, catch_up=1),
    "quick-no-head-start": _quick(head_start=0),
    "quick-no-catch-up": _quick(head_start=0, catch_up=1),
    "quick-no-norm": _quick(critic_norm=False),
    "quick-sampled": _quick(td_value="sampled"),
    "quick-no-her": _quick(**NO_HER),
    "quick-all-goals": _quick(mixing_goals="all"),
    # what a prior remembers of a gait
    "quick-32": Variant(QUICK, {"model": "memory", "past_actions": 32}),
    "quick-10": Variant(QUICK, {"past_actions": 10}),
    "warm-10": Variant("sac-warm", {"past_actions": 10}, match=QUICK),
    # from images, with half the updates: with them, an update costs six times as much
    "sfp-half": Variant("sfp", {}, settings=HALF),
    "sac-half": Variant("sac", settings=HALF),
    "parrot-image": Variant(
        "parrot-image", {"model": "parrot-image", **STATE}, settings=HALF
    ),
    "bc-half": Variant("sac-bc", data=True, settings=HALF),
    # what the prior sees
    "actions-2": _sfp(past_actions=2),
    "actions-5": _sfp(past_actions=5),
    "actions-10": _sfp(past_actions=10),
    "state": _sfp(**STATE),
    "state-action": _sfp(state=True),
    # several priors: who is beside the state-free one, and how long a toss counts
    "quick-state": Variant(QUICK, FAST_STATE),
    "quick+state": Variant(QUICK, {}, beside=(FAST_STATE,)),
    "quick+state-10": Variant(QUICK, {}, beside=(FAST_STATE,), settings=TEN_A_TOSS),
    "quick+state-1": Variant(QUICK, {}, beside=(FAST_STATE,), settings=ONE_A_TOSS),
    "quick+uniform": Variant(QUICK, {}, beside=("uniform",)),
    "quick+pink": Variant(QUICK, {}, beside=("pink",)),
    # what models it
    "vae": _sfp(model="vae"),
    "lscde": _sfp(model="lscde"),
    "deterministic": _sfp(model="deterministic"),
    "gaussian": _sfp(model="gaussian"),
    # what it is learned from
    **{f"keep-{share:.0%}".rstrip("%"): _sfp(keep=share) for share in SHARES},
    **{f"uniform-{1 - s:.0%}".rstrip("%"): _sfp(uniform=1 - s) for s in SHARES},
}
