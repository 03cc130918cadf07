"""A flow as a change of the action space: what PARROT acts through."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Float

from sfp.priors.base import CLAMP, GivenAction, GivenContext, Prior
from sfp.priors.protocols import Action

SHARE = 0.9
"""The central share of the noise that can be asked for: |z| stays within 1.645."""


def latent(unit: Action) -> Action:
    """From u in [-1, 1] to noise z: uniform u become normal z, but for their tails."""
    return ndtri(0.5 + 0.5 * SHARE * unit)


def warp(prior: Prior, unit: GivenAction, context: GivenContext) -> Action:
    """The action a = f(z(u); context) that u stands for, in the prior's own units."""
    model: Any = prior.model  # a flow
    action = model.inverse(latent(jnp.asarray(unit)), prior.scaled(context))
    return prior.frame.scale.from_unit(jnp.clip(action, -CLAMP, CLAMP))


def reach(
    prior: Prior,
    actions: Float[np.ndarray, "n dims"],
    contexts: Float[np.ndarray, "n context"],
) -> Float[np.ndarray, " n"]:
    """The largest |u| over the dimensions that leads to each action; above 1: none.

    Infinite where the action lies beyond what samples are clamped to.
    """

    def needed(action, context):
        scaled = prior.frame.scale.to_unit(action)
        z, _ = prior.model.forward(scaled, prior.scaled(context))  # pyright: ignore[reportAttributeAccessIssue]
        unit = jnp.abs(ndtr(z) - 0.5).max() / (0.5 * SHARE)
        return jnp.where(jnp.abs(scaled).max() > CLAMP, jnp.inf, unit)

    return np.asarray(jax.jit(jax.vmap(needed))(actions, contexts))
