"""The paper's equations: arrays in, scalar out, one function each.

A leading axis is the batch. `mixing` is λ = Λ(s), the share of all priors together;
SAC is `mixing = 0`.
"""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from sfp.config import EntropyWeight

Scalar: TypeAlias = Float[Array, ""]
Values: TypeAlias = Float[Array, " batch"]
Weights: TypeAlias = Float[Array, "batch priors"]
"""One column per prior: their shares λ_k, or values of what they propose."""

CHOICE = 10.0
"""The weight of the loss of several priors' shares beside that of the trust in them.
While gradients are small, shares are learned so much sooner: trust must not fall before
the policy is better, whereas a wrong share leaves every prior some."""


def choose(
    coin: Values,
    weights: Weights,
    proposals: Float[Array, "batch priors dims"],
    action: Float[Array, "batch dims"],
) -> Float[Array, "batch dims"]:
    """ã ~ (1 - Σ λ_k) π + Σ λ_k π̄_k: whose share of [0, 1] the coin falls into."""
    chosen = action
    for k in reversed(range(weights.shape[1])):
        by_prior = coin < weights[:, : k + 1].sum(axis=1)
        chosen = jnp.where(by_prior[:, None], proposals[:, k], chosen)
    return chosen


def td_target(
    reward: Values,
    discount: Values,
    next_value: Values,
    next_log_prob: Values,
    alpha: float | Scalar,
) -> Values:
    """The target y = r + γ (min_i Q_i(s', ã') - α log π(a' | s')), ã' ~ π̃ and a' ~ π.

    `reward` is the n-step sum and `discount` γ^n (0 after a termination).
    """
    return reward + discount * (next_value - alpha * next_log_prob)


def expected_value(weights: Weights, q_prior: Weights, q_policy: Values) -> Values:
    """(1 - Σ λ_k) min_i Q_i(s, a) + Σ λ_k min_i Q_i(s, ā_k): the mean over the coin."""
    return (1.0 - weights.sum(axis=1)) * q_policy + (weights * q_prior).sum(axis=1)


def best_value(q_prior: Weights, q_policy: Values) -> Values:
    """max(min_i Q_i(s, a), max_k min_i Q_i(s, ā_k)): whoever acts better from here."""
    return jnp.maximum(q_policy, q_prior.max(axis=1))


def critic_loss(q: Float[Array, "critics batch"], target: Values) -> Scalar:
    """J_Q = sum_i E[(Q_i(s, a) - y)²]."""
    return ((q - target[None]) ** 2).mean(axis=1).sum()


def policy_loss(
    q: Values,
    log_prob: Values,
    mixing: Values,
    alpha: float | Scalar,
    entropy_weight: EntropyWeight = "mixed",
) -> Scalar:
    """J_π = -E[(1 - λ) (min_i Q_i(s, a) - α log π(a | s))], a ~ π.

    The derivation leaves the entropy unweighted, which makes the temperature
    α / (1 - λ): `entropy_weight="full"`.
    """
    weight = 1.0 - mixing
    entropy = weight if entropy_weight == "mixed" else jnp.ones_like(weight)
    return -(weight * q - entropy * alpha * log_prob).mean()


def mixing_loss(
    weights: Weights,
    q_prior: Weights,
    q_policy: Values,
    counted: Values | None = None,
) -> Scalar:
    """J_Λ = -E[Σ Λ_k(s) (min_i Q_i(s, ā_k) - min_i Q_i(s, a))], ā_k ~ π̄_k and a ~ π.

    If some states only are `counted` (1, others 0), it is the mean over those.
    """
    gain = (weights * (q_prior - q_policy[:, None])).sum(axis=1)
    if counted is None:
        return -gain.mean()
    return -(counted * gain).sum() / jnp.maximum(counted.sum(), 1.0)


def several_loss(
    trust: Values,
    shares: Weights,
    q_prior: Weights,
    q_policy: Values,
    counted: Values | None = None,
) -> Scalar:
    """J_Λ of several priors, with λ_k = σ(t(s)) w_k(s): a loss for each factor.

    The trust σ has the loss of a single prior whose value is Σ w_k Q_k. Which prior is
    better does not depend on how good the policy has become, so the shares w have
    -E[Σ w_k (Q_k - mean Q)], which does not weaken as the trust falls. Every state
    tells which, also one that is not `counted` for the trust.
    """
    mixed = (jax.lax.stop_gradient(shares) * q_prior).sum(axis=1, keepdims=True)
    trusted = mixing_loss(trust[:, None], mixed, q_policy, counted)
    chosen = mixing_loss(shares, q_prior, q_prior.mean(axis=1))
    return trusted + CHOICE * chosen


def temperature_loss(
    log_alpha: Scalar, log_prob: Values, target_entropy: float
) -> Scalar:
    """J_α = -log α E[log π(a | s) + H̄]: keeps the entropy near H̄ (option)."""
    return -(log_alpha * (log_prob + target_entropy)).mean()


def gaussian_kl(
    mean: Float[Array, " dims"],
    log_std: Float[Array, " dims"],
    other_mean: Float[Array, " dims"],
    other_log_std: Float[Array, " dims"],
) -> Scalar:
    """KL(N(μ, σ²) || N(μ', σ'²)) of independent dimensions, in nats.

    It is also the divergence between the two after the same invertible map, tanh.
    """
    ratio = jnp.exp(2.0 * (log_std - other_log_std))
    shift = ((mean - other_mean) * jnp.exp(-other_log_std)) ** 2
    return (0.5 * (ratio + shift - 1.0) + other_log_std - log_std).sum()
