"""The tanh-Gaussian policy π(a | s), actions in [-1, 1]."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP

LOG_STD = (-20.0, 2.0)
"""Bounds of log σ: beyond them tanh saturates or exp underflows."""


class Policy(eqx.Module):
    """a = tanh(μ(s) + σ(s) ξ) with ξ ~ N(0, I); callers `vmap`."""

    net: MLP

    def __init__(
        self, obs: int, action: int, *, width: int, depth: int, key: PRNGKeyArray
    ):
        self.net = MLP([obs, *[width] * depth, 2 * action], key=key)

    def __call__(
        self, obs: Float[Array, " obs"]
    ) -> tuple[Float[Array, " dims"], Float[Array, " dims"]]:
        """μ and log σ."""
        mean, log_std = jnp.split(self.net(obs), 2)
        return mean, jnp.clip(log_std, *LOG_STD)

    def mean(self, obs: Float[Array, " obs"]) -> Float[Array, " dims"]:
        """What is executed at test time."""
        return jnp.tanh(self(obs)[0])

    def sample(
        self, key: PRNGKeyArray, obs: Float[Array, " obs"]
    ) -> tuple[Float[Array, " dims"], Float[Array, ""]]:
        """An action, differentiable in the weights, with log π(a | s)."""
        mean, log_std = self(obs)
        noise = jax.random.normal(key, mean.shape)
        before = mean + jnp.exp(log_std) * noise
        gaussian = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
        return jnp.tanh(before), (gaussian - log_slope(before)).sum()

    def log_prob(
        self, obs: Float[Array, " obs"], action: Float[Array, " dims"]
    ) -> Float[Array, ""]:
        """Log π(a | s) of an action strictly inside the box."""
        mean, log_std = self(obs)
        before = jnp.arctanh(action)
        noise = (before - mean) * jnp.exp(-log_std)
        gaussian = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
        return (gaussian - log_slope(before)).sum()


def log_slope(x: Float[Array, " dims"]) -> Float[Array, " dims"]:
    """Log(1 - tanh²(x)), finite for every x."""
    return 2.0 * (jnp.log(2.0) - x - jax.nn.softplus(-2.0 * x))
