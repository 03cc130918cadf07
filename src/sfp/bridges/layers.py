"""Priors, policies and mixtures as graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfp.bridges.graph import Graph, Value, width_of
from sfp.bridges.products import draw
from sfp.errors import SfpError
from sfp.nets.mlp import MLP
from sfp.nets.policy import LOG_STD, Policy
from sfp.priors import gaussian, vae
from sfp.priors.base import CLAMP, Prior
from sfp.priors.deterministic import Deterministic
from sfp.priors.lscde import LSCDE
from sfp.priors.mixture import Mixture
from sfp.priors.realnvp import EPSILON, LOG_SCALE, RealNVP
from sfp.priors.warp import SHARE

Parts = Sequence[Value]
"""What a context is made of, in order; a part may be empty."""


def mlp(graph: Graph, net: MLP, parts: Parts) -> Value:
    """The network of parts that stand behind each other."""
    for weight, bias in zip(net.weights[:-1], net.biases[:-1], strict=True):
        parts = [graph.do("relu", graph.linear(parts, _array(weight), _array(bias)))]
    return graph.linear(parts, _array(net.weights[-1]), _array(net.biases[-1]))


def propose(graph: Graph, prior: Prior, past: Value, state: Value) -> Value:
    """The prior's action in its own units, clamped as `Prior.sample` does it."""
    emit = _find(prior)
    unit = emit(graph, prior.model, scaled(graph, prior, past, state), prior.dims)
    return from_unit(graph, prior, unit)


def warped(graph: Graph, prior: Prior, unit: Value, past: Value, state: Value) -> Value:
    """The action that u in [-1, 1] stands for through a flow (PARROT)."""
    if not isinstance(prior.model, RealNVP):
        raise _unsupported(prior.model)
    share = graph.do("add", graph.do("multiply", unit, _f(0.5 * SHARE)), _f(0.5))
    noise = normal_quantile(graph, share)
    made = invert(graph, prior.model, noise, scaled(graph, prior, past, state))
    return from_unit(graph, prior, made)


def scaled(graph: Graph, prior: Prior, past: Value, state: Value) -> Parts:
    """Past actions and the state in the model's units."""
    frame, k = prior.frame, prior.conditioning.past_actions
    middle, half = (
        np.tile(_array(x), k) for x in (frame.scale.middle, frame.scale.half)
    )
    parts = []
    if width_of(past):
        parts.append(graph.do("divide", graph.do("subtract", past, middle), half))
    if width_of(state):
        mean, deviation = _array(frame.state_mean), _array(frame.state_deviation)
        parts.append(graph.do("divide", graph.do("subtract", state, mean), deviation))
    return parts or [np.zeros(0, np.float32)]


def from_unit(graph: Graph, prior: Prior, unit: Value) -> Value:
    scale = prior.frame.scale
    clamped = graph.do("clip", unit, _f(-CLAMP), _f(CLAMP))
    spread = graph.do("multiply", clamped, _array(scale.half))
    return graph.do("add", spread, _array(scale.middle))


def moments(graph: Graph, policy: Policy, features: Value) -> tuple[Value, Value]:
    """μ and log σ of a policy."""
    out = mlp(graph, policy.net, [features])
    dims = width_of(out) // 2
    log_std = graph.slice(out, dims, 2 * dims)
    low, high = LOG_STD
    return graph.slice(out, 0, dims), graph.do("clip", log_std, _f(low), _f(high))


def shaken(graph: Graph, policy: Policy, features: Value, noise: Value) -> Value:
    """The policy's action in [-1, 1] for given standard normal noise."""
    mean, log_std = moments(graph, policy, features)
    step = graph.do("multiply", graph.do("exp", log_std), noise)
    return graph.do("tanh", graph.do("add", mean, step))


def executed(graph: Graph, unit: Value, low: np.ndarray, high: np.ndarray) -> Value:
    """An action of [-1, 1] in the environment's units, never outside its bounds."""
    half = graph.do("multiply", graph.do("add", unit, _f(1.0)), _f(0.5))
    wide = graph.do("multiply", half, _array(high - low))
    return graph.do(
        "clip", graph.do("add", wide, _array(low)), _array(low), _array(high)
    )


