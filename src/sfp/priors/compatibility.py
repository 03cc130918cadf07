"""Whether a prior, or recordings, and an environment belong together."""

from collections.abc import Sequence

import numpy as np

from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.priors.base import Prior


def check_prior(prior: Prior, called: str, environment: Environment) -> None:
    check_actions(prior, environment.low, environment.high, called)
    check_names(prior, environment.action_names, called)
    seen, spec = len(prior.frame.state_mean), environment.spec
    if prior.conditioning.image:
        if seen != spec.pixels or spec.frames > 1:
            raise SfpError(
                f"{called} sees an image of {seen} numbers, {environment.name} shows "
                f"{spec.pixels}{f' in {spec.frames} frames' * (spec.frames > 1)}. A "
                "state-free prior would work."
            )
        return
    if seen not in (0, spec.state, spec.inputs):
        raise SfpError(
            f"{called} sees a state of {seen} numbers, {environment.name} shows "
            f"{spec.state} (and {spec.goal} of the goal). "
            "A state-free prior would work."
        )


def check_actions(prior: Prior, low: np.ndarray, high: np.ndarray, name: str) -> None:
    """Refuse a prior for an environment whose actions are others than the data's."""
    own = np.asarray(prior.frame.low), np.asarray(prior.frame.high)
    check_bounds(*own, low, high, name)


def check_names(prior: Prior, names: Sequence[str], called: str) -> None:
    if prior.names and names and list(prior.names) != list(names):
        raise SfpError(
            f"{called} is for the actions {', '.join(prior.names)}, the environment "
            f"takes {', '.join(names)}: use recordings with the same order."
        )


def check_bounds(
    own_low: np.ndarray,
    own_high: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    name: str,
) -> None:
    if len(own_low) != len(low):
        raise SfpError(
            f"{name} is for actions of {len(own_low)} dimensions, the environment "
            f"takes {len(low)}: use recordings of the same action space."
        )
    if not (np.allclose(own_low, low) and np.allclose(own_high, high)):
        raise SfpError(
            f"{name} is for actions within {_range(own_low, own_high)}, the environment"
            f" takes {_range(low, high)}: rescale the environment's actions or the "
            "recordings. If these are only what was observed, state the true bounds "
            "in a bounds.json beside them."
        )


def _range(low: np.ndarray, high: np.ndarray) -> str:
    return " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(low, high, strict=True))
