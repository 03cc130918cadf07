"""Acting in the environments: the running episodes and their log."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sfp.agents.base import Agent, Mixes, Phase, Turn
from sfp.agents.controller import Controller, Greedy
from sfp.agents.own import check_led
from sfp.config import Schedule, settle
from sfp.data.lanes import Replay
from sfp.envs.adapter import Outcome
from sfp.envs.vector import Environments
from sfp.errors import SfpError
from sfp.training.frontier import Frontier
from sfp.training.running import SAVED, Running, episode_seed, play_again

SHARED: dict[str, Any] = {"step": int, "pending": dict, "exact": bool}
"""What a checkpoint says of a rollout, and of which types."""

EXPLORER, GREEDY, OWN = "explorer", "greedy", "own"
"""Whose an episode after the warm-up is: of its explorer, or of the agent, which may
act by its policy's mean."""

RECENT = 10
"""Own episodes that tell how often a reward is met without the explorer."""


class Rollout:
    """The running episodes, one in each environment.

    All randomness is a function of the run's seed and of the step or episode, so that a
    resumed run needs no random state.

    Args:
        environments: to act in.
        agent: who acts.
        replay: gets every time step at which the agent chooses; it has a lane for each
            environment.
        seed: of the run.
        key: for the proposals that the replay keeps.
        schedule: says how long the warm-up lasts, and who acts in it.

    Attributes:
        ended: how many episodes have ended.
        recent: whether the last own episodes after the warm-up have met a reward.
        flat: what every reward was so far, while no episode has ended by itself; None
            once rewards differ or one has.
        first_reward: the step of the first reward above 0, or the first success.
    """

    def __init__(
        self,
        environments: Environments,
        agent: Agent,
        replay: Replay,
        *,
        seed: int,
        key: PRNGKeyArray,
        schedule: Schedule,
    ):
        self.environments, self.replay, self.seed = environments, replay, seed
        self.schedule = settle(schedule, {})
        self.first_reward: int | None = None
        self.agent, self._key = agent, key
        self._propose = jax.jit(agent.propose)
        self._shows_states = (
            isinstance(agent, Mixes)
            and agent.sees_states
            and replay.sizes.priors == agent.components
        )
        self.step = self.ended = 0
        blank = agent.begin(np.random.default_rng(0))
        self.running = [Running(i, lane, blank) for i, lane in enumerate(replay.lanes)]
        self.pending: dict[str, list[float]] = {}
        self.recent: list[bool] = []
        self.flat: float | None = np.nan  # before the first reward
        self.told = self._warned = False
        self.exact = True
        stays = self.schedule.frontier
        alike = agent.spec.goal > 0
        count = len(self.running)
        self.frontier = Frontier(stays, count, alike=alike) if stays else None

    def explore(self, actor: Any, count: int) -> None:
        """Some steps of Algorithm 1, lines 4 to 11; each environment has its share."""
        rng = np.random.default_rng([self.seed, 3, self.step])
        actor = jax.tree.map(np.asarray, actor)
        if self.schedule.greedy_episodes:
            self._greedy = _without_memory(self.agent.controller(actor))
        firsts = [one.replay.count for one in self.running]
        share = count // len(self.running)
        if self.frontier:
            self.frontier.look_again()
        self._begin([one for one in self.running if one.observed is None], rng)
        for _ in range(share):
            self._step(actor, rng)
        if self.replay.sizes.bank:
            for lane, first in enumerate(firsts):
                self._fill_bank(lane, first, share + 2)

    def _step(self, actor: Any, rng: np.random.Generator) -> None:
        """One step in every environment."""
        decisions, phase = [], self._phase()
        if phase == "train" and not self.schedule.explore_episodes:
            self.frontier = None
        for i, one in enumerate(self.running):
            assert one.observed is not None
            alone = self._explorer() if one.whose == EXPLORER else phase
            led = self.frontier if alone != "train" else None
            given = led.lead(i, rng) if led else None
            if one.whose == GREEDY:
                given, _ = self._greedy.act((), one.observed.obs, rng)
            turn = Turn(one.observed.obs, rng, alone, given)
            decision, one.memory = self.agent.act(actor, one.memory, turn)
            if given is not None:
                check_led(self.agent, given, decision)
            decisions.append(decision)
        outcomes = self.environments.step([d.action for d in decisions])
        over = []
        told = zip(self.running, decisions, outcomes, strict=True)
        for i, (one, decision, outcome) in enumerate(told):
            self.step += 1
            one.store(decision.action, decision.chosen, outcome)
            if self.frontier:
                ended = outcome.terminated
                self.frontier.see(i, decision.action, one.place, ended=ended)
            for name, value in decision.info.items():
                self.note(name, value)
            self._account(outcome)
            if outcome.terminated or outcome.truncated:
                self._end(one)
                over.append(one)
        self._begin(over, rng)

    @property
    def informed(self) -> bool:
        """Whether there is something to learn from.

        That is a first reward or success, or, once the warm-up's limit is over, rewards
        that differ or episodes that end by themselves.
        """
        limit = self.schedule.warmup_limit
        late = bool(limit and self.step >= limit)
        return self.first_reward is not None or (late and self.flat is None)

    def paid_since(self, steps: int) -> bool:
        """Whether the first reward came in the last steps."""
        first = self.first_reward
        return first is not None and first > self.step - steps

    def note(self, name: str, value: float) -> None:
        """Keep a number for the next row of the log."""
        self.pending.setdefault(name, []).append(value)

    def summary(self) -> dict[str, float | None]:
        """A row of `train.csv` from what was noted since the last one."""
        noted, self.pending = self.pending, {}
        row: dict[str, float | None] = {"charts/episodes": float(self.ended)}
        for name, values in noted.items():
            if name in self.agent.spread:
                row[f"{name}/mean"] = float(np.mean(values))
                for percent in (10, 50, 90):
                    row[f"{name}/p{percent}"] = float(np.percentile(values, percent))
            else:
                row[name] = float(np.mean(values))
        return row

    def restore(self, saved: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Come back to a stored time step by playing its episodes again.

        If an environment does not follow, a new episode begins and `exact` is False.

        Args:
            saved: what `saved` gave.
            arrays: what `arrays` gave.
        """
        self.step, self.ended = saved["step"], saved.get("ended", saved["episode"])
        self.told = saved.get("told", saved["success"] is not None)
        self.first_reward = saved.get("first_reward")
        self.pending = {k: list(v) for k, v in saved["pending"].items()}
        self.recent = list(saved.get("recent", ()))
        self.flat = saved.get("flat")
        self.exact = saved["exact"]
        held = [arrays, *arrays.get("others", ())]
        for one, told, part in zip(self.running, _each(saved), held, strict=True):
            one.number, one.total = told["episode"], told["total"]
            one.success, one.memory = told["success"], part["memory"]
            one.whose = told.get("whose", "")
            one.actions = list(np.asarray(part["actions"]))
        if self.frontier:
            if "frontier" in saved:
                self.frontier.restore(saved["frontier"], arrays["frontier"])
            else:
                self.frontier = None
        found = play_again(self.environments, self.running, self.seed)
        for one, observed in zip(self.running, found, strict=True):
            one.observed = observed
        lost = [one for one in self.running if one.observed is None]
        if not lost:
            return
        warnings.warn(
            f"{self.environments.name} did not come back to the stored observation: "
            "the run goes on with a new episode, but not bit for bit.",
            stacklevel=2,
        )
        self.exact = False
        for one in lost:
            self._renumber(one)  # `explore` begins it

    def check(self, saved: dict[str, Any]) -> None:
        """Raise unless `restore` can work with this."""
        rows = [(saved, SHARED), *((told, SAVED) for told in _each(saved))]
        for told, kinds in rows:
            for name, kind in kinds.items():
                if not isinstance(told[name], kind):
                    raise TypeError(f"{name} is {str(told[name])[:40]!r}")
        for name in ("first_reward", "ended"):
            if not isinstance(saved.get(name), int | None):
                raise TypeError(f"{name} is {str(saved[name])[:40]!r}")
        if not isinstance(saved.get("flat"), int | float | None):
            raise TypeError(f"flat is {str(saved['flat'])[:40]!r}")
        if not all(type(met) is bool for met in saved.get("recent", ())):
            raise TypeError(f"recent is {str(saved['recent'])[:40]!r}")
        known = ("", EXPLORER, OWN, *([GREEDY] * bool(self.schedule.greedy_episodes)))
        for told in _each(saved):
            if told.get("whose", "") not in known:
                raise ValueError(f"whose is {str(told['whose'])[:40]!r}")
            step, episode, actions = saved["step"], told["episode"], told["actions"]
            if not (0 <= actions <= step < 2**62 and abs(episode) < 2**62):
                raise ValueError(f"step {step} of episode {episode} after {actions}")
        if self.frontier and "frontier" in saved:
            self.frontier.check(saved["frontier"])
        for values in saved["pending"].values():
            np.asarray(values, np.float64).reshape(len(values))

    def saved(self) -> dict[str, Any]:
        """What `restore` needs besides arrays; of one environment it is flat."""
        first, *others = self.running
        shared = {
            "step": self.step,
            "told": self.told,
            "pending": self.pending,
            "exact": self.exact,
            "first_reward": self.first_reward,
        }
        if self.schedule.warmup_limit and self.first_reward is None:
            shared["flat"] = self.flat
        if self.schedule.explore_episodes:
            shared["recent"] = self.recent
        if self.frontier:
            shared["frontier"] = self.frontier.saved()
        if others:
            shared["others"] = [one.saved() for one in others]
            shared["ended"] = self.ended
        return first.saved() | shared

    def arrays(self, saved: dict[str, Any]) -> dict[str, Any]:
        """Memories and actions, of the sizes that `saved` tells."""
        held, dims = [], self.agent.spec.action
        for one, told in zip(self.running, _each(saved), strict=True):
            actions = np.zeros((told["actions"], dims), np.float32)
            if len(one.actions) == len(actions) > 0:
                actions = np.stack(one.actions)
            held.append({"memory": one.memory, "actions": actions})
        first, *others = held
        more: dict[str, Any] = {"others": others} if others else {}
        if self.frontier and "frontier" in saved:
            spec = self.agent.spec
            size = spec.goal or spec.state
            more["frontier"] = self.frontier.arrays(saved["frontier"], size, dims)
        return first | more

    def _phase(self) -> Phase:
        schedule = self.schedule
        waits = schedule.warmup_until == "reward" and not self.informed
        if self.step >= (schedule.warmup or 0) and not waits:
            return "train"
        return self._explorer()

    def _explorer(self) -> Phase:
        return "uniform" if self.schedule.warmup_by == "uniform" else "warmup"

    def _whose(self, episode: int) -> str:
        """Whose a new episode is: the explorer's while too few others meet a reward.

        Without a first reward there are perhaps none above 0, and nobody's fails.
        """
        explores, greedy = self.schedule.explore_episodes, self.schedule.greedy_episodes
        if not (explores or greedy) or self._phase() != "train":
            return ""
        failed = 1.0 - sum(self.recent) / max(1, len(self.recent))
        if self.first_reward is None:
            failed = 0.0
        tosses = np.random.default_rng([self.seed, 4, episode]).random(2)
        if tosses[0] < (explores or 0.0) * failed:
            return EXPLORER
        return GREEDY if tosses[1] < (greedy or 0.0) else OWN

    def _fill_bank(self, lane: int, first: int, size: int) -> None:
        """Let the priors propose for new time steps, `size` at a time: one program."""
        replay = self.running[lane].replay
        first = max(first, replay.count - replay.capacity)
        histories = replay.histories(first, states=self._shows_states)
        key, proposals = jax.random.fold_in(self._key, self.step), []
        key = jax.random.fold_in(key, lane) if lane else key
        for start in range(0, len(histories), size):
            part = histories[start : start + size]
            padded = np.pad(part, ((0, size - len(part)), (0, 0)))
            drawn = self._propose(jax.random.fold_in(key, start), padded)
            proposals.append(np.asarray(drawn)[: len(part)])
        replay.fill(first, np.concatenate(proposals))

    def _begin(self, them: Sequence[Running], rng: np.random.Generator) -> None:
        """New episodes."""
        which = {self.running.index(one): one for one in them}
        seeds = {i: episode_seed(self.seed, one.number) for i, one in which.items()}
        found = self.environments.reset(seeds) if seeds else {}
        for i, observed in found.items():
            whose = self._whose(which[i].number)
            which[i].begin(observed, self.agent.begin(rng), whose)
            if self.frontier:
                self.frontier.begin(i, which[i].place, self.agent.spec.action)

    def _end(self, one: Running) -> None:
        self.note("charts/episodic_return", one.total)
        self.note("charts/episodic_length", float(len(one.actions)))
        if self.told:  # some environments speak of success only when there is one
            self.note("charts/success_rate", float(bool(one.success)))
        if one.whose in (OWN, GREEDY):
            met = bool(one.success) or one.total > 0
            self.recent = [*self.recent, met][-RECENT:]
        self._renumber(one)

    def _renumber(self, one: Running) -> None:
        """The next episode: the first ones have the numbers of their environments."""
        self.ended += 1
        one.number = self.ended + len(self.running) - 1

    def _account(self, outcome: Outcome) -> None:
        if outcome.terminated and self.replay.hindsight and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.environments.name} ends episodes by itself: a goal given in "
                "hindsight does not end them, so its value is not that of a true one "
                "(docs/training.md).",
                stacklevel=2,
            )
        if self.first_reward is None and (outcome.reward > 0 or outcome.success):
            self.first_reward = self.step
        if self.flat is not None:
            same = np.isnan(self.flat) or outcome.reward == self.flat
            alike = same and not outcome.terminated
            self.flat = float(outcome.reward) if alike else None
        self.told = self.told or outcome.success is not None


def _each(saved: dict[str, Any]) -> list[dict[str, Any]]:
    """What is told of every running episode."""
    return [saved, *saved.get("others", ())]


def _without_memory(controller: Controller) -> Greedy:
    """The controller, if a checkpoint can do without its memory."""
    if not isinstance(controller, Greedy):
        raise SfpError(
            f"greedy episodes need a policy's mean (Greedy), received a "
            f"{type(controller).__name__}: set greedy_episodes to 0."
        )
    return controller
