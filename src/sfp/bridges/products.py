"""The mixture density network as a graph: picks are masks, and sums are products."""

from __future__ import annotations

import math

import numpy as np

from sfp.bridges.graph import Graph, Value, width_of
from sfp.priors.kernel import LOG_EDGE, LOG_SCALE, TINY, bounded
from sfp.priors.mixture import Mixture


def draw(graph: Graph, model: Mixture, out: Value, uniform: Value) -> Value:
    """`Mixture.draw` for given outputs of the network and uniform numbers."""
    products, dims, kernels = model.edges.shape
    count, lean, heat = dims * kernels, dims * (dims - 1) // 2, float(model.temperature)
    last = products * (1 + 3 * count)
    weights = graph.do("divide", graph.slice(out, 0, products), _f(heat))
    hot = pick(graph, weights, graph.slice(uniform, 0, 1), products)
    own = _chosen(graph, hot, graph.slice(out, products, last), products)
    edges = np.exp(np.asarray(bounded(np.asarray(model.edges), LOG_EDGE), np.float32))
    edge = graph.linear([hot], edges.reshape(products, count), np.zeros(count))
    slopes: Value = np.zeros(0, np.float32)
    if lean:
        rest = graph.slice(out, last, last + products * lean)
        slopes = _chosen(graph, hot, rest, products)
    made: list[Value] = []
    for d in range(dims):
        first = d * kernels
        logits = graph.slice(own, first, first + kernels)
        toss = graph.slice(uniform, 1 + d, 2 + d)
        one = pick(graph, graph.do("divide", logits, _f(heat)), toss, kernels)
        mean, raw = (
            _dot(graph, one, graph.slice(own, at + first, at + first + kernels))
            for at in (count, 2 * count)
        )
        width = _dot(graph, one, graph.slice(edge, first, first + kernels))
        value = graph.do("add", mean, _step(graph, raw, width, uniform, d, dims, heat))
        for j, before in enumerate(made):
            at = d * (d - 1) // 2 + j
            slope = graph.slice(slopes, at, at + 1)
            value = graph.do("add", value, graph.do("multiply", slope, before))
        made.append(value)
    return graph.concat(*made)


def pick(graph: Graph, logits: Value, uniform: Value, choices: int) -> Value:
    """A one in place of the choice that a uniform number makes, zeros elsewhere."""
    up_to = graph.do("cumsum", graph.do("softmax", logits))
    reached = graph.do("less", uniform, up_to, width=choices)
    below = graph.do("where", reached, _f(1.0), _f(0.0), width=choices)
    # The last choice is reached whatever the rounding of the sum.
    open_end = np.eye(choices, k=0, dtype=np.float32)
    open_end[-1, -1] = 0.0
    full = np.zeros(choices, np.float32)
    full[-1] = 1.0
    reached = graph.linear([below], open_end, full)
    differ = np.eye(choices, dtype=np.float32) - np.eye(choices, k=1, dtype=np.float32)
    return graph.linear([reached], differ, np.zeros(choices))


def _step(
    graph: Graph,
    raw: Value,
    edge: Value,
    uniform: Value,
    d: int,
    dims: int,
    heat: float,
) -> Value:
    """The noise of one dimension: a soft box, scaled."""
    low, high = LOG_SCALE[0] + 0.5 * math.log(heat), LOG_SCALE[1] - LOG_SCALE[0]
    share = graph.do("multiply", graph.do("sigmoid", raw), _f(high))
    scale = graph.do("exp", graph.do("add", share, _f(low)))
    side, noise = (
        graph.do(
            "add",
            graph.do("multiply", graph.slice(uniform, at, at + 1), _f(1 - 2 * TINY)),
            _f(TINY),
        )
        for at in (1 + dims + d, 1 + 2 * dims + d)
    )
    around = graph.do("subtract", graph.do("multiply", side, _f(2.0)), _f(1.0))
    odds = graph.do("divide", noise, graph.do("subtract", _f(1.0), noise))
    z = graph.do("add", graph.do("multiply", edge, around), graph.do("log", odds))
    return graph.do("multiply", scale, z)


def _chosen(graph: Graph, hot: Value, blocks: Value, count: int) -> Value:
    """The block of outputs that a one in `hot` stands for."""
    size = width_of(blocks) // count
    spread = np.kron(np.eye(count), np.ones((1, size))).astype(np.float32)
    mask = graph.linear([hot], spread, np.zeros(count * size))
    gather = np.tile(np.eye(size, dtype=np.float32), (count, 1))
    return graph.linear([graph.do("multiply", mask, blocks)], gather, np.zeros(size))


def _dot(graph: Graph, one: Value, other: Value) -> Value:
    both = graph.do("multiply", one, other)
    return graph.linear([both], np.ones((width_of(both), 1)), np.zeros(1))


def _f(value: float) -> np.ndarray:
    return np.array(value, np.float32)
