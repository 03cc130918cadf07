"""A deterministic prior: one next action per context, and no density."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.priors.protocols import Traits


class Deterministic(eqx.Module):
    """The conditional mean, by least squares (the MLP of the paper's ablation)."""

    traits: ClassVar[Traits] = Traits(is_density=False)
    net: MLP

    def __init__(self, dims: int, context: int, *, key: PRNGKeyArray, width: int = 128):
        self.net = MLP([context, width, width, dims], key=key)

    def sample(
        self, key: PRNGKeyArray, context: Float[Array, " context"]
    ) -> Float[Array, " dims"]:
        return self.net(context)

    def log_prob(
        self, action: Float[Array, " dims"], context: Float[Array, " context"]
    ) -> Float[Array, ""]:
        """A point mass has no density: NaN, so that no one takes it for one."""
        return jnp.full((), jnp.nan)

    def loss(
        self,
        key: PRNGKeyArray,
        actions: Float[Array, "batch dims"],
        contexts: Float[Array, "batch context"],
    ) -> Float[Array, ""]:
        """Mean squared error, summed over dimensions."""
        gap = jax.vmap(self.net)(contexts) - actions
        return (gap * gap).sum(axis=1).mean()
