"""Acting in the environment: one running episode, its memory and its log."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sfp.agents.base import Agent, Memory, Mixes, Phase, Turn
from sfp.config import Schedule, settle
from sfp.data.replay import EpisodeReplay, TimeStep
from sfp.envs.adapter import Environment, Observed, Outcome
from sfp.errors import SfpError
from sfp.training.evaluate import TEST_SEEDS


def episode_seed(seed: int, episode: int) -> int:
    """The seed of a training episode: 31 bits, of the run's seed and its number.

    Never one of a test episode.
    """
    drawn = int(np.random.SeedSequence([seed, 1, episode]).generate_state(1)[0] >> 1)
    return drawn + 2**31 if drawn in TEST_SEEDS else drawn


SAVED: dict[str, Any] = {
    "step": int,
    "episode": int,
    "actions": int,
    "total": int | float,
    "success": bool | float | None,
    "pending": dict,
    "exact": bool,
}
"""What a checkpoint says of a rollout, and of which types."""


class Rollout:
    """The running episode.

    All randomness is a function of the run's seed and of the step or episode, so that a
    resumed run needs no random state.

    Args:
        environment: to act in.
        agent: who acts.
        replay: gets every time step at which the agent chooses.
        seed: of the run.
        key: for the proposals that the replay keeps.
        schedule: says how long the warm-up lasts, and who acts in it.

    Attributes:
        first_reward: the step of the first reward above 0, or the first success.
    """

    def __init__(
        self,
        environment: Environment,
        agent: Agent,
        replay: EpisodeReplay,
        *,
        seed: int,
        key: PRNGKeyArray,
        schedule: Schedule,
    ):
        self.environment, self.replay, self.seed = environment, replay, seed
        self.schedule = settle(schedule, {})
        self.first_reward: int | None = None
        self.agent, self._key = agent, key
        self._propose = jax.jit(agent.propose)
        self._shows_states = isinstance(agent, Mixes) and agent.sees_states
        self.step = self.episode = 0
        self.memory: Memory = agent.begin(np.random.default_rng(0))
        self.actions: list[np.ndarray] = []
        self.pending: dict[str, list[float]] = {}
        self.total, self.success = 0.0, None
        self.told = self._warned = False
        self.exact = True
        self._observed: Observed | None = None

    def explore(self, actor: Any, count: int) -> None:
        """Some steps of Algorithm 1, lines 4 to 11."""
        rng = np.random.default_rng([self.seed, 3, self.step])
        actor, first = jax.tree.map(np.asarray, actor), self.replay.count
        if self._observed is None:
            self._new_episode(rng)
        for _ in range(count):
            assert self._observed is not None
            turn = Turn(self._observed.obs, rng, self._phase())
            decision, self.memory = self.agent.act(actor, self.memory, turn)
            outcome = self.environment.step(decision.action)
            self.step += 1
            self.actions.append(decision.action)
            self._observed = outcome.observed
            self._store(decision.chosen, outcome)
            for name, value in decision.info.items():
                self.note(name, value)
            self._account(outcome)
            if outcome.terminated or outcome.truncated:
                self._end_episode(rng)
        if self.replay.sizes.bank:
            self._fill_bank(first, count + 2)

    @property
    def warming(self) -> bool:
        """Whether the method's own explorer acts next."""
        return self._phase() == "warmup"

    @property
    def informed(self) -> bool:
        """Whether there is something to learn from, or the warm-up's limit is over."""
        limit = self.schedule.warmup_limit
        return self.first_reward is not None or bool(limit and self.step >= limit)

    def note(self, name: str, value: float) -> None:
        """Keep a number for the next row of the log."""
        self.pending.setdefault(name, []).append(value)

    def summary(self) -> dict[str, float | None]:
        """A row of `train.csv` from what was noted since the last one."""
        noted, self.pending = self.pending, {}
        row: dict[str, float | None] = {"charts/episodes": float(self.episode)}
        for name, values in noted.items():
            if name in self.agent.spread:
                row[f"{name}/mean"] = float(np.mean(values))
                for percent in (10, 50, 90):
                    row[f"{name}/p{percent}"] = float(np.percentile(values, percent))
            else:
                row[name] = float(np.mean(values))
        return row

    def restore(self, saved: dict[str, Any], memory: Memory, actions: Any) -> None:
        """Come back to a stored time step by playing its episode again.

        If the environment does not follow, a new episode begins and `exact` is False.
        """
        self.step, self.episode = saved["step"], saved["episode"]
        self.total, self.success = saved["total"], saved["success"]
        self.told = saved.get("told", saved["success"] is not None)
        self.first_reward = saved.get("first_reward")
        self.pending = {k: list(v) for k, v in saved["pending"].items()}
        self.memory = memory
        self.actions, self.exact = list(np.asarray(actions)), saved["exact"]
        self._observed = self._replayed()
        if self._observed is not None:
            return
        warnings.warn(
            f"{self.environment.name} did not come back to the stored observation: "
            "the run goes on with a new episode, but not bit for bit.",
            stacklevel=2,
        )
        self.exact = False
        self.episode += 1  # `explore` begins it

    @staticmethod
    def check(saved: dict[str, Any]) -> None:
        """Raise unless `restore` can work with this."""
        for name, kind in SAVED.items():
            if not isinstance(saved[name], kind):
                raise TypeError(f"{name} is {str(saved[name])[:40]!r}")
        if not isinstance(saved.get("first_reward"), int | None):
            raise TypeError(f"first_reward is {str(saved['first_reward'])[:40]!r}")
        step, episode, actions = (saved[k] for k in ("step", "episode", "actions"))
        if not (0 <= actions <= step < 2**62 and abs(episode) < 2**62):
            raise ValueError(f"step {step} of episode {episode} after {actions}")
        for values in saved["pending"].values():
            np.asarray(values, np.float64).reshape(len(values))

    def saved(self) -> dict[str, Any]:
        """What `restore` needs besides memory and actions."""
        return {
            "step": self.step,
            "episode": self.episode,
            "total": self.total,
            "success": self.success,
            "told": self.told,
            "pending": self.pending,
            "exact": self.exact,
            "first_reward": self.first_reward,
        }

    def _phase(self) -> Phase:
        schedule = self.schedule
        waits = schedule.warmup_until == "reward" and not self.informed
        if self.step >= (schedule.warmup or 0) and not waits:
            return "train"
        return "uniform" if schedule.warmup_by == "uniform" else "warmup"

    def _replayed(self) -> Observed | None:
        """What the stored actions lead to, if that is what they led to before."""
        try:
            observed = self.environment.reset(episode_seed(self.seed, self.episode))
            for action in self.actions:
                outcome = self.environment.step(action)
                if outcome.terminated or outcome.truncated:
                    return None
                observed = outcome.observed
        except SfpError:  # an environment that errs when it is not as it was
            return None
        newest, columns = self.replay.newest_step, self.replay.columns
        shown = {"obs": observed.obs.state, "goal": observed.obs.goal}
        shown |= {"achieved": observed.achieved, "image": observed.obs.image}
        same = all(
            np.array_equal(part, columns[name][newest])
            for name, part in shown.items()
            if name in columns
        )
        return observed if same else None

    def _fill_bank(self, first: int, size: int) -> None:
        """Let the priors propose for new time steps, `size` at a time: one program."""
        first = max(first, self.replay.count - self.replay.capacity)
        histories = self.replay.histories(first, states=self._shows_states)
        key, proposals = jax.random.fold_in(self._key, self.step), []
        for start in range(0, len(histories), size):
            part = histories[start : start + size]
            padded = np.pad(part, ((0, size - len(part)), (0, 0)))
            drawn = self._propose(jax.random.fold_in(key, start), padded)
            proposals.append(np.asarray(drawn)[: len(part)])
        self.replay.fill(first, np.concatenate(proposals))

    def _new_episode(self, rng: np.random.Generator) -> None:
        self._observed = self.environment.reset(episode_seed(self.seed, self.episode))
        self.memory = self.agent.begin(rng)
        self.actions, self.total, self.success = [], 0.0, None
        self.replay.begin(self._time_step())

    def _end_episode(self, rng: np.random.Generator) -> None:
        self.note("charts/episodic_return", self.total)
        self.note("charts/episodic_length", float(len(self.actions)))
        if self.told:  # some environments speak of success only when there is one
            self.note("charts/success_rate", float(bool(self.success)))
        self.episode += 1
        self._new_episode(rng)

    def _account(self, outcome: Outcome) -> None:
        if outcome.terminated and self.replay.hindsight and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.environment.name} ends episodes by itself: a goal given in "
                "hindsight does not end them, so its value is not that of a true one "
                "(docs/training.md).",
                stacklevel=2,
            )
        self.total += outcome.reward
        if self.first_reward is None and (outcome.reward > 0 or outcome.success):
            self.first_reward = self.step
        if outcome.success is not None:
            self.told, self.success = True, bool(self.success) or outcome.success

    def _store(self, chosen: np.ndarray | None, outcome: Outcome) -> None:
        """A new choice, or more of what the last one led to."""
        led_to, over = self._time_step(), outcome.terminated
        if chosen is None:
            self.replay.amend(outcome.reward, led_to, terminated=over)
        else:
            self.replay.add(chosen, outcome.reward, led_to, terminated=over)

    def _time_step(self) -> TimeStep:
        assert self._observed is not None
        obs, history = self._observed.obs, self.memory.history.ravel()
        return TimeStep(
            obs.state, self._observed.achieved, obs.goal, history, obs.image
        )
