"""Least-squares conditional density estimation (Sugiyama et al. 2010)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.errors import SfpError
from sfp.priors.normal import log_normal
from sfp.priors.protocols import Action, Context, Scalar

WIDTHS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Of the kernels, in multiples of the median distance between samples."""

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
CENTRES = 500
SAMPLES = 5000
FOLDS = 3


class LSCDE(eqx.Module):
    """p(a|c) = Σ_l α_l φ_l(c, a) / Σ_l α_l ∫φ_l(c, a') da', Gaussian kernels φ_l.

    φ_l(c, a) = exp(-(|c - u_l|² + |a - v_l|²) / 2σ²) around centres (u_l, v_l) from the
    data. α minimises the squared error to the density in closed form and is cut at 0.
    Given a context it is a mixture of Gaussians, which is how it is sampled.
    """

    context_centres: Float[Array, "centres context"]
    action_centres: Float[Array, "centres dims"]
    log_weights: Float[Array, " centres"]
    width: Scalar

    def __init__(self, dims: int, context: int, *, key: PRNGKeyArray):
        self.context_centres = jnp.zeros((CENTRES, context))
        self.action_centres = jnp.zeros((CENTRES, dims))
        self.log_weights = jnp.zeros(CENTRES)
        self.width = jnp.ones(())

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        """A centre by its weight, and a Gaussian step from it."""
        centre_key, noise_key = jax.random.split(key)
        centre = jax.random.categorical(centre_key, self._logits(context))
        mean = self.action_centres[centre]
        return mean + self.width * jax.random.normal(noise_key, mean.shape)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        logits = jax.nn.log_softmax(self._logits(context))
        normal = log_normal(action[None], self.action_centres, jnp.log(self.width))
        return jax.nn.logsumexp(logits + normal.sum(axis=1))

    def _logits(self, context):
        gap = (context[None] - self.context_centres) / self.width
        return self.log_weights - 0.5 * (gap * gap).sum(axis=1)

    def solve(
        self, actions: np.ndarray, contexts: np.ndarray, rng: np.random.Generator
    ) -> LSCDE:
        """Fit: width and penalty by cross-validation, then α in closed form.

        Left-out samples are judged by their likelihood. The squared error, which gives
        α, prefers the narrowest kernels: it hardly sees samples that no kernel reaches.
        """
        if len(actions) < 2 * FOLDS:
            raise SfpError(
                f"expected at least {2 * FOLDS} pairs for lscde, received "
                f"{len(actions)}: record more."
            )
        rows = rng.permutation(len(actions))[:SAMPLES]
        actions = np.asarray(actions[rows], np.float64)
        contexts = np.asarray(contexts[rows], np.float64)
        count = len(self.log_weights)
        picked = rng.choice(len(rows), count, replace=len(rows) < count)
        u, v = contexts[picked], actions[picked]
        folds = np.arange(len(rows)) % FOLDS
        scores = {}
        for width in np.array(WIDTHS) * _typical_distance(u, v):
            parts = [
                moments(contexts[folds == fold], actions[folds == fold], u, v, width)
                for fold in range(FOLDS)
            ]
            for penalty in PENALTIES:
                left_out = [
                    _mean_log_prob(
                        self._filled(
                            u, v, _weights_without(parts, fold, penalty), width
                        ),
                        jnp.asarray(actions[folds == fold], jnp.float32),
                        jnp.asarray(contexts[folds == fold], jnp.float32),
                    )
                    for fold in range(FOLDS)
                ]
                scores[width, penalty] = float(np.mean(left_out))
        width, penalty = max(scores, key=lambda choice: scores[choice])
        alpha = weights(*moments(contexts, actions, u, v, width), penalty)
        return self._filled(u, v, alpha, width)

    def _filled(self, u, v, alpha, width) -> LSCDE:
        with np.errstate(divide="ignore"):
            log_alpha = np.maximum(np.log(alpha), -1e4)  # finite, and as good as zero
        values = tuple(jnp.asarray(x, jnp.float32) for x in (u, v, log_alpha, width))
        return eqx.tree_at(_solution, self, values)


@jax.jit
def _mean_log_prob(model: LSCDE, actions, contexts):
    return jax.vmap(model.log_prob)(actions, contexts).mean()


def _solution(model: LSCDE) -> tuple:
    return (
        model.context_centres,
        model.action_centres,
        model.log_weights,
        model.width,
    )


def _typical_distance(u: np.ndarray, v: np.ndarray) -> float:
    """The median distance between distinct samples, at least a hair."""
    distance = np.sqrt(_squares(u, u) + _squares(v, v))
    apart = distance[distance > 1e-6]
    return float(np.median(apart)) if len(apart) else 1e-3


def _weights_without(parts: list, fold: int, penalty: float) -> np.ndarray:
    """α from the moments of the other folds (equally large)."""
    others = [part for i, part in enumerate(parts) if i != fold]
    gram = np.mean([gram for gram, _ in others], axis=0)
    return weights(gram, np.mean([mean for _, mean in others], axis=0), penalty)


def moments(
    contexts: np.ndarray,
    actions: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    width: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Ĥ = 1/n Σ_i ∫φ(c_i, a) φ(c_i, a)ᵀ da and ĥ = 1/n Σ_i φ(c_i, a_i)."""
    near = np.exp(-_squares(contexts, u) / (2 * width**2))
    volume = (np.sqrt(np.pi) * width) ** v.shape[1]
    overlap = volume * np.exp(-_squares(v, v) / (4 * width**2))
    gram = overlap * (near.T @ near) / len(contexts)
    mean = (near * np.exp(-_squares(actions, v) / (2 * width**2))).mean(axis=0)
    return gram, mean


def weights(gram: np.ndarray, mean: np.ndarray, penalty: float) -> np.ndarray:
    """α = max(0, (Ĥ + λI)⁻¹ ĥ)."""
    return np.maximum(0.0, np.linalg.solve(gram + penalty * np.eye(len(mean)), mean))


def _squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    distance = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return np.maximum(distance, 0.0)
