"""A running episode: what it has done, its memory, and what the replay gets of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfp.agents.base import Memory
from sfp.data.replay import EpisodeReplay, TimeStep
from sfp.envs.adapter import Observed, Outcome
from sfp.envs.vector import Environments
from sfp.errors import SfpError
from sfp.training.evaluate import TEST_SEEDS


def episode_seed(seed: int, episode: int) -> int:
    """The seed of a training episode: 31 bits, of the run's seed and its number.

    Never one of a test episode.
    """
    drawn = int(np.random.SeedSequence([seed, 1, episode]).generate_state(1)[0] >> 1)
    return drawn + 2**31 if drawn in TEST_SEEDS else drawn


SAVED: dict[str, Any] = {
    "episode": int,
    "actions": int,
    "total": int | float,
    "success": bool | float | None,
}
"""What a checkpoint says of a running episode, and of which types."""


@dataclass(eq=False)
class Running:
    """The episode that goes on in one of the environments.

    Attributes:
        number: of the episode; its seed follows from it.
        replay: gets every time step at which the agent chooses.
        memory: the agent's.
        actions: all that were executed.
        total: the sum of its rewards.
        success: whether there was one; None while the environment has not said.
        observed: what the environment shows now; None before the first reset.
        whose: who acts in all of it, if the schedule shares episodes out after the
            warm-up; empty otherwise.
    """

    number: int
    replay: EpisodeReplay
    memory: Memory
    actions: list[np.ndarray] = field(default_factory=list)
    total: float = 0.0
    success: bool | float | None = None
    observed: Observed | None = None
    whose: str = ""

    def begin(self, observed: Observed, memory: Memory, whose: str = "") -> None:
        self.observed, self.memory, self.whose = observed, memory, whose
        self.actions, self.total, self.success = [], 0.0, None
        self.replay.begin(self._time_step())

    def store(
        self, action: np.ndarray, chosen: np.ndarray | None, outcome: Outcome
    ) -> None:
        """A new choice, or more of what the last one led to."""
        self.actions.append(action)
        self.observed, over = outcome.observed, outcome.terminated
        self.total += outcome.reward
        if outcome.success is not None:
            self.success = bool(self.success) or outcome.success
        if chosen is None:
            self.replay.amend(outcome.reward, self._time_step(), terminated=over)
        else:
            self.replay.add(chosen, outcome.reward, self._time_step(), terminated=over)

    def shows(self, observed: Observed) -> bool:
        """Whether this is what the replay holds as the newest observation."""
        newest, columns = self.replay.newest_step, self.replay.columns
        shown = {"obs": observed.obs.state, "goal": observed.obs.goal}
        shown["achieved"] = observed.achieved
        if "image" in columns:
            shown["image"] = self.replay.newest_frame(observed.obs.image)
        return all(
            np.array_equal(part, columns[name][newest])
            for name, part in shown.items()
            if name in columns
        )

    @property
    def place(self) -> np.ndarray:
        """Where it is: the achieved goal where there are goals, or else the state."""
        assert self.observed is not None
        obs, achieved = self.observed.obs, self.observed.achieved
        return achieved if obs.goal.size else obs.state

    def saved(self) -> dict[str, Any]:
        """What a checkpoint says of it besides its arrays."""
        told = {"episode": self.number, "total": self.total, "success": self.success}
        whose = {"whose": self.whose} if self.whose else {}
        return told | {"actions": len(self.actions)} | whose

    def _time_step(self) -> TimeStep:
        assert self.observed is not None
        obs, history = self.observed.obs, self.memory.history.ravel()
        return TimeStep(obs.state, self.observed.achieved, obs.goal, history, obs.image)


def play_again(
    environments: Environments, running: Sequence[Running], seed: int
) -> list[Observed | None]:
    """What the stored actions lead to; None where they led elsewhere before.

    Environments are stepped together, so episodes begin at different times in order to
    come to their stored time steps at once. Until its own begins, an environment plays
    one that is thrown away.

    Args:
        environments: to play in.
        running: the episodes, with their actions.
        seed: of the run.
    """
    longest = max((one.actions for one in running), key=len)
    begins = [len(longest) - len(one.actions) for one in running]
    seeds = {i: episode_seed(seed, one.number) for i, one in enumerate(running)}
    found: dict[int, Observed] = {}
    ended, lost = set(seeds), set()
    try:
        for t in range(len(longest) + 1):
            due = ended | {i for i, begin in enumerate(begins) if begin == t}
            if due:
                found |= environments.reset({i: seeds[i] for i in sorted(due)})
            if t == len(longest):
                break
            actions = [
                one.actions[t - begin] if t >= begin else 0.0 * longest[t]
                for one, begin in zip(running, begins, strict=True)
            ]
            outcomes = dict(enumerate(environments.step(actions)))
            found = {i: outcome.observed for i, outcome in outcomes.items()}
            ended = {i for i, o in outcomes.items() if o.terminated or o.truncated}
            lost |= {i for i in ended if t >= begins[i]}
    except SfpError:  # an environment that errs when it is not as it was
        return [None for _ in running]
    return [
        found[i] if i not in lost and one.shows(found[i]) else None
        for i, one in enumerate(running)
    ]
