"""A Gaussian in front of a tanh: the prior of the KL baseline."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.priors.normal import log_normal
from sfp.priors.protocols import Action, Context, Scalar, Traits

EDGE = 1e-3
"""Data is clipped to 1 - EDGE before the fit: atanh is infinite at a bound."""

LOG_DEVIATION = (-5.0, 2.0)
"""Bounds of the log standard deviation, those of SAC's policy but for the lower one."""


class Gaussian(eqx.Module):
    """a = tanh(u), u ~ N(mean(context), deviation(context)²), independent dimensions.

    The closed-form KL to a tanh-Gaussian policy is the one between the two Gaussians
    of u.
    """

    traits: ClassVar[Traits] = Traits(edge=1 - EDGE)
    net: MLP

    def __init__(self, dims: int, context: int, *, key: PRNGKeyArray, width: int = 128):
        self.net = MLP([context, width, width, 2 * dims], key=key)

    def moments(self, context: Context) -> tuple[Action, Action]:
        """Mean and log standard deviation of u."""
        mean, raw = jnp.split(self.net(context), 2)
        low, high = LOG_DEVIATION
        return mean, low + (high - low) * jax.nn.sigmoid(raw)

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        mean, log_deviation = self.moments(context)
        noise = jax.random.normal(key, mean.shape)
        return jnp.tanh(mean + jnp.exp(log_deviation) * noise)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        """Log N(atanh a) - log(1 - a²) inside the bounds, minus infinity elsewhere."""
        inside = jnp.abs(action) < 1
        action = jnp.where(inside, action, 0.0)
        mean, log_deviation = self.moments(context)
        normal = log_normal(jnp.arctanh(action), mean, log_deviation)
        density = normal - jnp.log1p(-action * action)
        return jnp.where(inside, density, -jnp.inf).sum()
