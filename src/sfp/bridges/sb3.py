"""Stable-Baselines3 and SBX: their SAC, TD3 and DDPG explore by a prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from sfp.bridges.actor import PriorActor
from sfp.envs.scale import ActionScale
from sfp.errors import SfpError
from sfp.priors.several import Given

try:
    from stable_baselines3.common.callbacks import (  # pyright: ignore[reportMissingImports]
        BaseCallback,
    )
    from stable_baselines3.common.noise import (  # pyright: ignore[reportMissingImports]
        ActionNoise,
    )
except ImportError:
    raise SfpError(
        "this needs Stable-Baselines3: pip install 'state-free-priors[sb3]', or use "
        "sfp.PriorActor, which needs nothing."
    ) from None

Schedule = Callable[[float], float]
"""From the share of the training that is left, 1 to 0, as Stable-Baselines3 has it."""


def hand_over(left: float) -> float:
    """λ from 0.95 to 0 over the first half of the training, 0 from then on."""
    return 0.95 * max(0.0, 2.0 * left - 1.0)


class PriorNoise(ActionNoise):
    """Action noise that moves like the recordings: `TD3(..., action_noise=...)`.

    The prior continues its own stream of actions, which is scaled and added to those of
    the policy. Each of several environments gets a stream of its own.

    Args:
        prior: as of `PriorActor`.
        space: the action space of a single environment.
        scale: noise of 1 reaches from the middle to the bounds of an action.
        seed: of the stream.
    """

    def __init__(
        self, prior: Given, space: gym.Space, *, scale: float = 0.5, seed: int = 0
    ):
        super().__init__()
        if not 0.0 < scale < float("inf"):
            raise SfpError(f"expected a scale above 0, received {scale}.")
        self.scale, self._actor = scale, PriorActor(prior, space, seed=seed)

    def __call__(self) -> np.ndarray:
        """The noise of one time step, in units of the bounds."""
        actions = self._actor.propose()
        self._actor.remember(actions)
        space = self._actor.space
        return self.scale * ActionScale(space.low, space.high).to_unit(actions[0])

    def reset(self) -> None:
        """An episode is over."""
        self._actor.reset()

    def __repr__(self) -> str:
        return f"PriorNoise(scale={self.scale})"

    def __deepcopy__(self, memo: Any) -> PriorNoise:
        """Another stream: Stable-Baselines3 copies a noise for every environment."""
        seed = int(self._actor.rng.integers(2**32))
        actor = self._actor
        return PriorNoise(actor.prior, actor.space, scale=self.scale, seed=seed)

    def __reduce__(self) -> Any:
        """Saved with a model: what it was made from, not its compiled program."""
        return _remade, (self._actor.prior, self._actor.space, self.scale)


def _remade(prior: Given, space: gym.Space, scale: float) -> PriorNoise:
    return PriorNoise(prior, space, scale=scale)


class MixedExploration(BaseCallback):
    """Lets an off-policy learner act by a prior part of the time.

    `model.learn(100_000, callback=sfp.MixedExploration(prior))` works with SAC, TD3 and
    DDPG of Stable-Baselines3 and SBX, in any number of environments. With probability λ
    the prior acts, given the actions that were executed, and else the learner. The
    replay holds what was executed, scaled as the learner scales its own actions.

    SFP learns λ in every state; here it is a number or a schedule.

    Args:
        prior: as of `PriorActor`.
        mixing: λ, or a function from the share of the training that is left to it.
        warmup: let the prior act in place of the uniform actions before
            `learning_starts`.
        commit: time steps, in the mean, that one toss decides who acts.
        seed: of tosses and proposals.
    """

    def __init__(
        self,
        prior: Given,
        *,
        mixing: float | Schedule = hand_over,
        warmup: bool = True,
        commit: float = 1.0,
        seed: int = 0,
    ):
        super().__init__()
        if not 1.0 <= commit < float("inf"):
            raise SfpError(f"expected a commit of 1 or more, received {commit}.")
        self._mixing = mixing if callable(mixing) else lambda left: mixing
        self._share(1.0)
        self._prior, self._warmup, self._commit = prior, warmup, commit
        self._rng, self._seed = np.random.default_rng([seed, 1]), seed

    def _on_training_start(self) -> None:
        model: Any = self.model
        if not hasattr(model, "replay_buffer"):
            raise SfpError(
                f"MixedExploration needs a learner with a replay, such as SAC or TD3; "
                f"{type(model).__name__} learns from its own actions only."
            )
        self._actor = PriorActor(
            self._prior, model.action_space, envs=model.n_envs, seed=self._seed
        )
        self._coins = np.full(model.n_envs, np.nan)
        self._leave()
        original = model._sample_action
        hidden = ["_sample_action", "_excluded_save_params"]
        unsaved = [*model._excluded_save_params(), *hidden]
        model._sample_action = lambda *given: self._mixed(*original(*given))
        model._excluded_save_params = lambda: unsaved

    def _mixed(
        self, action: np.ndarray, stored: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What to execute and what the replay holds of it."""
        model: Any = self.model
        early = self._warmup and model.num_timesteps < model.learning_starts
        share = 1.0 if early else self._share(model._current_progress_remaining)
        taken = self._toss() < share
        proposals = self._actor.propose(taken)
        over = taken.reshape(-1, *[1] * (action.ndim - 1))
        action = np.where(over, proposals, action)
        stored = np.where(over, model.policy.scale_action(proposals), stored)
        self._actor.remember(action)
        self.logger.record_mean("rollout/prior_share", float(taken.mean()))
        return action, stored

    def _on_step(self) -> bool:
        over = np.asarray(self.locals["dones"], bool)
        self._actor.reset(over)
        self._coins[over] = np.nan
        return True

    def _on_training_end(self) -> None:
        self._leave()

    def _leave(self) -> None:
        """Let the learner act by itself again."""
        for name in ("_sample_action", "_excluded_save_params"):
            vars(self.model).pop(name, None)

    def _toss(self) -> np.ndarray:
        """A coin in [0, 1) per environment, kept for `commit` steps in the mean."""
        new = self._rng.random(len(self._coins)) < 1.0 / self._commit
        drawn = self._rng.random(len(self._coins))
        self._coins = np.where(new | np.isnan(self._coins), drawn, self._coins)
        return self._coins

    def _share(self, left: float) -> float:
        share = float(self._mixing(left))
        if not 0.0 <= share <= 1.0:
            raise SfpError(f"expected mixing within [0, 1], received {share}.")
        return share