def invert(graph: Graph, flow: RealNVP, noise: Value, parts: Parts) -> Value:
    """From noise to an action in the model's units.

    A coupling's encoder ends with a linear map that its network begins with: they are
    one product here.
    """
    x, couplings = noise, flow.couplings
    shared = len(flow.encoders) == 1
    hidden = [_hidden(graph, encoder, parts) for encoder in flow.encoders]
    for i in reversed(range(len(couplings))):
        if flow.norms:
            norm = flow.norms[i]
            variance = _array(flow.variances[i])
            slope = np.exp(-_array(norm.log_gain)) * np.sqrt(variance + _f(EPSILON))
            offset = _array(flow.means[i]) - _array(norm.offset) * slope
            x = graph.do("add", graph.do("multiply", x, slope), offset)
        coupling, at = couplings[i], 0 if shared else i
        kept, moved = _halves(graph, x, coupling.kept, flip=coupling.flip)
        out = _behind(graph, coupling.net, flow.encoders[at], hidden[at], kept)
        count = width_of(moved)
        raw = graph.do("multiply", graph.slice(out, 0, count), _f(1 / LOG_SCALE))
        scale = graph.do(
            "exp", graph.do("multiply", graph.do("tanh", raw), _f(LOG_SCALE))
        )
        shift = graph.slice(out, count, 2 * count)
        moved = graph.do("add", graph.do("multiply", moved, scale), shift)
        x = graph.concat(kept, moved)
        x = graph.do("reverse", x) if coupling.flip and width_of(x) > 1 else x
    return x


def normal_quantile(graph: Graph, p: Value) -> Value:
    """The inverse Φ⁻¹(p) for p within [0.02, 0.98] (Wichura, 1988, AS241)."""
    q = graph.do("subtract", p, _f(0.5))
    r = graph.do("subtract", _f(0.180625), graph.do("multiply", q, q))
    inner = graph.do("multiply", q, _ratio(graph, CENTRE, r))
    tail = graph.do("minimum", p, graph.do("subtract", _f(1.0), p))
    far = graph.do("sqrt", graph.do("subtract", _f(0.0), graph.do("log", tail)))
    outer = _ratio(graph, TAIL, graph.do("subtract", far, _f(1.6)))
    low = graph.do("less", q, _f(0.0))
    signed = graph.do("where", low, graph.do("subtract", _f(0.0), outer), outer)
    is_outer = graph.do("less", r, _f(0.0))
    return graph.do("where", is_outer, signed, inner)


def _ratio(graph: Graph, terms: tuple[Sequence[float], Sequence[float]], x: Value):
    made = []
    for series in terms:
        total: Value = _f(series[-1])
        for term in reversed(series[:-1]):
            total = graph.do("add", graph.do("multiply", total, x), _f(term))
        made.append(total)
    return graph.do("divide", *made)


def _hidden(graph: Graph, net: MLP, parts: Parts) -> Value:
    """The last hidden layer."""
    for weight, bias in zip(net.weights[:-1], net.biases[:-1], strict=True):
        parts = [graph.do("relu", graph.linear(parts, _array(weight), _array(bias)))]
    return parts[0]


def _behind(graph: Graph, net: MLP, encoder: MLP, hidden: Value, own: Value) -> Value:
    """`net` of `own` and of the encoder's output behind it."""
    weight, bias = _array(net.weights[0]), _array(net.biases[0])
    count = width_of(own)
    joined = _array(encoder.weights[-1]) @ weight[count:]
    bias = bias + _array(encoder.biases[-1]) @ weight[count:]
    both = np.concatenate([weight[:count], joined])
    x = graph.linear([own, hidden], both, bias)
    for weight, bias in zip(net.weights[1:], net.biases[1:], strict=True):
        x = graph.linear([graph.do("relu", x)], _array(weight), _array(bias))
    return x


def _halves(graph: Graph, x: Value, kept: int, *, flip: bool) -> tuple[Value, Value]:
    width = width_of(x)
    x = graph.do("reverse", x) if flip and width > 1 else x
    if not kept:
        return np.zeros(0, np.float32), x
    return graph.slice(x, 0, kept), graph.slice(x, kept, width)


