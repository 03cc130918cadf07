"""RLPD: half of every batch comes from the recordings, critics are normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxtyping import PRNGKeyArray

from sfp.agents.sac import SAC
from sfp.data.trajectories import Trajectories
from sfp.nets.layernorm import NormedMLP
from sfp.nets.mlp import MLP


@dataclass(frozen=True, eq=False)
class RLPD(SAC):
    """SAC with layer-normalised critics.

    Where its batches come from is the replay's business (`data/demonstrations.py`).

    Attributes:
        demonstrations: half of every batch; it holds observations and goals.
    """

    demonstrations: Trajectories = field(kw_only=True)

    def critic(self, sizes: Sequence[int], key: PRNGKeyArray) -> MLP:
        """Normalised within each sample: values stay bounded away from the data."""
        return NormedMLP(sizes, key=key)
