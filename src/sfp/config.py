"""Every number of a run, with the paper's tables as defaults; names are unique."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from sfp.errors import SfpError, at_least, unknown

Context: TypeAlias = Literal["executed", "stream"]
EntropyWeight: TypeAlias = Literal["full", "mixed"]
LossAt: TypeAlias = Literal["state", "next", "target"]
Goals: TypeAlias = Literal["all", "true"]
HindsightGoals: TypeAlias = Literal["all", "unmet"]
TDValue: TypeAlias = Literal["sampled", "expected", "policy", "best"]
Until: TypeAlias = Literal["steps", "reward"]
WarmupBy: TypeAlias = Literal["method", "uniform"]

CAPACITY, IMAGES = 500_000, 200_000
"""Time steps that a replay keeps by default: of vectors, of images (the paper)."""

STANDARD: dict[str, Any] = {
    "warmup": 10_000,
    "warmup_by": "method",
    "warmup_until": "steps",
    "warmup_limit": 0,
    "update_from": "steps",
    "catch_up": 1,
    "head_start": 0,
    "n_step": 10,
    "hindsight_until": "steps",
    "hindsight_goals": "all",
    "critic_norm": False,
    "td_value": "sampled",
    "mixing_loss_at": "state",
    "mixing_goals": "all",
    "commit": 1.0,
    "frontier": 0,
    "explore_episodes": 0.0,
    "greedy_episodes": 0.0,
    "mixing_gradient_scale": 1e-9,
}
"""The settings that a method may have defaults of its own for, as the paper has them.

