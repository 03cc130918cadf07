"""The table of experiments: every figure and table of the paper that can be run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sfp.envs.parameters import Value
from sfp.envs.suites import SUITES

SHARES = ("75", "50", "25")


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    Attributes:
        claim: what the paper says about it.
        cells: names from `VARIANTS` with their labels in legends. For rollouts they
            are explorers, and `sfp` is the prior.
        shown: the cells that run unless others are asked for; empty is all.
        undisturbed: cells that run only where observations have no bias and actions
            are not inverted: what they do where they have it is not in question.
        seeds: at scale `small`.
        walks: the measure of explorers that do not learn, instead of training.
        suites: the suites that have what it needs; empty is all with a script.
        levels: by scale, the parameters that every task is given in turn.
        expert: the task whose expert is recorded for the priors, instead of the script
            that reaches goals in the suite's training task; then every task is visited.
    """

    title: str
    claim: str
    cells: Mapping[str, str]
    shown: tuple[str, ...] = ()
    undisturbed: tuple[str, ...] = ()
    seeds: int = 2
    walks: Literal["coverage", "psd"] | None = None
    suites: tuple[str, ...] = ()
    expert: str = ""
    levels: Mapping[str, tuple[Mapping[str, Value], ...]] = field(default_factory=dict)

    def runs_on(self, suite: str) -> bool:
        if self.suites:
            return suite in self.suites
        return suite not in SUITES or not SUITES[suite].experts


def _levels(
    thresholds: tuple[str, ...], changes: Mapping[str, tuple[Value, ...]]
) -> tuple[dict[str, Value], ...]:
    return tuple(
        {"threshold": threshold, name: value}
        for threshold in thresholds
        for name, values in changes.items()
        for value in values
    )


HALVES = ("50%", "100%")
SIXTHS = ("0%", "20%", "40%", "60%", "80%", "100%")
"""Thresholds as shares of x_max: at 0 everybody scores."""

