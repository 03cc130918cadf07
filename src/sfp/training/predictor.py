"""A trained policy as Stable-Baselines3 asks for actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sfp.training.trained import Trained


class Predictor:
    """Has the `predict` of Stable-Baselines3, for its `evaluate_policy` and callbacks.

    Args:
        trained: the policy.
    """

    def __init__(self, trained: Trained):
        self.trained = trained

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,  # noqa: FBT001, FBT002  (theirs)
    ) -> tuple[np.ndarray, None]:
        """Actions for observations, and no state: the policy keeps its own memory.

        Args:
            observation: as `Trained.predict` takes it, also a batch.
            state: not looked at.
            episode_start: where an episode begins; a policy that acts through a flow of
                past actions forgets the last one then.
            deterministic: the mean, or else a sample.
        """
        if episode_start is not None and np.any(episode_start):
            self.trained.reset()
        return self.trained.predict(observation, deterministic=deterministic), None
