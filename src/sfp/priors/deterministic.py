"""A deterministic prior: one next action per context, and no density."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar, Traits


class Deterministic(eqx.Module):
    """The conditional mean, by least squares (the MLP of the paper's ablation)."""

    traits: ClassVar[Traits] = Traits(is_density=False)
    net: MLP

    def __init__(self, dims: int, context: int, *, key: PRNGKeyArray, width: int = 128):
        self.net = MLP([context, width, width, dims], key=key)

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        return self.net(context)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        """A point mass has no density: NaN, so that no one takes it for one."""
        return jnp.full((), jnp.nan)

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Mean squared error, summed over dimensions."""
        gap = jax.vmap(self.net)(contexts) - actions
        return (gap * gap).sum(axis=1).mean()
