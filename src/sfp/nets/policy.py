"""The tanh-Gaussian policy π(a | s), actions in [-1, 1]."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.nets.namespace import namespace

LOG_STD = (-20.0, 2.0)
"""Bounds of log σ: beyond them tanh saturates or exp underflows."""


class Policy(eqx.Module):
    """a = tanh(μ(s) + σ(s) ξ) with ξ ~ N(0, I); callers `vmap`."""

    net: MLP

    def __init__(
        self, features: int, action: int, *, width: int, depth: int, key: PRNGKeyArray
    ):
        self.net = MLP([features, *[width] * depth, 2 * action], key=key)

    def __call__(self, features: Any) -> tuple[Any, Any]:
        """μ and log σ, in NumPy or in JAX."""
        out = self.net(features)
        half, (low, high) = out.shape[-1] // 2, LOG_STD
        mean, log_std = out[..., :half], out[..., half:]
        if namespace(out) is np:  # `np.clip` takes as long as a layer
            return mean, np.minimum(np.maximum(log_std, low), high)
        return mean, jnp.clip(log_std, low, high)

    def sample(
        self, key: PRNGKeyArray, features: Float[Array, " features"]
    ) -> tuple[Float[Array, " dims"], Float[Array, ""]]:
        """An action, differentiable in the weights, with log π(a | s)."""
        mean, log_std = self(features)
        noise = jax.random.normal(key, mean.shape)
        before = mean + jnp.exp(log_std) * noise
        gaussian = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
        return jnp.tanh(before), (gaussian - log_slope(before)).sum()

    def log_prob(
        self, features: Float[Array, " features"], action: Float[Array, " dims"]
    ) -> Float[Array, ""]:
        """Log π(a | s) of an action strictly inside the box."""
        mean, log_std = self(features)
        before = jnp.arctanh(action)
        noise = (before - mean) * jnp.exp(-log_std)
        gaussian = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
        return (gaussian - log_slope(before)).sum()


# No methods: Equinox takes longer to bind one than NumPy takes to compute these.


def mean_action(policy: Policy, features: Any) -> Any:
    """tanh(μ(s)), in NumPy or in JAX."""
    mean, _ = policy(features)
    return namespace(mean).tanh(mean)


def shaken_action(policy: Policy, features: Any, noise: Any) -> Any:
    """The action for given standard normal noise, in NumPy or in JAX."""
    mean, log_std = policy(features)
    xp = namespace(mean)
    return xp.tanh(mean + xp.exp(log_std) * noise)


def log_slope(x: Float[Array, " dims"]) -> Float[Array, " dims"]:
    """Log(1 - tanh²(x)), finite for every x."""
    return 2.0 * (jnp.log(2.0) - x - jax.nn.softplus(-2.0 * x))
