"""Plain noise as a state-free prior: no recording is needed for a mixture with it."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.noise.processes import Colored, OrnsteinUhlenbeck, squash
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.protocols import Action, Context, Scalar
from sfp.priors.store import CONFIG

PAST = 16
"""Past actions that pink noise is continued from; it has no finite order."""

SEEDS = 4096
EDGE = 1e-4
"""An action nearer to its bound than this would be infinitely unlikely noise."""


class Autoregressive(eqx.Module):
    """The next value of a stationary Gaussian process, given the last ones.

    ε_t = Σ_j w_j ε_{t-j} + σ ξ with ξ ~ N(0, 1), and a = 2 Φ(ε) - 1 as in `squash`:
    uniform actions, correlated in time. Dimensions are independent.

    Attributes:
        weights: w, oldest first.
        deviation: σ.
    """

    weights: Float[Array, " past"]
    deviation: Scalar
    dims: int = eqx.field(static=True)

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        noise = jax.random.normal(key, (self.dims,))
        return _squash(self._mean(context) + self.deviation * noise)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        noise = _unsquash(action)
        log_pdf = jax.scipy.stats.norm.logpdf
        density = log_pdf(noise, self._mean(context), self.deviation)
        return (density - log_pdf(noise) - jnp.log(2.0)).sum()

    def _mean(self, context: Context) -> Action:
        past = _unsquash(context.reshape(len(self.weights), self.dims))
        return self.weights @ past


NOISES: dict[str, tuple[Colored | OrnsteinUhlenbeck, int]] = {
    "uniform": (OrnsteinUhlenbeck(theta=1.0), 0),
    "ou": (OrnsteinUhlenbeck(), 1),
    "pink": (Colored(), PAST),
}
"""The names that `--prior` knows besides folders and shipped priors: the process, and
how many past values tell of the next. Of Ornstein-Uhlenbeck noise the last says all."""


def is_noise(name: object) -> bool:
    """Whether a noise is meant: a prior in a folder of that name goes first."""
    return name in NOISES and not (Path(str(name)) / CONFIG).is_file()


def noise_prior(name: str, low: np.ndarray, high: np.ndarray) -> Prior:
    """A noise as a prior over actions within these bounds."""
    (noise, past), dims = NOISES[name], len(low)
    known = noise.correlations(past + 1)
    lag = np.abs(np.subtract.outer(np.arange(past), np.arange(past)))
    newest_first = np.linalg.solve(known[lag], known[1:])
    deviation = np.sqrt(known[0] - newest_first @ known[1:])
    model = Autoregressive(
        jnp.asarray(newest_first[::-1], jnp.float32),
        jnp.asarray(deviation, jnp.float32),
        dims,
    )
    none = jnp.zeros(0)
    frame = Frame(
        jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32), none, none
    )
    drawn = np.random.default_rng(0).standard_normal((SEEDS, past, dims))
    factor = np.linalg.cholesky(known[lag])
    seeds = squash(np.einsum("ij,njd->nid", factor, drawn))
    return Prior(
        model, frame, frame.scale.from_unit(jnp.asarray(seeds)), Conditioning(past)
    )


def _squash(noise: Float[Array, ...]) -> Float[Array, ...]:
    return jax.scipy.special.erf(noise / jnp.sqrt(2.0))


def _unsquash(action: Float[Array, ...]) -> Float[Array, ...]:
    inside = jnp.clip(action, EDGE - 1.0, 1.0 - EDGE)
    return jnp.sqrt(2.0) * jax.scipy.special.erfinv(inside)
