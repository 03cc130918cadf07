"""Sampling a mixture without JAX, one action at a time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import jax
import numpy as np

from sfp.priors.kernel import LOG_EDGE, LOG_SCALE, TINY, bounded

Draw = Callable[[np.ndarray, np.ndarray], list[float]]


def compile_draw(model: Any) -> Draw:
    """`Mixture.draw` in NumPy and, where there are a few numbers only, in Python.

    Only the outputs of the product that is drawn are computed.
    """
    model = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), model)
    products, dims, kernels = model.edges.shape
    count, lean, heat = dims * kernels, dims * (dims - 1) // 2, float(model.temperature)
    first, second = (weights.T.copy() for weights in model.net.weights[:2])
    first_bias, second_bias = model.net.biases[:2]
    weights = np.concatenate([model.net.weights[2], model.skip])
    both = np.concatenate([weights, model.net.biases[2][None]])
    # the product's logits; then logits, means and raw scales of its kernels; slopes
    choosing, kerneled, leaning = np.split(
        both, [products, products * (1 + 3 * count)], axis=1
    )
    kerneled = kerneled.reshape(len(both), products, 3 * count)
    leaning = leaning.reshape(len(both), products, lean)
    own = list(np.concatenate([kerneled, leaning], axis=2).transpose(1, 2, 0).copy())
    choosing, one = choosing.T.copy(), np.ones(1, np.float32)
    edges = np.exp(bounded(model.edges, LOG_EDGE)).reshape(products, count).tolist()
    low, half = LOG_SCALE[0] + 0.5 * math.log(heat), (LOG_SCALE[1] - LOG_SCALE[0]) / 2
    zero = np.float32(0)
    rows = [range(d * kernels, (d + 1) * kernels) for d in range(dims)]

    def draw(uniform: np.ndarray, context: np.ndarray) -> list[float]:
        # `dot` with rows of weights: for one small vector half the time of `@`
        x = np.maximum(first.dot(context) + first_bias, zero)
        x = np.maximum(second.dot(x) + second_bias, zero)
        x = np.concatenate((x, context, one))
        u = uniform.tolist()
        k = _pick(choosing.dot(x).tolist(), heat, u[0])
        out, edge = own[k].dot(x).tolist(), edges[k]
        action, slope = [], 3 * count
        for d, row in enumerate(rows):
            m = row[_pick(out[row.start : row.stop], heat, u[1 + d])]
            scale = math.exp(low + half * (math.tanh(0.5 * out[2 * count + m]) + 1))
            side = TINY + (1 - 2 * TINY) * u[1 + dims + d]
            noise = TINY + (1 - 2 * TINY) * u[1 + 2 * dims + d]
            z = edge[m] * (2 * side - 1) + math.log(noise / (1 - noise))
            value = out[count + m] + scale * z
            for before in action:
                value += out[slope] * before
                slope += 1
            action.append(value)
        return action

    return draw


def _pick(logits: list[float], heat: float, uniform: float) -> int:
    """The choice that a uniform number makes, as in `Mixture.draw`."""
    top = max(logits)
    exp = math.exp
    total = list(accumulate([exp((x - top) / heat) for x in logits]))
    return bisect_right(total, uniform * total[-1], hi=len(total) - 1)