def _flow(graph: Graph, model: RealNVP, parts: Parts, dims: int) -> Value:
    return invert(graph, model, graph.input("noise", dims), parts)


def _gaussian(graph: Graph, model: gaussian.Gaussian, parts: Parts, dims: int) -> Value:
    out = mlp(graph, model.net, parts)
    deviation = _deviation(graph, graph.slice(out, dims, 2 * dims), gaussian)
    step = graph.do("multiply", deviation, graph.input("noise", dims))
    return graph.do("tanh", graph.do("add", graph.slice(out, 0, dims), step))


def _vae(graph: Graph, model: vae.VAE, parts: Parts, dims: int) -> Value:
    latent = model.latents.shape[1]
    noise = graph.input("noise", latent + dims)
    z = graph.slice(noise, 0, latent)
    out = mlp(graph, model.decoder, [z, *parts])
    raw = graph.do("subtract", graph.slice(out, dims, 2 * dims), _f(vae.SHARP))
    step = graph.do(
        "multiply",
        _deviation(graph, raw, vae),
        graph.slice(noise, latent, latent + dims),
    )
    return graph.do("add", graph.slice(out, 0, dims), step)


def _deviation(graph: Graph, raw: Value, module: Any) -> Value:
    low, high = module.LOG_DEVIATION
    share = graph.do("multiply", graph.do("sigmoid", raw), _f(high - low))
    return graph.do("exp", graph.do("add", share, _f(low)))


def _deterministic(
    graph: Graph, model: Deterministic, parts: Parts, dims: int
) -> Value:
    return mlp(graph, model.net, parts)


def _lscde(graph: Graph, model: LSCDE, parts: Parts, dims: int) -> Value:
    """A centre by its weight, and a step from it."""
    width, logits = _array(model.width), _array(model.log_weights)
    pick, noise = graph.input("pick", 1), graph.input("noise", dims)
    centres = _array(model.context_centres)
    if centres.shape[1]:
        context = graph.concat(*parts)
        gap = graph.do("subtract", graph.do("spread", context), centres)
        gap = graph.do("divide", gap, width)
        far = graph.do("sum", graph.do("multiply", gap, gap), width=len(centres))
        half = graph.do("multiply", far, _f(-0.5))
        logits = graph.do("add", half, logits)
    up_to = graph.do("cumsum", graph.do("softmax", logits))
    index = graph.do("count", graph.do("less", up_to, pick), width=1)
    mean = graph.do("take", _array(model.action_centres), index, width=dims)
    return graph.do("add", mean, graph.do("multiply", noise, width))


def _mixture(graph: Graph, model: Mixture, parts: Parts, dims: int) -> Value:
    skip = _array(model.skip)
    straight = graph.linear(parts, skip, np.zeros(skip.shape[1]))
    out = graph.do("add", mlp(graph, model.net, parts), straight)
    return draw(graph, model, out, graph.input("uniform", model.numbers))


EMITTERS: dict[type, Callable[..., Value]] = {
    RealNVP: _flow,
    gaussian.Gaussian: _gaussian,
    vae.VAE: _vae,
    Deterministic: _deterministic,
    LSCDE: _lscde,
    Mixture: _mixture,
}
"""From a model's type to its graph; exactly that type, for a subclass may differ."""


def _find(prior: Prior) -> Callable[..., Value]:
    if type(prior.model) not in EMITTERS:
        raise _unsupported(prior.model)
    return EMITTERS[type(prior.model)]


def _unsupported(model: Any) -> SfpError:
    known = ", ".join(kind.__name__ for kind in EMITTERS)
    return SfpError(
        f"the model {type(model).__name__} cannot be exported: expected one of {known}."
        " Fit another, or act with sfp itself."
    )


def _array(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)


def _f(value: float) -> np.ndarray:
    return np.array(value, np.float32)


CENTRE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
TAIL = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
"""Numerator and denominator of Φ⁻¹ near the middle and in the tails, rising powers."""
