"""Acting in the world: one running episode, its memory, and what is logged of it."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from sfp.agents.base import Agent, Memory
from sfp.data.replay import EpisodeReplay, Moment
from sfp.errors import SfpError
from sfp.training.evaluate import TEST_SEEDS
from sfp.training.world import Outcome, Sight, World


def episode_seed(seed: int, episode: int) -> int:
    """The seed of a training episode: 31 bits, of the run's seed and its number.

    Never one of a test episode.
    """
    drawn = int(np.random.SeedSequence([seed, 1, episode]).generate_state(1)[0] >> 1)
    return drawn + 2**31 if drawn in TEST_SEEDS else drawn


class Rollout:
    """The running episode.

    All randomness is a function of the run's seed and of the step or episode, so that a
    resumed run needs no random state.

    Args:
        world: to act in.
        agent: who acts.
        replay: gets every moment.
        seed: of the run.
        key: for everything that the agent draws.
        warmup: steps of initial exploration.
    """

    def __init__(
        self,
        world: World,
        agent: Agent,
        replay: EpisodeReplay,
        *,
        seed: int,
        key: PRNGKeyArray,
        warmup: int,
    ):
        self.world, self.replay, self.seed, self.warmup = world, replay, seed, warmup
        act_key, begin_key = jax.random.split(key)

        def act(phase):
            def step(actor, memory, obs, step):
                key = jax.random.fold_in(act_key, step)
                return agent.act(actor, memory, obs, key=key, phase=phase)

            return jax.jit(step)

        self._act = {"warmup": act("warmup"), "train": act("train")}
        self._begin = jax.jit(lambda e: agent.begin(jax.random.fold_in(begin_key, e)))
        self.step = self.episode = 0
        self.memory: Memory = self._begin(np.uint32(0))
        self.actions: list[np.ndarray] = []
        self.pending: dict[str, list[float]] = {}
        self.total, self.success = 0.0, None
        self.exact = True
        self._sight: Sight | None = None

    def explore(self, actor: Any, count: int) -> None:
        """Some steps of Algorithm 1, lines 4 to 11."""
        if self._sight is None:
            self._new_episode()
        for _ in range(count):
            assert self._sight is not None
            phase = "warmup" if self.step < self.warmup else "train"
            decision, self.memory = self._act[phase](
                actor, self.memory, self._sight.state, np.uint32(self.step)
            )
            action = np.asarray(decision.action)
            outcome = self.world.step(action)
            self.step += 1
            self.actions.append(action)
            self._sight = outcome.sight
            self.replay.add(
                np.asarray(decision.learned),
                outcome.reward,
                self._moment(),
                terminated=outcome.terminated,
            )
            for name, value in decision.info.items():
                self.note(name, float(value))
            self._account(outcome)
            if outcome.terminated or outcome.truncated:
                self._end_episode()

    def note(self, name: str, value: float) -> None:
        """Keep a number for the next row of the log."""
        self.pending.setdefault(name, []).append(value)

    def summary(self) -> dict[str, float | None]:
        """A row of `train.csv` from what was noted since the last one."""
        noted, self.pending = self.pending, {}
        mixing, prior = noted.pop("mixing", []), noted.pop("prior", [])
        row: dict[str, float | None] = {
            "charts/episodes": float(self.episode),
            **{name: float(np.mean(values)) for name, values in noted.items()},
        }
        if mixing:
            row["mixing/mean"] = float(np.mean(mixing))
            row["mixing/prior_share"] = float(np.mean(prior))
            for percent in (10, 50, 90):
                row[f"mixing/p{percent}"] = float(np.percentile(mixing, percent))
        return row

    def restore(self, saved: dict[str, Any], memory: Memory, actions: Any) -> None:
        """Come back to a stored moment by playing its episode again.

        If the world does not follow, a new episode begins: `exact` is False from then.
        """
        self.step, self.episode = saved["step"], saved["episode"]
        self.total, self.success = saved["total"], saved["success"]
        self.pending = {k: list(v) for k, v in saved["pending"].items()}
        self.memory = jax.tree.map(jnp.asarray, memory)
        self.actions, self.exact = list(np.asarray(actions)), saved["exact"]
        self._sight = self._replayed()
        if self._sight is not None:
            return
        warnings.warn(
            f"{self.world.name} did not come back to the stored observation: the run "
            "goes on with a new episode, but not bit for bit.",
            stacklevel=2,
        )
        self.exact = False
        self.episode += 1
        self._new_episode()

    def saved(self) -> dict[str, Any]:
        """What `restore` needs besides memory and actions."""
        return {
            "step": self.step,
            "episode": self.episode,
            "total": self.total,
            "success": self.success,
            "pending": self.pending,
            "exact": self.exact,
        }

    def _replayed(self) -> Sight | None:
        """What the stored actions lead to, if that is what they led to before."""
        try:
            sight = self.world.reset(episode_seed(self.seed, self.episode))
            for action in self.actions:
                outcome = self.world.step(action)
                if outcome.terminated or outcome.truncated:
                    return None
                sight = outcome.sight
        except SfpError:  # a world that errs when it is not as it was
            return None
        newest = (self.replay.count - 1) % self.replay.capacity
        same = all(
            np.array_equal(getattr(sight, part), self.replay.columns[part][newest])
            for part in ("obs", "achieved", "goal")
        )
        return sight if same else None

    def _new_episode(self) -> None:
        self._sight = self.world.reset(episode_seed(self.seed, self.episode))
        self.memory = self._begin(np.uint32(self.episode))
        self.actions, self.total, self.success = [], 0.0, None
        self.replay.begin(self._moment())

    def _end_episode(self) -> None:
        self.note("charts/episodic_return", self.total)
        self.note("charts/episodic_length", float(len(self.actions)))
        if self.success is not None:
            self.note("charts/success_rate", float(self.success))
        self.episode += 1
        self._new_episode()

    def _account(self, outcome: Outcome) -> None:
        self.total += outcome.reward
        if outcome.success is not None:
            self.success = bool(self.success) or outcome.success

    def _moment(self) -> Moment:
        assert self._sight is not None
        history = np.asarray(self.memory.history).ravel()
        bank = np.asarray(self.memory.bank)
        sight = self._sight
        return Moment(sight.obs, sight.achieved, sight.goal, history, bank)
