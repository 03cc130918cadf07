"""The table of methods: one name each, for the command line, Python and the docs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from sfp.agents.base import Agent
from sfp.agents.bc import BC
from sfp.agents.kl import KL
from sfp.agents.parrot import Parrot
from sfp.agents.rlpd import RLPD
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.agents.spirl import SPIRL
from sfp.config import MIXTURE, Baselines, Mixture, Networks, Schedule
from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError, unknown
from sfp.exploration.family import Correlated, SelfAvoiding
from sfp.exploration.prior import PriorWarmup
from sfp.noise.polyrl import PolyRL
from sfp.noise.processes import Colored, Noise, OrnsteinUhlenbeck, Zeta
from sfp.observation import Obs, Spec
from sfp.priors.base import Prior, unit_prior
from sfp.priors.gaussian import Gaussian
from sfp.priors.realnvp import RealNVP
from sfp.priors.skills import Skills

Takes: TypeAlias = Literal["nothing", "prior", "data"]


@dataclass(frozen=True)
class Ingredients:
    """What an agent is made of.

    Attributes:
        spec: sizes of observations and actions.
        schedule: what happens when.
        networks: sizes and optimisation, α settled.
        mixture: how a prior is mixed in.
        baselines: options of single baselines.
        priors: in the environment's units, as many as the method takes.
        data: recordings, if the method takes them; they fit the environment.
        report: hears the share that is done of what is learned before the first step.
    """

    spec: Spec
    schedule: Schedule
    networks: Networks
    mixture: Mixture
    baselines: Baselines
    priors: tuple[Prior, ...] = ()
    data: Trajectories | None = None
    report: Callable[[float], None] = lambda share: None

    @property
    def sac(self) -> tuple[Spec, float, Networks]:
        """What every kind of SAC takes."""
        assert self.networks.alpha is not None
        return self.spec, self.networks.alpha, self.networks

    @property
    def unit_prior(self) -> Prior:
        """The prior in scaled actions, of a method that takes one."""
        (prior,) = self.priors
        return unit_prior(prior)


def _no_skills(name: str, prior: Prior) -> None:
    if prior.conditioning.image:
        raise SfpError(
            f"method {name} takes no prior that sees images: take method parrot-image, "
            "or a state-free prior."
        )
    if isinstance(prior.model, Skills):
        raise SfpError(
            f"method {name} takes a prior over single actions, received skills: take "
            "method spirl, or a prior of another model."
        )


@dataclass(frozen=True)
class Method:
    """A line of the table.

    Attributes:
        build: the agent from its ingredients.
        summary: one line for `sfp list methods`.
        takes: `nothing`, a `prior`, or recorded `data` in training itself.
        several: whether it takes more than one prior.
        needs: what the recordings must contain.
        match: what must be the same in the recordings and the task.
        columns: of the recordings that training reads, as far as the task shows them.
        check: refuses a prior of another kind; gets the method's name.
        alpha: by suite; "" is any other.
        hindsight: by suite; "" is any other.
        refused: by suite, why the method makes no sense there.
        follows: whether it can take an action that is given in place of its own.
        sees_images: whether it is for tasks that show images only.
        relabels: False if an action means something else under another goal.
        hint: how to get the prior it takes.
        options: settings that this method has and others have not.
        keeps: settings that mean something else in this method than in others, so that
            no comparison makes them equal.
        defaults: of settings that are `STANDARD` elsewhere.
        by_suite: the same for single suites.
    """

    build: Callable[[Ingredients], Agent]
    summary: str
    takes: Takes = "nothing"
    several: bool = False
    needs: str = "nothing"
    match: str = "nothing"
    columns: tuple[str, ...] = ()
    check: Callable[[str, Prior], None] = _no_skills
    alpha: Mapping[str, float] = field(
        default_factory=lambda: {"point-maze": 0.02, "": 0.2}
    )
    hindsight: Mapping[str, float] = field(default_factory=lambda: {"": 4.0})
    refused: Mapping[str, str] = field(default_factory=dict)
    follows: bool = True
    sees_images: bool = False
    relabels: bool = True
    hint: str = (
        "`sfp fit DATA --out PRIOR`; for point-mazes --prior room ships, for "
        "Meta-World --prior reach"
    )
    options: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    by_suite: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _sfp(given: Ingredients) -> Agent:
    spec, alpha, networks = given.sac
    priors = tuple(unit_prior(prior) for prior in given.priors)
    return SFP(spec, priors, alpha, networks, given.mixture)


def _noisy(noise: Callable[[Baselines], Noise]) -> Callable[[Ingredients], Agent]:
    return lambda given: SAC(*given.sac, explorer=Correlated(noise(given.baselines)))


def _polyrl(given: Ingredients) -> Agent:
    options = given.baselines
    chain = PolyRL(options.polyrl_angle, options.polyrl_variance, options.polyrl_beta)
    return SAC(*given.sac, explorer=SelfAvoiding(chain))


def _warm(given: Ingredients) -> Agent:
    return SAC(*given.sac, explorer=PriorWarmup(given.unit_prior))


def _parrot(given: Ingredients) -> Agent:
    return Parrot(*given.sac, prior=given.unit_prior)


def _kl(given: Ingredients) -> Agent:
    if given.networks.tune_alpha:
        raise SfpError(
            "method sac-kl has no entropy to tune alpha by: leave out tune_alpha."
        )
    return KL(*given.sac, prior=given.unit_prior)


def _spirl(given: Ingredients) -> Agent:
    spec, alpha, networks = given.sac
    usual, fixed = Networks(), ("depth", "learning_rate", "tune_alpha")
    asked = [name for name in fixed if getattr(networks, name) != getattr(usual, name)]
    if asked:
        raise SfpError(
            "method spirl has the reference's critics and learning rate, and tunes "
            f"alpha by the divergence: leave out {' and '.join(asked)}."
        )
    target = given.baselines.target_divergence
    return SPIRL(spec, given.unit_prior, target, alpha, networks)


def _bc(given: Ingredients) -> Agent:
    data = given.data
    assert data is not None
    if len(data.actions) < given.schedule.batch:
        raise SfpError(
            f"{data.source} has {len(data.actions)} pairs, fewer than a batch of "
            f"{given.schedule.batch}: record more or lower the batch size."
        )
    return BC(
        *given.sac,
        shown=_shown(data, given.spec),
        actions=data.unit_actions,
        batch=given.schedule.batch,
        epochs=given.baselines.bc_epochs,
        report=given.report,
    )


def _shown(data: Trajectories, spec: Spec) -> Obs:
    """Recordings as the environment shows them: they have been found to fit."""
    blank, count = spec.obs(), len(data.actions)
    parts = zip(blank, (data.observations, data.goals, data.images), strict=True)
    return Obs(
        *(
            np.zeros((count, *part.shape), part.dtype)
            if seen is None or not part.size
            else np.asarray(seen, part.dtype)
            for part, seen in parts
        )
    )


def _rlpd(given: Ingredients) -> Agent:
    assert given.data is not None
    return RLPD(*given.sac, demonstrations=given.data)


def _flow_of_states(name: str, prior: Prior) -> None:
    _flow(name, prior)
    if not prior.conditioning.state or prior.conditioning.past_actions:
        raise SfpError(
            f"method {name} needs a flow that sees the state alone, this one sees "
            f"{prior.conditioning}: fit one with --state --past-actions 0, or take "
            "method parrot-action for a state-free one."
        )


def _flow_of_images(name: str, prior: Prior) -> None:
    if not prior.conditioning.image:
        raise SfpError(
            f"method {name} needs a flow that sees images, this one sees "
            f"{prior.conditioning}: fit one with --model parrot-image."
        )


def _flow_of_actions(name: str, prior: Prior) -> None:
    _flow(name, prior)
    if prior.conditioning.state:
        raise SfpError(
            f"method {name} needs a state-free flow, this one sees "
            f"{prior.conditioning}: fit one without --state, or take parrot-state."
        )


def _flow(name: str, prior: Prior) -> None:
    _no_skills(name, prior)
    if not isinstance(prior.model, RealNVP):
        raise SfpError(
            f"method {name} acts through an invertible prior, received the model "
            f"{type(prior.model).__name__}: fit one with --model parrot or realnvp."
        )


def _skills(name: str, prior: Prior) -> None:
    if not isinstance(prior.model, Skills):
        raise SfpError(
            f"method {name} needs skills, received the model "
            f"{type(prior.model).__name__} over single actions: fit skills with "
            "--model skills."
        )


def _gaussian(name: str, prior: Prior) -> None:
    _no_skills(name, prior)
    if not isinstance(prior.model, Gaussian):
        raise SfpError(
            f"method {name} needs a prior whose divergence has a closed form, received "
            f"the model {type(prior.model).__name__}: fit one with --model gaussian."
        )


ACTIONS = "action space"
UNIFORM = {"warmup_by": "uniform"}
"""As the paper describes SAC: it names no other warm-up for what is built on it."""

THE_PAPERS = Method(
    _sfp,
    "SAC mixed with a state-free (or any other) prior, as far as Λ(s) trusts it",
    takes="prior",
    several=True,
    needs="actions (and states, for a prior that sees them)",
    match="action space (and what a prior with states sees)",
    alpha={"": 0.01, "gym-mujoco": 0.005},
    hindsight={"": 0.0},
    options=MIXTURE,
    by_suite={"gym-mujoco": {"mixing_gradient_scale": 1e-7}},
)
METHODS: dict[str, Method] = {
    "sac": Method(
        lambda given: SAC(*given.sac), "Soft Actor-Critic, uniform actions at first"
    ),
    "sfp": THE_PAPERS,
    "sfp-quick": replace(
        THE_PAPERS,
        summary="SFP that waits for the first reward, then learns as fast as it can",
        hindsight={"": 4.0},
        defaults={
            "warmup": 2_000,
            "warmup_until": "reward",
            "warmup_limit": 20_000,
            "update_from": "reward",
            "catch_up": 4,
            "head_start": 8_000,
            "critic_norm": True,
            "td_value": "best",
            "mixing_goals": "true",
            "hindsight_goals": "unmet",
        },
        by_suite={
            "gym-mujoco": {
                "n_step": 3,
                "explore_episodes": 0.5,
                "greedy_episodes": 0.5,
            },
            "point-maze": {"frontier": 50, "hindsight_goals": "all"},
        },
    ),
    "sac-warm": Method(
        _warm,
        "SAC whose warm-up is the prior's; afterwards the prior has no part",
        takes="prior",
        needs="actions (and states, for a prior that sees them)",
        match="action space (and what a prior with states sees)",
    ),
    "sac-bc": Method(
        _bc,
        "SAC whose policy is first cloned from recorded states or images, and actions",
        takes="data",
        needs="actions, states (and goals, where the task has them), or images",
        match="action space, observations, goals, or size of the images",
        columns=("observations", "goals", "images"),
        options=("bc_epochs",),
        defaults=UNIFORM,
    ),
    "sac-polyrl": Method(
        _polyrl,
        "SAC with locally self-avoiding walks at first (PolyRL)",
        options=("polyrl_angle", "polyrl_variance", "polyrl_beta"),
    ),
    "parrot-state": Method(
        _parrot,
        "SAC in the noise space of a flow that sees the state",
        takes="prior",
        needs="actions, states (and goals, if the flow is to see them)",
        match="action space, what the flow sees",
        check=_flow_of_states,
        follows=False,
        hindsight={"": 0.0},
        relabels=False,
        hint="`sfp fit DATA --state --past-actions 0 --model parrot --out PRIOR`",
    ),
    "parrot-image": Method(
        _parrot,
        "SAC in the noise space of a flow that sees the image (PARROT)",
        takes="prior",
        needs="actions, images",
        match="action space, size of the images",
        check=_flow_of_images,
        follows=False,
        sees_images=True,
        relabels=False,
        hindsight={"": 0.0},
        hint="`sfp fit DATA --model parrot-image --out PRIOR`",
    ),
    "parrot-action": Method(
        _parrot,
        "SAC in the noise space of a state-free flow",
        takes="prior",
        needs="actions",
        match=ACTIONS,
        check=_flow_of_actions,
        follows=False,
    ),
    "sac-kl": Method(
        _kl,
        "SAC with the divergence from a Gaussian prior in place of the entropy",
        takes="prior",
        needs="actions (and states, for a prior that sees them)",
        match="action space (and what a prior with states sees)",
        check=_gaussian,
        hint="`sfp fit DATA --model gaussian --out PRIOR`",
        alpha={"": 2e-3},
        defaults=UNIFORM,
    ),
    "spirl": Method(
        _spirl,
        "SAC over skills of ten actions, near a prior of which skill fits the state",
        takes="prior",
        needs="actions, states (and goals, if the skills are to see them)",
        match="action space, what the skills see",
        check=_skills,
        follows=False,
        hindsight={"": 0.0},
        relabels=False,
        hint="`sfp fit DATA --model skills --out PRIOR`",
        alpha={"": 1.0},
        options=("target_divergence",),
        keeps=("alpha",),
    ),
    "sac-pink": Method(
        _noisy(lambda r: Colored(r.noise_exponent, r.noise_horizon)),
        "SAC with pink (or otherwise coloured) exploration noise",
        options=("noise_exponent", "noise_horizon"),
    ),
    "sac-ou": Method(
        _noisy(lambda r: OrnsteinUhlenbeck(r.noise_theta)),
        "SAC with Ornstein-Uhlenbeck exploration noise",
        options=("noise_theta",),
    ),
    "sac-zeta": Method(
        _noisy(lambda r: Zeta(2.0, r.noise_longest)),
        "SAC with exploration noise held for a Zeta-distributed number of steps",
        options=("noise_longest",),
    ),
    "rlpd": Method(
        _rlpd,
        "SAC with half of every batch from recordings and normalised critics",
        takes="data",
        needs="actions, states, goals",
        match="action space, observations, goals",
        columns=("observations", "goals"),
        refused={
            "meta-world": "the rewards of recordings would compare one task's goal "
            "with what another moves, such as a puck with the fingers"
        },
    ),
}
OPTIONS = {name for method in METHODS.values() for name in method.options}
"""What only some methods have."""


def requirements() -> list[dict[str, str]]:
    """Method x what recordings must contain x what must match; the docs show it."""
    return [
        {
            "method": name,
            "training takes": {"prior": "--prior", "data": "--data"}.get(m.takes, "-"),
            "recordings must contain": m.needs,
            "recordings and task must share": m.match,
        }
        for name, m in METHODS.items()
    ]


def usual_method(preset: str) -> str:
    """The method of a run that names none: ours, or the paper's."""
    return "sfp" if preset == "paper" else "sfp-quick"


def get_method(
    name: str, priors: tuple[Prior, ...] = (), data: object = None
) -> Method:
    """The method of that name, if it has what it needs and nothing else."""
    if name not in METHODS:
        raise unknown("method", name, METHODS, "See `sfp list methods`.")
    method = METHODS[name]
    if method.takes == "prior":
        if not priors:
            raise SfpError(f"method {name} needs a prior: {method.hint}.")
        if len(priors) > 1 and not method.several:
            raise SfpError(
                f"method {name} takes one prior, received {len(priors)}: only sfp and "
                "sfp-quick mix several."
            )
        for prior in priors:
            method.check(name, prior)
    elif priors:
        raise SfpError(f"method {name} takes no prior: leave it out.")
    if method.takes == "data" and data is None:
        raise SfpError(
            f"method {name} needs recordings with {method.needs}: give them as data "
            "(--data sfp/room/scripted-v0, see `sfp list datasets`)."
        )
    if method.takes != "data" and data is not None:
        raise SfpError(f"method {name} learns from no recordings: leave out data.")
    return method
