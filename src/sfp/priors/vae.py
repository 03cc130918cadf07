"""Conditional variational auto-encoder."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.priors.normal import log_normal
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar, Traits

LOG_DEVIATION = (-5.0, 1.0)
"""Bounds of the log standard deviations."""

SHARP = 1.5
"""Lets the decoder begin with little noise of its own (deviation 0.02): one that begins
blurred explains everything as noise and never learns to use the latent."""


class VAE(eqx.Module):
    """a ~ N(mean(z, context), deviation(z, context)²) with z ~ N(0, I).

    Fitted by the evidence lower bound. Its density has no closed form; `log_prob` takes
    the mixture over a fixed set of latents, which is a density and converges to the
    model's with their number.
    """

    traits: ClassVar[Traits] = Traits(frozen=("latents",))
    encoder: MLP
    decoder: MLP
    latents: Float[Array, "count latent"]

    def __init__(
        self,
        dims: int,
        context: int,
        *,
        key: PRNGKeyArray,
        width: int = 128,
        latent: int | None = None,
        count: int = 512,
    ):
        latent = 2 * dims if latent is None else latent
        encoder_key, decoder_key, latent_key = jax.random.split(key, 3)
        self.encoder = MLP([dims + context, width, width, 2 * latent], key=encoder_key)
        self.decoder = MLP([latent + context, width, width, 2 * dims], key=decoder_key)
        half = jax.random.normal(latent_key, (count // 2, latent))
        self.latents = jnp.concatenate([half, -half])

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        latent_key, noise_key = jax.random.split(key)
        z = jax.random.normal(latent_key, self.latents.shape[1:])
        mean, log_deviation = self._decode(z, context)
        return mean + jnp.exp(log_deviation) * jax.random.normal(noise_key, mean.shape)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        """Log 1/K Σ_k N(a; decoder(z_k, context)) over the fixed latents."""

        def given(z):
            return log_normal(action, *self._decode(z, context)).sum()

        return jax.nn.logsumexp(jax.vmap(given)(self.latents)) - jnp.log(
            len(self.latents)
        )

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Negative evidence lower bound, one latent per action."""
        keys = jax.random.split(key, len(actions))
        return -jax.vmap(self.lower_bound)(keys, actions, contexts).mean()

    def lower_bound(
        self, key: PRNGKeyArray, action: Action, context: Context
    ) -> Scalar:
        """E_q[log p(a|z)] - KL(q(z|a) || N(0, I)) with one sample of q."""
        mean, raw = jnp.split(self.encoder(jnp.concatenate([action, context])), 2)
        log_deviation = _bounded(raw)
        z = mean + jnp.exp(log_deviation) * jax.random.normal(key, mean.shape)
        variance = jnp.exp(2 * log_deviation)
        kl = 0.5 * (variance + mean * mean - 1.0 - 2 * log_deviation).sum()
        return log_normal(action, *self._decode(z, context)).sum() - kl

    def _decode(self, z, context):
        mean, raw = jnp.split(self.decoder(jnp.concatenate([z, context])), 2)
        return mean, _bounded(raw - SHARP)


def _bounded(raw):
    low, high = LOG_DEVIATION
    return low + (high - low) * jax.nn.sigmoid(raw)