A setting that is None takes the method's default, or else this one.
"""


@dataclass(frozen=True)
class Schedule:
    """What happens when, and what is learned from.

    Attributes:
        steps: environment steps in all (125 epochs of 4000).
        warmup: steps of initial exploration (10,000; sfp-quick: 2,000).
        warmup_by: who explores at first: `method` is the method's own explorer (SFP's
            prior, the clone of sac-bc), `uniform` draws uniform actions (the default of
            sac-kl and sac-bc).
        warmup_until: `steps` ends the warm-up after `warmup` steps; `reward` goes on
            until the first reward above 0 or the first success.
        warmup_limit: with `reward`, steps of the warm-up at most, where rewards differ
            or episodes end by themselves, so that there is something to learn from; 0
            sets no limit (sfp-quick: 20,000).
        frontier: in the warm-up, and in explore_episodes after it, go to a place where
            few steps have been, by actions that led there before, then explore for this
            many steps; 0 never goes back (sfp-quick on point-mazes: 50).
        explore_episodes: after the warm-up, the share of episodes in which its explorer
            acts alone, while the other episodes meet no reward; it falls as more of
            these do. Against a policy that looks good to its critics only (sfp-quick on
            gym-mujoco, and with several priors: 0.5).
        greedy_episodes: after the warm-up, the share of the other episodes in which the
            policy acts by its mean, as in a test: noise can break what it has learned
            (sfp-quick on gym-mujoco: 0.5).
        update_after: steps before the first update.
        update_from: `reward` makes no update before the first reward (or the limit of
            the warm-up): nothing could be learned.
        catch_up: updates per step, at most, until those that `reward` left out have
            been made up for; 1 never makes up for them.
        head_start: with `reward`, at least this many updates count as left out; it
            needs a catch_up of 2 or more (sfp-quick: 8,000).
        iteration: environment steps, then as many updates.
        update_every: environment steps per update; 1 is one update per step.
        envs: environments that are stepped together; each has an equal share of every
            iteration and of the replay.
        batch: transitions per update.
        n_step: rewards summed before the critic is asked (10; sfp-quick on gym-mujoco:
            3, as ten steps are a gait).
        gamma: discount per step.
        hindsight: for each true goal this many achieved later in the episode; by
            default what suits method and suite (see docs/methods/sfp.md).
        hindsight_until: `reward` stops relabelling goals at the first reward.
        hindsight_goals: `unmet` leaves out goals that are met already when the action
            is taken, as an object that nobody has touched meets them; `all` leaves out
            none (sfp-quick: `unmet`, but `all` on point-mazes).
        capacity: time steps kept in the replay (500,000; of images 200,000).
        eval_every: steps between two evaluations.
        eval_episodes: test episodes per evaluation, always the same seeds.
        log_every: steps between two rows of train.csv.
        checkpoint_every: steps between two checkpoints.
        until_solved: stop once the task is solved, in two evaluations in a row.
        solved_at: the mean test return from which on the task counts as solved; by
            default success in every test episode decides, or where the environment does
            not tell success, its spec's reward_threshold.
    """

    steps: int = 500_000
    warmup: int | None = None
    warmup_by: WarmupBy | None = None
    warmup_until: Until | None = None
    warmup_limit: int | None = None
    frontier: int | None = None
    explore_episodes: float | None = None
    greedy_episodes: float | None = None
    update_after: int = 1_000
    update_from: Until | None = None
    catch_up: int | None = None
    head_start: int | None = None
    iteration: int = 50
    update_every: int = 1
    envs: int = 1
    batch: int = 100
    n_step: int | None = None
    gamma: float = 0.99
    hindsight: float | None = None
    hindsight_until: Until | None = None
    hindsight_goals: HindsightGoals | None = None
    capacity: int | None = None
    eval_every: int = 4_000
    eval_episodes: int = 10
    log_every: int = 1_000
    checkpoint_every: int = 4_000
    until_solved: bool = False
    solved_at: float | None = None

    def __post_init__(self):
        counts = ("steps", "iteration", "envs", "batch", "eval_every")
        counts += ("eval_episodes", "log_every", "checkpoint_every")
        at_least(1, **{name: getattr(self, name) for name in counts})
        at_least(1, update_every=self.update_every)
        at_least(1, n_step=1 if self.n_step is None else self.n_step)
        if self.update_every > self.iteration:
            raise SfpError(
                f"expected update_every of at most an iteration ({self.iteration}), "
                f"received {self.update_every}."
            )
        at_least(0, warmup=self.warmup or 0, update_after=self.update_after)
        at_least(0, warmup_limit=self.warmup_limit or 0)
        at_least(0, frontier=self.frontier or 0, head_start=self.head_start or 0)
        for name in ("explore_episodes", "greedy_episodes"):
            if not 0.0 <= (getattr(self, name) or 0.0) < 1.0:
                raise SfpError(
                    f"expected {name} within [0, 1), received {getattr(self, name)}."
                )
        at_least(1, catch_up=1 if self.catch_up is None else self.catch_up)
        _one_of(WarmupBy, warmup_by=self.warmup_by)
        _one_of(Until, warmup_until=self.warmup_until, update_from=self.update_from)
        _one_of(Until, hindsight_until=self.hindsight_until)
        _one_of(HindsightGoals, hindsight_goals=self.hindsight_goals)
        if self.steps < self.batch:
            raise SfpError(
                f"expected steps of at least a batch ({self.batch}), received "
                f"{self.steps}."
            )
        if self.iteration % self.envs:
            near = max(self.envs, self.iteration - self.iteration % self.envs)
            raise SfpError(
                f"expected an iteration that is a multiple of envs ({self.envs}), "
                f"received {self.iteration}: {near} would do."
            )
        if self.capacity is not None and self.kept < max(3, self.batch) * self.envs:
            each = f" for each of {self.envs} environments" if self.envs > 1 else ""
            raise SfpError(
                f"expected a capacity of at least a batch ({self.batch}){each}, "
                f"received {self.capacity}."
            )
        if self.hindsight is not None and not 0.0 <= self.hindsight < float("inf"):
            raise SfpError(
                f"expected hindsight of 0 or more, received {self.hindsight}."
            )
        if not 0.0 <= self.gamma < 1.0:
            raise SfpError(f"expected a gamma within [0, 1), received {self.gamma}.")

    @property
    def kept(self) -> int:
        """Time steps in the replay."""
        return CAPACITY if self.capacity is None else self.capacity


@dataclass(frozen=True)
class Networks:
    """Sizes and optimisation that every method shares.

    Attributes:
        width: hidden units of policy and critics.
        depth: hidden layers.
        learning_rate: of Adam.
        polyak: averaging rate of the target networks.
        alpha: inverse of the reward scale; by default what the paper uses for method
            and suite. With `tune_alpha`, where it begins.
        tune_alpha: adapt α to an entropy of minus the number of action dimensions.
        critic_norm: layer normalisation in the critics (sfp-quick and rlpd have it).
        encoder: what images are seen by: `patches`, made for CPUs, `conv`, the authors'
            three convolutions, or one of your own (sfp.register_encoder).
        target_encoder: whether the target critics see by a slow copy of the encoder, as
            in the authors' code; if not, by the encoder itself (DrQ-v2).
        shift: images are shifted by up to this many pixels in updates, at random, each
            by itself (DrQ); 0 is the paper.
    """

    width: int = 256
    depth: int = 2
    learning_rate: float = 1e-3
    polyak: float = 0.995
    alpha: float | None = None
    tune_alpha: bool = False
    critic_norm: bool | None = None
    encoder: str = "patches"
    target_encoder: bool = True
    shift: int = 0

    def __post_init__(self):
        at_least(1, width=self.width, depth=self.depth)
        at_least(0, shift=self.shift)
        if self.alpha is not None and self.alpha <= 0:
            raise SfpError(f"expected an alpha above 0, received {self.alpha}.")
        if not self.learning_rate > 0:
            raise SfpError(
                f"expected a learning_rate above 0, received {self.learning_rate}."
            )
        if not 0.0 <= self.polyak <= 1.0:
            raise SfpError(f"expected a polyak within [0, 1], received {self.polyak}.")


@dataclass(frozen=True)
class Mixture:
    """How a prior is mixed into SAC.

    Attributes:
        mixing_start: λ at the beginning.
        mixing_width: hidden units of Λ.
        mixing_depth: hidden layers of Λ.
        mixing_gradient_scale: Λ's gradients are scaled by this in front of Adam, whose
            ε of 1e-8 then dominates: it acts like plain descent with a small step. By
            default 1e-9, and for the paper's sfp 1e-7 on gym-mujoco.
        mixing_fixed: keep λ at this value instead of learning Λ.
        mixing_loss_at: where Λ's loss is taken: `state` is s_t (the paper), `next` is
            s_{t+n} (the authors' code), `target` is s_{t+n} with the values that the
            target was made of, `best` or `expected` (the default of several priors
            with such a target). Where an episode ended Λ learns nothing.
        mixing_goals: what Λ learns from: `all` goals (the paper), or `true` ones only,
            where hindsight relabels others. Shares of several priors learn from all.
        context: the prior continues the `executed` actions (the paper), or its own
            `stream` of proposals, executed or not.
        bank: proposals kept with each moment of the replay and drawn from in updates; 0
            asks the prior anew in every update, as is done of a single one that
            sees states, and with hindsight of each that does.
        entropy_weight: `mixed`: entropy and Q both count 1 - λ (the paper's loss), or
            `full`: only Q does (its derivation).
        td_value: the value of s_{t+n}: `sampled` tosses the coin for ã' (the paper),
            `expected` takes the mean over the coin, `policy` asks the policy alone,
            `best` takes the better of the policy's action and the priors' proposals.
        commit: steps, in the mean, that one toss decides who acts; 1 is the paper, 0 a
            toss for a whole episode, the default with several priors.
        test_mixture: test the mixture as it acts too, beside the policy alone; by
            default if there are several priors.
    """

    mixing_start: float = 0.95
    mixing_width: int = 128
    mixing_depth: int = 2
    mixing_gradient_scale: float | None = None
    mixing_fixed: float | None = None
    mixing_loss_at: LossAt | None = None
    mixing_goals: Goals | None = None
    context: Context = "executed"
    bank: int = 8
    entropy_weight: EntropyWeight = "mixed"
    td_value: TDValue | None = None
    commit: float | None = None
    test_mixture: bool | None = None

    def __post_init__(self):
        _one_of(Context, context=self.context)
        _one_of(EntropyWeight, entropy_weight=self.entropy_weight)
        _one_of(LossAt, mixing_loss_at=self.mixing_loss_at)
        _one_of(Goals, mixing_goals=self.mixing_goals)
        _one_of(TDValue, td_value=self.td_value)
        at_least(0, bank=self.bank)
        at_least(1, mixing_width=self.mixing_width, mixing_depth=self.mixing_depth)
        if self.commit and not 1.0 <= self.commit < float("inf"):
            raise SfpError(
                f"expected a commit of 1 or more, or 0 for a whole episode, received "
                f"{self.commit}."
            )
        if not 0.0 < self.mixing_start < 1.0:
            raise SfpError(
                f"expected mixing_start within (0, 1), received {self.mixing_start}."
            )
        if self.mixing_fixed is not None and not 0.0 <= self.mixing_fixed <= 1.0:
            raise SfpError(
                f"expected mixing_fixed within [0, 1], received {self.mixing_fixed}."
            )
        if self.mixing_loss_at == "target" and self.td_value in ("sampled", "policy"):
            raise SfpError(
                "expected td_value best or expected where mixing_loss_at is target, "
                f"received {self.td_value}, which has not asked for every value: set "
                "mixing_loss_at to state."
            )


@dataclass(frozen=True)
class Baselines:
    """Options of single baselines.

    Attributes:
        bc_epochs: passes over the recordings before `sac-bc` begins.
        polyrl_angle: mean angle between two actions of `sac-polyrl`'s walk.
        polyrl_variance: of that angle.
        polyrl_beta: how far the walk's spread may leave its expectation.
        noise_exponent: of `sac-pink`: power falls with frequency to this power; 0 is
            white, 1 pink, 2 red noise.
        noise_horizon: steps after which `sac-pink` makes new noise.
        noise_theta: of `sac-ou`: share of the noise that is forgotten in a step.
        noise_longest: of `sac-zeta`: steps that it holds its noise at most.
        target_divergence: of `spirl`: nats of KL(π || p) that α is tuned to.
    """

    bc_epochs: int = 10
    polyrl_angle: float = 0.35
    polyrl_variance: float = 0.017
    polyrl_beta: float = 0.01
    noise_exponent: float = 1.0
    noise_horizon: int = 500
    noise_theta: float = 0.15
    noise_longest: int = 16
    target_divergence: float = 5.0

    def __post_init__(self):
        at_least(0, bc_epochs=self.bc_epochs)
        at_least(1, noise_longest=self.noise_longest)
        at_least(2, noise_horizon=self.noise_horizon)
        for name, low, high in (
            ("polyrl_angle", 0.0, 1.57),
            ("polyrl_variance", 0.0, 1.0),
            ("polyrl_beta", 1e-9, 1.0 - 1e-9),
            ("noise_exponent", 0.0, 4.0),
            ("noise_theta", 1e-9, 1.0),
            ("target_divergence", 1e-9, 1e9),
        ):
            if not low <= getattr(self, name) <= high:
                raise SfpError(
                    f"expected {name} within [{low:g}, {high:g}], received "
                    f"{getattr(self, name)}."
                )


Group = TypeVar("Group", Schedule, Networks, Mixture, Baselines)
GROUPS = (Schedule, Networks, Mixture, Baselines)
"""Every setting has a name of its own in one of these."""

DEFAULTS: dict[str, Any] = {
    field.name: field.default for group in GROUPS for field in fields(group)
} | {"capacity": CAPACITY, **STANDARD}
GONE = {"scout": 0}
"""Settings of earlier versions, with the value that meant nothing."""

MIXTURE = tuple(field.name for field in fields(Mixture))


def settle(group: Group, own: Mapping[str, Any]) -> Group:
    """The group with nothing left to the method: its own defaults, then `STANDARD`."""
    left = [f.name for f in fields(group) if getattr(group, f.name) is None]
    table = {**STANDARD, **own}
    return replace(group, **{name: table[name] for name in left if name in table})


def _one_of(choices: Any, **given: str | None) -> None:
    """Refuse a word that means nothing, by its name."""
    for name, value in given.items():
        if value is not None and value not in get_args(choices):
            raise unknown(name, value, get_args(choices), "")
