"""Acting in NumPy: one small network per step costs a tenth of a compiled call.

Weights do not change between updates, so acting sees them as NumPy arrays.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sfp.nets.mlp import MLP
from sfp.nets.policy import LOG_STD, Policy

Vector = Float[np.ndarray, " dims"]


def forward(net: MLP, x: Float[np.ndarray, " inputs"]) -> Float[np.ndarray, " outputs"]:
    """`net(x)`, of a network whose weights are NumPy arrays."""
    for weight, bias in zip(net.weights[:-1], net.biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias, 0.0)
    return x @ net.weights[-1] + net.biases[-1]  # pyright: ignore[reportReturnType]


def mean_action(policy: Policy, obs: Float[np.ndarray, " obs"]) -> Vector:
    """`policy.mean(obs)`."""
    return np.tanh(np.split(forward(policy.net, obs), 2)[0])


def draw_action(
    policy: Policy, obs: Float[np.ndarray, " obs"], rng: np.random.Generator
) -> Vector:
    """An action of the policy."""
    dims = len(policy.net.biases[-1]) // 2
    return shaken_action(policy, obs, rng.standard_normal(dims, np.float32))


def shaken_action(
    policy: Policy, obs: Float[np.ndarray, " obs"], noise: Vector
) -> Vector:
    """The action of the policy for given standard normal noise."""
    mean, log_std = np.split(forward(policy.net, obs), 2)
    return np.tanh(mean + np.exp(np.clip(log_std, *LOG_STD)) * noise)
