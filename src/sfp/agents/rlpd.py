"""RLPD: half of every batch comes from the recordings, critics are normalised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sfp.agents.base import make_replay
from sfp.agents.sac import SAC
from sfp.config import Schedule
from sfp.data.demonstrations import HalfReplay, fill_replay
from sfp.data.replay import EpisodeReplay
from sfp.data.trajectories import Trajectories
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.nets.layernorm import NormedMLP
from sfp.nets.mlp import MLP

PROBES = 10
"""Episodes whose beginnings show where an observation holds the achieved goal."""


@dataclass(frozen=True, eq=False)
class RLPD(SAC):
    """SAC with layer-normalised critics and demonstrations in every batch.

    Attributes:
        critic: normalised within each sample: values stay bounded away from the data.
        demonstrations: half of every batch; it holds observations and goals.
    """

    critic: Callable[..., MLP] = NormedMLP
    demonstrations: Trajectories = field(kw_only=True)

    def replay(self, schedule: Schedule, environment: Environment) -> EpisodeReplay:
        """With the recordings for one half of every batch."""
        if not environment.has_goals:
            raise SfpError(
                "method rlpd needs goals: the rewards of recordings follow from them, "
                f"and {environment.name} has none."
            )
        try:
            environment.check_hindsight()
        except SfpError as error:
            raise SfpError(
                f"method rlpd computes the rewards of recordings: {error}"
            ) from None
        filled = fill_replay(
            self.demonstrations,
            part=achieved_part(environment),
            reward=environment.rewards,
            n_step=schedule.n_step or 1,
            gamma=schedule.gamma,
            hindsight=schedule.hindsight or 0.0,
            unmet=schedule.hindsight_goals == "unmet",
        )
        return make_replay(
            self, schedule, environment, kind=HalfReplay, demonstrations=filled
        )


def achieved_part(environment: Environment) -> slice:
    """Where an observation holds the goal that it achieves."""
    rng, seen = np.random.default_rng(0), []
    spec = environment.spec
    for seed in range(PROBES):
        seen.append(environment.reset(seed))
        outcome = environment.step(rng.uniform(-1.0, 1.0, spec.action))
        seen.append(outcome.observed)
    for first in range(spec.state - spec.goal + 1):
        part = slice(first, first + spec.goal)
        if all(np.array_equal(s.obs.state[part], s.achieved) for s in seen):
            return part
    raise SfpError(
        f"{environment.name} does not show the achieved goal within its observation: "
        "method rlpd cannot tell what recorded states achieved."
    )
