"""The table of claims: what the paper says of two cells, for runs to confirm or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal["final", "whole"]
Where: TypeAlias = Literal["training", "downstream"]


@dataclass(frozen=True)
class Claim:
    """That one cell of an experiment does better than another.

    Attributes:
        text: what the paper says, in short.
        better: name of the cell that should have more return.
        worse: name of the other.
        where: on the training task, or on all others.
        measure: the `final` return, or the mean over the `whole` training, which is
            larger for who learns sooner.
        share: of the other's return that must be exceeded; all of it is 1.
    """

    text: str
    better: str
    worse: str
    where: Where = "downstream"
    measure: Measure = "final"
    share: float = 1.0


def _sfp_over(text: str, *others: str, measure: Measure = "final") -> tuple[Claim, ...]:
    return tuple(Claim(text, "sfp", other, measure=measure) for other in others)


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "transfer": (
        Claim(
            "PARROT-state solves the training task at once",
            "parrot-state",
            "sfp",
            "training",
            "whole",
        ),
        *_sfp_over("PARROT-state fails to guide on unseen tasks", "parrot-state"),
        *_sfp_over("SFP learns unseen tasks sooner", "sac", measure="whole"),
        *_sfp_over("SAC makes progress on easier tasks only", "sac"),
        Claim("PolyRL improves on SAC", "sac-polyrl", "sac"),
        *_sfp_over("PolyRL does not solve harder tasks", "sac-polyrl"),
        Claim("cloning can help to explore", "sac-bc", "sac"),
        *_sfp_over("cloning fails to generalise across tasks", "sac-bc"),
        *_sfp_over("mixing beats warping", "parrot-action"),
        *_sfp_over("mixing beats a KL penalty", "sac-kl"),
        *_sfp_over(
            "(not in the paper) SFP does better than what is used today",
            "sac-pink",
            "sac-ou",
            "sac-zeta",
            "rlpd",
        ),
    ),
    "conditioning": (
        Claim(
            "a prior that sees the state is sooner on the training task",
            "state",
            "sfp",
            "training",
            "whole",
        ),
        *_sfp_over("seeing the state jeopardises transfer", "state", "state-action"),
        *_sfp_over(
            "one past action is sufficient", "actions-2", "actions-5", "actions-10"
        ),
    ),
    "integration": _sfp_over(
        "mixing does better than warping and than a KL penalty",
        "parrot-action",
        "sac-kl",
    ),
    "models": _sfp_over(
        "the flow does as well as others, or better",
        "vae",
        "lscde",
        "deterministic",
        "gaussian",
    ),
    "training-task": (
        *(
            Claim(
                "only priors that see the state make progress on the training task",
                name,
                "sfp",
                "training",
            )
            for name in ("parrot-state", "state", "state-action")
        ),
        *(
            Claim("over other tasks a state-free prior does about as well", "sfp", name)
            for name in ("parrot-state", "state", "state-action")
        ),
    ),
    "data": (
        *(
            Claim("SFP stays viable with less data", f"keep-{kept}", "sfp", share=0.5)
            for kept in (75, 50, 25)
        ),
        *_sfp_over(
            "performance drops with uniform actions in the data",
            *("uniform-25", "uniform-50", "uniform-75"),
        ),
    ),
}
"""By experiment. A claim of "as well as" is stated as "better": undecided confirms it
as far as so few seeds can. "Viable" is stated as more than half of the return."""
