"""What every agent is: a frozen description and an arrays-only state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.agents.controller import Controller
from sfp.config import Schedule
from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay, Sizes
from sfp.envs.adapter import Environment
from sfp.observation import Obs, Spec

Phase: TypeAlias = Literal["uniform", "warmup", "train"]
"""Uniform actions or the method's own explorer at first, then the method proper."""

Metrics: TypeAlias = dict[str, Array]


class Decision(NamedTuple):
    """What an agent does at one time step; actions are scaled to [-1, 1].

    Attributes:
        action: for the environment.
        chosen: the action as the critic sees it: the same, unless the agent acts
            through a flow or a skill; None while an earlier choice goes on. The replay
            holds choices: the rewards until the next one belong to the last.
        info: numbers about the decision, for the log; the mean over its rows is kept.
    """

    action: Float[np.ndarray, " dims"]
    chosen: Float[np.ndarray, " chosen"] | None
    info: Mapping[str, float]


class Turn(NamedTuple):
    """What an agent is given to act upon.

    Attributes:
        obs: s_t, with its goal and image.
        rng: the randomness of the step.
        phase: of the run.
        given: an action that is taken in place of the agent's own: it is executed,
            stored and remembered as if the agent had chosen it.
    """

    obs: Obs
    rng: np.random.Generator
    phase: Phase
    given: Float[np.ndarray, " dims"] | None = None

    def uniform(self, dims: int) -> Float[np.ndarray, " dims"]:
        """A uniform action."""
        return self.rng.uniform(-1.0, 1.0, dims).astype(np.float32)


class Memory(NamedTuple):
    """An agent's memory within an episode: the paper's H_t.

    Attributes:
        history: the actions that priors see, oldest first, one prior after the other;
            (0, dims) without one.
        explorer: what an explorer or a skill remembers, as arrays.
    """

    history: Float[np.ndarray, "past dims"]
    explorer: Any = ()


@runtime_checkable
class Agent(Protocol):
    """Acts and learns. The loop never learns which method it runs.

    State, actor and memory are trees of arrays; randomness is an argument. Learning is
    JAX, acting is NumPy: it happens once per step of the environment.

    An agent may have `metrics`, the names of numbers that it logs and that train.csv
    has no column for otherwise, such as ("own/spread",).
    """

    @property
    def spec(self) -> Spec:
        """Sizes of observations and actions."""
        ...

    @property
    def spread(self) -> tuple[str, ...]:
        """The numbers of `Decision.info` whose percentiles are logged too."""
        ...

    def replay(self, schedule: Schedule, environment: Environment) -> EpisodeReplay:
        """An empty replay for what this agent stores (see `make_replay`)."""
        ...

    def init(self, key: PRNGKeyArray) -> Any:
        """The state before learning."""
        ...

    def prepare(self, state: Any, key: PRNGKeyArray) -> Any:
        """What is learned before the first step; a resumed run does not do it again."""
        ...

    def actor(self, state: Any) -> Any:
        """The part of a state that acting needs."""
        ...

    def begin(self, rng: np.random.Generator) -> Memory:
        """The memory at the beginning of an episode."""
        ...

    def act(self, actor: Any, memory: Memory, turn: Turn) -> tuple[Decision, Memory]:
        """One step of exploration; the actor's weights are NumPy arrays."""
        ...

    def controller(self, actor: Any) -> Controller:
        """Who acts in tests, without exploring; the actor's weights are NumPy."""
        ...

    def propose(
        self, key: PRNGKeyArray, histories: Float[Array, "steps history"]
    ) -> Float[Array, "steps bank proposals"]:
        """The proposals to keep with time steps, given what their priors see."""
        ...

    def update(
        self, state: Any, batch: Batch, key: PRNGKeyArray
    ) -> tuple[Any, Metrics]:
        """One gradient step for everything that learns."""
        ...


@runtime_checkable
class Mixes(Protocol):
    """What an agent has besides if it mixes several priors into its policy."""

    @property
    def components(self) -> int:
        """How many priors it mixes; the tables have columns for each of several."""
        ...

    @property
    def sees_states(self) -> bool:
        """Whether a prior sees them.

        `propose` is then given states and goals behind the histories, if the replay
        keeps proposals of all priors.
        """
        ...

    @property
    def tests_mixture(self) -> bool:
        """Whether the mixture is tested as it acts, beside the policy alone."""
        ...

    @property
    def each_step(self) -> Agent:
        """The same with a toss at every step, which tests of the mixture take."""
        ...


class AsItActs:
    """An agent as it acts in training after its warm-up, chance included.

    Args:
        agent: who acts.
        actor: what acting needs, NumPy weights.
    """

    def __init__(self, agent: Agent, actor: Any):
        self.agent, self.actor = agent, actor

    def begin(self, rng: np.random.Generator) -> Any:
        """The agent's own memory."""
        return self.agent.begin(rng)

    def act(
        self, memory: Any, obs: Obs, rng: np.random.Generator
    ) -> tuple[np.ndarray, Any]:
        """What it would do in training."""
        turn = Turn(obs, rng, "train")
        decision, memory = self.agent.act(self.actor, memory, turn)
        return decision.action, memory


class Keys(NamedTuple):
    """The named randomness of one update; every agent splits it alike."""

    target: PRNGKeyArray
    policy: PRNGKeyArray
    choice: PRNGKeyArray
    prior: PRNGKeyArray

    @classmethod
    def split(cls, key: PRNGKeyArray) -> Keys:
        """From one key."""
        return cls(*jax.random.split(key, 4))


def make_replay(
    agent: Agent,
    schedule: Schedule,
    environment: Environment,
    *,
    bank: int = 0,
    priors: int = 1,
    chosen: int | None = None,
    kind: type[EpisodeReplay] = EpisodeReplay,
    **options: Any,
) -> EpisodeReplay:
    """The replay of an agent in an environment.

    Args:
        agent: says what a memory holds.
        schedule: n-step, discount, hindsight and capacity.
        environment: says what is observed and rewarded.
        bank: proposals kept with each time step, per prior.
        priors: of how many priors.
        chosen: dimensions of what is chosen; by default those of an action.
        kind: of replay.
        **options: of that kind.
    """
    spec = environment.spec
    sizes = Sizes(
        obs=spec.state,
        action=chosen or spec.action,
        goal=spec.goal,
        history=agent.begin(np.random.default_rng(0)).history.size,
        bank=bank,
        image=spec.image,
        frames=spec.frames,
        priors=priors,
    )
    return kind(
        schedule.kept,
        sizes,
        n_step=schedule.n_step or 1,
        gamma=schedule.gamma,
        hindsight=schedule.hindsight or 0.0,
        unmet=schedule.hindsight_goals == "unmet",
        reward=environment.rewards if environment.has_goals else None,
        **options,
    )
