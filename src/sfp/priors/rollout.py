"""Sequences of actions that a state-free prior draws without an environment."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.errors import SfpError
from sfp.priors.base import Prior


def rollout(
    prior: Prior, key: PRNGKeyArray, *, count: int, steps: int
) -> Float[Array, "count steps dims"]:
    """Action sequences of a state-free prior, each from a seed of its own."""
    if prior.conditioning.state:
        raise SfpError(
            f"this prior sees {prior.conditioning}: it cannot act without states."
        )
    return _rollout(prior, key, count, steps)


@eqx.filter_jit
def _rollout(prior, key, count, steps):
    sees, unseen = prior.conditioning, jnp.zeros(0)

    def step(history, key):
        action = prior.sample(key, sees.context(history, unseen))
        return sees.push(history, action), action

    def one(key):
        seed_key, step_key = jax.random.split(key)
        keys = jax.random.split(step_key, steps)
        return jax.lax.scan(step, sees.begin(prior.seeds, seed_key), keys)[1]

    return jax.vmap(one)(jax.random.split(key, count))
