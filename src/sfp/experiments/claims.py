"""The table of claims: what the paper says of two cells, for runs to confirm or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal["final", "time", "at once", "solved", "mixture at once"]
Where: TypeAlias = Literal[
    "training",
    "downstream",
    "harder",
    "out of reach",
    "disturbed",
    "most disturbed",
    "undisturbed",
    "images",
    "states",
]

AS_WELL = 0.75
"""Who does "as well as" another has more than this share of its return: the margin of
non-inferiority is a quarter, which 16 runs of each can show if all are solved. A tenth
would take 42."""

HARDLY = 4_000
"""Who is "hardly later" solves a task less than so many steps later."""

VIABLE = 0.5
"""Who stays "viable" has more than this share of the return."""


@dataclass(frozen=True)
class Claim:
    """One cell of an experiment does better than another, or solves nothing.

    Attributes:
        better: the cell that should do better; empty: `worse` should solve no task.
        where: on the training task, on all others, on those of them that need more
            than weak exploration, or on those that no method of the paper solves; on
            those with a bias or inverted actions, on those of them with the largest
            bias, or on those without; on those that show images, or on the same tasks
            with states.
        measure: `final` return, `time` until the task is solved, whether it is solved
            `at once` (at the first evaluation; a mixture as it acts), or `solved` at
            all.
        share: of the other's return that must be exceeded; all of it is 1.
        against: where the other is, if it is elsewhere: the same tasks, seen otherwise.
        later: of `time`, the steps by which it may be later: a margin.
    """

    text: str
    better: str
    worse: str
    where: Where = "downstream"
    measure: Measure = "final"
    share: float = 1.0
    against: Where | None = None
    later: int = 0


def _sfp_over(
    text: str, *others: str, measure: Measure = "final", share: float = 1.0
) -> tuple[Claim, ...]:
    return tuple(
        Claim(text, "sfp", other, measure=measure, share=share) for other in others
    )


def _fails(text: str, *cells: str, where: Where) -> tuple[Claim, ...]:
    return tuple(Claim(text, "", cell, where, "solved") for cell in cells)


def _either(text: str, *pairs: tuple[str, str]) -> tuple[Claim, ...]:
    return tuple(
        Claim(text, ours, theirs)
        for pair in pairs
        for ours, theirs in zip(("sfp", "sfp-her"), pair, strict=True)
    )


WHERE: tuple[Where, ...] = ("training", "downstream")
MEASURES: tuple[Measure, ...] = ("final", "time")
SEES_STATE = ("parrot-state", "state", "state-action")

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "transfer": (
        Claim(
            "PARROT-state solves the training task at once",
            "parrot-state",
            "sfp",
            "training",
            "at once",
        ),
        Claim(
            "SFP catches up with it on the training task",
            "sfp",
            "parrot-state",
            "training",
            share=AS_WELL,
        ),
        *_sfp_over("PARROT-state fails to guide on unseen tasks", "parrot-state"),
        *_sfp_over("SFP learns unseen tasks sooner", "sac", measure="time"),
        *_sfp_over("SFP carries over to unseen tasks", "sac"),
        *_fails("SAC makes progress on easier tasks only", "sac", where="harder"),
        Claim("PolyRL improves on SAC", "sac-polyrl", "sac"),
        *_fails("PolyRL does not solve harder tasks", "sac-polyrl", where="harder"),
        Claim("cloning can help to explore", "sac-bc", "sac"),
        *_sfp_over("cloning fails to generalise across tasks", "sac-bc"),
        *_sfp_over("mixing beats warping", "parrot-action"),
        *_sfp_over("mixing beats a KL penalty", "sac-kl"),
        *_fails(
            "push, pick-place and peg-insert-side are out of reach",
            *("sfp", "sac", "sac-bc", "sac-polyrl", "parrot-state"),
            where="out of reach",
        ),
        *_sfp_over(
            "(not in the paper) cloning fails with the clone's warm-up too",
            "sac-bc-warm",
        ),
        *_sfp_over(
            "(not in the paper) mixing beats a KL penalty with the prior's warm-up too",
            "sac-kl-warm",
        ),
        *_sfp_over(
            "(not in the paper) the mixture adds to the prior's warm-up", "sac-warm"
        ),
        *_sfp_over(
            "(not in the paper) the prior's warm-up adds to the mixture", "sfp-uniform"
        ),
        *_sfp_over(
            "(not in the paper) SFP does better than what is used today",
            *("sac-pink", "sac-ou-tuned", "sac-zeta-tuned", "rlpd"),
        ),
    ),
    "conditioning": (
        Claim(
            "a prior that sees the state is sooner on the training task",
            "state",
            "sfp",
            "training",
            "time",
        ),
        *_sfp_over("seeing the state jeopardises transfer", "state", "state-action"),
        *_sfp_over(
            "one past action does as well as more",
            *("actions-2", "actions-5", "actions-10"),
            share=AS_WELL,
        ),
    ),
    "integration": (
        *_sfp_over(
            "mixing does better than warping and than a KL penalty",
            *("parrot-action", "sac-kl"),
        ),
        *_sfp_over(
            "(not in the paper) mixing beats a KL penalty with the prior's warm-up too",
            "sac-kl-warm",
        ),
    ),
    "several": (
        Claim(
            "(not in the paper) acting, the mixture solves the training task at once",
            "quick+state",
            "sfp-quick",
            "training",
            "mixture at once",
        ),
        *(
            Claim(
                "(not in the paper) on unseen tasks a mixture is hardly later than its "
                "state-free prior alone",
                cell,
                "sfp-quick",
                measure="time",
                later=HARDLY,
            )
            for cell in ("quick+state", "quick+uniform", "quick+pink")
        ),
        *(
            Claim(
                "(not in the paper) on unseen tasks the mixture beats the behavioural "
                "prior alone",
                cell,
                "quick-state",
                measure="time",
            )
            for cell in ("quick+state", "quick+state-10", "quick+state-1")
        ),
    ),
    "warm-up": tuple(
        Claim(f"(not in the paper) {text}", better, worse, measure="time")
        for text, better, worse in (
            ("the mixture adds to the prior's warm-up", "short", "short-alone"),
            ("the mixture explores by itself", "short-uniform", "short-neither"),
            ("the prior's warm-up adds to the mixture", "short", "short-uniform"),
            ("the prior's warm-up explores by itself", "short-alone", "short-neither"),
            ("SFP is sooner than SAC-warm with hindsight", "short", "sac-warm-short"),
        )
    ),
    "sooner": tuple(
        Claim(f"(not in the paper) {text}", "sfp-quick", cell, where, "time")
        for text, cells in (
            ("sfp-quick is sooner than the paper's SFP", ("sfp",)),
            ("it is sooner than SAC with the prior's warm-up alone", ("sac-warm",)),
            (
                "it is sooner than others with its schedule",
                ("sac-warm-quick", "sac-kl-quick", "sac-pink-quick"),
            ),
            (
                "each of its parts makes it sooner",
                (
                    *("quick-no-wait", "quick-no-frontier", "quick-no-head-start"),
                    *("quick-early", "quick-no-catch-up", "quick-no-norm"),
                    *("quick-sampled", "quick-no-her", "quick-all-goals"),
                ),
            ),
        )
        for cell in cells
        for where in WHERE
    ),
    "spirl": (
        Claim(
            "SPiRL solves the training task at once",
            *("spirl", "sfp", "training", "at once"),
        ),
        Claim(
            "SPiRL leaves the goal again: PARROT-state returns more on that task",
            *("parrot-state", "spirl", "training"),
        ),
        *_sfp_over("SPiRL suffers on unseen tasks", "spirl"),
        *(
            Claim(
                "another target divergence does no better on unseen tasks",
                *("spirl", cell),
                share=AS_WELL,
            )
            for cell in ("spirl-1", "spirl-2", "spirl-10")
        ),
    ),
    "hindsight": (
        *_either(
            "(not in the paper) SFP does better if both have hindsight or neither",
            ("sac-no-her", "sac"),
            ("sac-kl-no-her", "sac-kl"),
            ("sac-kl-warm-no-her", "sac-kl-warm"),
            ("sac-pink-no-her", "sac-pink"),
        ),
        Claim("(not in the paper) hindsight helps SAC", "sac", "sac-no-her"),
        Claim("(not in the paper) hindsight does not help SFP", "sfp", "sfp-her"),
    ),
    "models": _sfp_over(
        "the flow does as well as others, or better",
        *("vae", "lscde", "deterministic", "gaussian"),
        share=AS_WELL,
    ),
    "training-task": (
        *(
            Claim(
                "only priors that see the state make progress on the training task",
                name,
                "sfp",
                "training",
            )
            for name in SEES_STATE
        ),
        *_sfp_over(
            "over other tasks a state-free prior does about as well",
            *SEES_STATE,
            share=AS_WELL,
        ),
    ),
    "data": (
        *(
            Claim(
                "SFP stays viable with less data", f"keep-{kept}", "sfp", share=VIABLE
            )
            for kept in (75, 50, 25)
        ),
        *_sfp_over(
            "performance drops with uniform actions in the data",
            *("uniform-25", "uniform-50", "uniform-75"),
        ),
    ),
    "visual": (
        Claim("SFP does better than SAC from images", "sfp-half", "sac-half", "images"),
        Claim(
            "SFP does better than PARROT from images",
            *("sfp-half", "parrot-image", "images"),
        ),
        Claim(
            "(not in the paper) SFP does better than cloning from images",
            *("sfp-half", "bc-half", "images"),
        ),
        *(
            Claim(
                "images cost return: the same method returns more from states",
                *(cell, cell, "states"),
                against="images",
            )
            for cell in ("sfp-half", "sac-half")
        ),
    ),
    "gaits": tuple(
        Claim(f"(not in the paper) {text}", "quick-32", cell)
        for text, cells in (
            (
                "SFP learns with a prior where noise does not",
                ("sac-quick", "sac-pink-quick", "sac"),
            ),
            ("memory helps", ("quick-10", "sfp-quick")),
            ("SFP-quick with memory beats the paper's SFP with one action", ("sfp",)),
        )
        for cell in cells
    )
    + tuple(
        Claim(
            "(not in the paper) the mixture adds to the prior's warm-up",
            *("quick-10", "warm-10"),
            measure=measure,
        )
        for measure in MEASURES
    ),
    "biased": (
        Claim("under bias SFP beats PARROT-state", "sfp", "parrot-state", "disturbed"),
        Claim(
            "SFP keeps its return under the largest bias",
            *("sfp", "sfp", "most disturbed"),
            share=AS_WELL,
            against="undisturbed",
        ),
        Claim(
            "PARROT-state's return drops under the largest bias",
            *("parrot-state", "parrot-state", "undisturbed"),
            against="most disturbed",
        ),
        Claim(
            "without bias PARROT-state does at least as well",
            "parrot-state",
            "sfp",
            "undisturbed",
            share=AS_WELL,
        ),
        *(
            Claim(
                f"(not in the paper) without bias SFP beats {called}",
                *("sfp", cell, "undisturbed"),
            )
            for called, cell in (("SAC", "sac"), ("pink noise", "sac-pink"))
        ),
    ),
    "inversion": (
        Claim(
            "inversion hurts SFP no more than PARROT-state",
            "sfp",
            "parrot-state",
            "disturbed",
            share=AS_WELL,
        ),
        Claim(
            "inversion hurts PARROT-state no more than SFP",
            "parrot-state",
            "sfp",
            "disturbed",
            share=AS_WELL,
        ),
    ),
}
"""By experiment."""
