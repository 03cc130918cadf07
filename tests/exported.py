"""Priors and policies to export, and what JAX says of them."""

import jax
import jax.numpy as jnp
import numpy as np

from sfp.agents.controller import Greedy, Warped
from sfp.nets.encoder import Flat
from sfp.nets.policy import Policy
from sfp.priors.base import CLAMP, Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.models import MODELS
from sfp.training.trained import PolicySpec, Trained

LOW, HIGH = np.array([-2.0, 0.0, -1.0]), np.array([3.0, 1.0, 1.0])


def make_prior(model, *, dims=3, past=2, state=0, seed=0):
    """Untrained, but with every weight away from its beginning."""
    key = jax.random.key(seed)
    built = MODELS[model].build(dims, past * dims + state, key=key)
    leaves, tree = jax.tree.flatten(built)
    rng = np.random.default_rng(seed)
    leaves = [
        x + 0.03 * rng.standard_normal(x.shape).astype(np.float32) for x in leaves
    ]
    low, high = jnp.asarray(LOW[:dims]), jnp.asarray(HIGH[:dims])
    frame = Frame(low, high, jnp.full(state, 0.3), jnp.full(state, 2.0))
    seeds = low + (high - low) * jnp.asarray(rng.random((5, past, dims), np.float32))
    sees = Conditioning(past, state > 0)
    return Prior(jax.tree.unflatten(tree, leaves), frame, seeds, sees)


DRAWN = ("noise", "pick", "uniform")


def by_jax(prior, given):
    """What the models say for the same noise."""

    def one(past, state, noise, pick, uniform):
        model = prior.model
        context = prior.scaled(jnp.concatenate([past, state]))
        kind = type(model).__name__
        if kind == "Mixture":
            unit = model.draw(uniform, context)
        elif kind == "RealNVP":
            unit = model.inverse(noise, context)
        elif kind == "Gaussian":
            mean, log_deviation = model.moments(context)
            unit = jnp.tanh(mean + jnp.exp(log_deviation) * noise)
        elif kind == "VAE":
            latent = model.latents.shape[1]
            mean, log_deviation = model._decode(noise[:latent], context)
            unit = mean + jnp.exp(log_deviation) * noise[latent:]
        elif kind == "LSCDE":
            up_to = jnp.cumsum(jax.nn.softmax(model._logits(context)))
            unit = model.action_centres[jnp.searchsorted(up_to, pick[0])]
            unit = unit + model.width * noise
        else:
            unit = model.net(context)
        return prior.frame.scale.from_unit(jnp.clip(unit, -CLAMP, CLAMP))

    count = len(next(iter(given.values())))
    none = np.zeros((count, 0), np.float32)
    parts = [given.get(k, none) for k in ("past", "observation", *DRAWN)]
    return np.asarray(jax.vmap(one)(*parts))


CASES = [(model, 2, 0, 3) for model in MODELS if model != "memory"]
CASES += [("realnvp", 0, 0, 2), ("realnvp", 1, 4, 1), ("lscde", 0, 0, 2)]
CASES += [("gaussian", 0, 3, 2), ("vae", 1, 2, 1)]


def make_trained(flow=None, *, dims=2, action_type="float32"):
    policy = Policy(5, dims, width=16, depth=2, key=jax.random.key(3))
    policy = jax.tree.map(lambda x: 2 * np.asarray(x), policy)
    spec = PolicySpec(
        task="t",
        method="m",
        obs_size=3,
        goal_size=2,
        inputs={"observation": [3], "desired_goal": [2]},
        low=[-2.0, 0.0][:dims],
        high=[3.0, 1.0][:dims],
        action_shape=[dims],
        action_type=action_type,
        width=16,
        depth=2,
    )
    held = Warped(Flat(), policy, flow) if flow else Greedy(Flat(), policy)
    return Trained(held, spec)


def observations(count=6):
    rng = np.random.default_rng(1)
    return [
        {"observation": rng.normal(size=3), "desired_goal": rng.normal(size=2)}
        for _ in range(count)
    ]