PIXELS = ({"pixels": False}, {"pixels": True})
INVERSION = {"inverted": (False, True)}
EXPERIMENTS: dict[str, Experiment] = {
    "transfer": Experiment(
        "Transfer to unseen tasks (main result)",
        "SFP learns unseen tasks faster than SAC, SAC+BC, SAC-PolyRL and PARROT-state; "
        "PARROT-state solves the training task at once but does not carry over.",
        {
            "sfp": "SFP",
            "sfp-quick": "SFP-quick",
            "sac": "SAC",
            "sac-bc": "SAC+BC",
            "sac-polyrl": "SAC-PolyRL",
            "parrot-state": "PARROT-state",
            "parrot-action": "PARROT-action",
            "sac-kl": "SAC+KL",
            "sac-kl-state": "SAC+KL-state",
            "sac-warm": "SAC-warm",
            "sac-bc-warm": "SAC+BC-warm",
            "sac-kl-warm": "SAC+KL-warm",
            "sac-kl-state-warm": "SAC+KL-state-warm",
            "sfp-uniform": "SFP-uniform",
            "sac-pink": "SAC-pink",
            "sac-ou": "SAC-OU",
            "sac-zeta": "SAC-Zeta",
            "sac-ou-tuned": "SAC-OU-tuned",
            "sac-zeta-tuned": "SAC-Zeta-tuned",
            "rlpd": "RLPD",
        },
        shown=("sfp", "sac", "sac-bc", "sac-polyrl", "parrot-state"),
        seeds=3,
    ),
    "conditioning": Experiment(
        "Conditioning variables of action priors",
        "All priors help on the training task; only state-free ones carry over to "
        "unseen tasks, and one past action is enough.",
        {
            "sfp": "1 action",
            "actions-2": "2 actions",
            "actions-5": "5 actions",
            "actions-10": "10 actions",
            "state": "state",
            "state-action": "state and action",
        },
    ),
    "integration": Experiment(
        "Integration schemes for a state-free prior",
        "Mixing the prior with the policy does better than warping the action space "
        "and than a KL penalty.",
        {
            "sfp": "mixture",
            "parrot-action": "warp",
            "sac-kl": "KL",
            "sac-kl-warm": "KL-warm",
        },
        shown=("sfp", "parrot-action", "sac-kl"),
    ),
    "several": Experiment(
        "Several priors (the paper's outlook)",
        "The paper leaves open how to combine state-free and behavioural priors. Here "
        "Λ weighs all of them: is a mixture as good as the best of its priors?",
        {
            "sfp-quick": "state-free",
            "quick-state": "behavioural",
            "quick+state": "state-free and behavioural",
            "quick+state-10": "state-free and behavioural, 10 steps a toss",
            "quick+state-1": "state-free and behavioural, a step a toss",
            "quick+uniform": "state-free and uniform",
            "quick+pink": "state-free and pink",
        },
        shown=(
            *("sfp-quick", "quick-state"),
            *("quick+state", "quick+uniform", "quick+pink"),
        ),
        seeds=5,
    ),
    "spirl": Experiment(
        "Skills (SPiRL)",
        "SPiRL, like PARROT-state, solves the training task at once, and leaves its "
        "goal again because no skill stands still; it fails on unseen tasks.",
        {
            "sfp": "SFP",
            "parrot-state": "PARROT-state",
            "spirl": "SPiRL",
            "spirl-1": "SPiRL, δ 1",
            "spirl-2": "SPiRL, δ 2",
            "spirl-10": "SPiRL, δ 10",
        },
        shown=("sfp", "parrot-state", "spirl"),
        suites=("meta-world",),
    ),
    "hindsight": Experiment(
        "Hindsight as a factor (not in the paper)",
        "The paper relabels goals for every method. By default SFP has none here and "
        "the baselines have them: what is the method's, and what is hindsight's?",
        {
            "sfp": "SFP 0",
            "sfp-her": "SFP 4",
            "sac-no-her": "SAC 0",
            "sac": "SAC 4",
            "sac-kl-no-her": "SAC+KL 0",
            "sac-kl": "SAC+KL 4",
            "sac-kl-warm-no-her": "SAC+KL-warm 0",
            "sac-kl-warm": "SAC+KL-warm 4",
            "sac-pink-no-her": "SAC-pink 0",
            "sac-pink": "SAC-pink 4",
        },
        shown=(
            *("sfp", "sfp-her", "sac-no-her", "sac"),
            *("sac-kl-no-her", "sac-kl", "sac-pink-no-her", "sac-pink"),
        ),
    ),
    "warm-up": Experiment(
        "Is it the mixture, or the prior in the warm-up? (not in the paper)",
        "SFP explores with its prior twice: in the warm-up, and as a part of the "
        "mixture. After a warm-up of 2,000 steps, what does each of the two do?",
        {
            "short": "prior and mixture (SFP)",
            "short-uniform": "mixture alone",
            "short-alone": "prior's warm-up alone",
            "short-neither": "neither",
            "sac-warm-short": "SAC-warm",
        },
        seeds=5,
    ),
    "sooner": Experiment(
        "SFP that learns as soon as it can (not in the paper)",
        "sfp-quick solves tasks sooner than the paper's SFP, and than SAC, a KL "
        "penalty and pink noise with its schedule. Which of its parts does it?",
        {
            "sfp-quick": "SFP-quick",
            "sfp": "SFP",
            "sac-warm": "SAC-warm",
            "sac-warm-quick": "SAC-warm, its schedule",
            "sac-kl-quick": "SAC+KL, its schedule",
            "sac-pink-quick": "SAC-pink, its schedule",
            "quick-no-wait": "without waiting",
            "quick-no-frontier": "without frontier",
            "quick-early": "updates from the beginning",
            "quick-no-head-start": "without head start",
            "quick-no-catch-up": "without catching up",
            "quick-no-norm": "without layer norm",
            "quick-sampled": "target as in SFP",
            "quick-no-her": "without hindsight",
            "quick-all-goals": "λ from all goals",
        },
        shown=(
            *("sfp-quick", "sfp", "sac-warm"),
            *("sac-warm-quick", "sac-kl-quick", "sac-pink-quick"),
        ),
        seeds=5,
    ),
    "coverage": Experiment(
        "Correlation and state coverage (Table 1)",
        "The prior's walks cover more (0.963 of the room) and spread wider (0.054) "
        "than PolyRL's (0.880, 0.026) and uniform actions (0.333, 0.005).",
        {
            "uniform": "uniform (SAC)",
            "polyrl": "PolyRL",
            "sfp": "SFP",
            "scripted": "the recorded policy",
            "pink": "pink noise",
            "ou": "OU noise",
            "zeta": "Zeta noise",
        },
        walks="coverage",
    ),
    "mixing": Experiment(
        "Mixing weights over training",
        "λ goes to 0 on tasks that are solved and to 1 on those that are not; it falls "
        "as returns rise.",
        {"sfp": "SFP"},
        seeds=3,
    ),
    "psd": Experiment(
        "Temporal correlation (power spectra)",
        "Recorded actions and those of the prior have prominent low frequencies; "
        "uniform ones have not.",
        {"uniform": "uniform", "scripted": "data", "sfp": "SFP"},
        walks="psd",
    ),
    "models": Experiment(
        "Generative models of the prior",
        "A Real NVP flow does as well as or better than a conditional VAE, LSCDE and a "
        "deterministic prior.",
        {
            "sfp": "flow",
            "vae": "VAE",
            "lscde": "LSCDE",
            "deterministic": "deterministic",
            "gaussian": "Gaussian",
        },
    ),
    "data": Experiment(
        "Quantity and quality of the recordings",
        "SFP stays viable with 75 %, 50 % and 25 % of the recordings; it drops sharply "
        "if 25 %, 50 % or 75 % of them are replaced by uniform actions.",
        {
            "sfp": "all data",
            **{f"keep-{s}": f"{s} % of the data" for s in SHARES},
            **{f"uniform-{s}": f"{s} % uniform" for s in reversed(SHARES)},
        },
    ),
    "training-task": Experiment(
        "Another training task: experts of pick-place",
        "Priors that see the state make progress on the training task, and on push, "
        "which is like it; the state-free prior does not, but does about as well over "
        "all other tasks.",
        {
            "sfp": "1 action",
            "parrot-state": "PARROT-state",
            "state": "state",
            "state-action": "state and action",
        },
        suites=("meta-world",),
        expert="pick-place",
    ),
    "visual": Experiment(
        "Learning from images",
        "Everybody returns less from images than from states; SFP, whose prior never "
        "saw an image, stays above SAC and above PARROT, whose prior sees them.",
        {
            "sfp-half": "SFP",
            "sac-half": "SAC",
            "parrot-image": "PARROT",
            "bc-half": "SAC+BC",
        },
        shown=("sfp-half", "sac-half", "parrot-image"),
        seeds=3,
        suites=("point-maze", "meta-world"),
        levels={"small": PIXELS, "paper": PIXELS},
    ),
    "gaits": Experiment(
        "Learning to walk with a prior that remembers (not in the paper)",
        "A gait is a pattern over many joints and time steps. A prior that remembers "
        "it meets rewards that noise does not, and SFP learns from them.",
        {
            "quick-32": "SFP-quick, 32 actions",
            "quick-10": "SFP-quick, 10 actions",
            "sfp-quick": "SFP-quick, 1 action",
            "sfp": "SFP, 1 action",
            "warm-10": "SAC-warm, 10 actions, its schedule",
            "sac-quick": "SAC, its schedule",
            "sac-pink-quick": "SAC-pink, its schedule",
            "sac": "SAC",
        },
        seeds=5,
        suites=("gym-mujoco",),
    ),
    "biased": Experiment(
        "Biased downstream learning (locomotion)",
        "Without bias PARROT-state does best; as the bias grows, its return drops "
        "sharply, and that of SFP is retained.",
        {
            "sfp": "SFP",
            "parrot-state": "PARROT-state",
            "sac": "SAC",
            "sac-pink": "SAC-pink",
        },
        undisturbed=("sac", "sac-pink"),
        suites=("gym-mujoco",),
        levels={
            "small": _levels(HALVES, {"bias": (0.0, 0.1, 0.5)}),
            "paper": _levels(SIXTHS, {"bias": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)}),
        },
    ),
    "inversion": Experiment(
        "Inverted actions (locomotion)",
        "If actions arrive in reverse order, SFP and PARROT-state lose about as much.",
        {"sfp": "SFP", "parrot-state": "PARROT-state"},
        suites=("gym-mujoco",),
        levels={
            "small": _levels(HALVES, INVERSION),
            "paper": _levels(SIXTHS, INVERSION),
        },
    ),
}
