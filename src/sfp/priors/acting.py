"""A prior that acts: NumPy in, NumPy out, one action at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfp.errors import SfpError, at_least
from sfp.nets.mlp import MLP
from sfp.priors.base import CLAMP, Prior
from sfp.priors.realnvp import EPSILON, LOG_SCALE, RealNVP
from sfp.priors.sampler import Sampler

NONE = np.zeros(0, np.float32)
SERIAL = 8192
"""Numbers of a matrix that OpenBLAS multiplies by a vector without threads."""

ZERO, BOUND = np.float32(0.0), np.float32(LOG_SCALE)


class ActionSampler:
    """Draws actions of a prior in the environment's units.

        sample = prior.sampler(seed=0)
        history = sample.begin()              # when an episode begins
        action = sample(history)              # one action
        history = sample.push(history, action)  # what was executed, oldest first

    A flow computes in NumPy: JAX is needed to load it, not to act. Other models are
    compiled by JAX at their first action.

    Args:
        prior: to draw from.
        seed: of the random numbers.
    """

    def __init__(self, prior: Prior, seed: int = 0):
        at_least(0, seed=seed)
        self._sees, self._rng = prior.conditioning, np.random.default_rng(seed)
        self._seeds = np.asarray(prior.seeds, np.float32)
        self._shape = prior.conditioning.past_actions, prior.dims
        self._state = len(prior.frame.state_mean)
        flow = isinstance(prior.model, RealNVP)
        self._draw = _flow(prior) if flow else _other(prior)

    def begin(self) -> np.ndarray:
        """Past actions to begin an episode with, from the data the prior has seen."""
        return self._sees.begin(self._seeds, self._rng)

    def push(self, history: Any, action: Any) -> np.ndarray:
        """The past actions one time step later, when `action` was executed."""
        held = np.asarray(history, np.float32).reshape(self._shape)
        return self._sees.push(held, np.asarray(action, np.float32))

    def __call__(self, history: Any, state: Any = NONE) -> np.ndarray:
        """One action, within 0.99 of the action range.

        Args:
            history: the last executed actions, oldest first, flat or one per row.
            state: for a prior that sees it, the observation with the goal behind it.
        """
        past = np.asarray(history, np.float32).ravel()
        seen = np.asarray(state, np.float32).ravel()
        if len(past) != self._shape[0] * self._shape[1] or len(seen) < self._state:
            raise SfpError(
                f"this prior sees {self._sees}: expected {self._shape[0]} past actions "
                f"of {self._shape[1]} numbers and a state of {self._state}, received "
                f"{len(past)} and {len(seen)} numbers."
            )
        return self._draw(self._rng, past, seen[: self._state])


Draw = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


def _other(prior: Prior) -> Draw:
    sample = Sampler(prior)
    return lambda rng, past, state: sample(rng, past, state)


def _flow(prior: Prior) -> Draw:
    frame, dims = prior.frame, prior.dims
    middle, half = (_array(x) for x in (frame.scale.middle, frame.scale.half))
    count = prior.conditioning.past_actions
    centre = np.concatenate([np.tile(middle, count), _array(frame.state_mean)])
    size = np.concatenate([np.tile(half, count), _array(frame.state_deviation)])
    inverse = numpy_inverse(prior.model)

    def draw(rng: np.random.Generator, past: Any, state: Any) -> np.ndarray:
        context = np.concatenate((past, state))
        noise = rng.standard_normal(dims, np.float32)
        unit = inverse(noise, (context - centre) / size)
        return middle + half * np.minimum(np.maximum(unit, -CLAMP), CLAMP)

    return draw


def numpy_inverse(flow: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """`RealNVP.inverse` in NumPy, for one action: its many small steps are few here.

    All encoders are one product per layer. Nothing stands between the last linear map
    of an encoder and the first of its coupling, so that the two are one. A coupling
    that takes the action backwards has its weights in that order instead.
    """
    encoders, couplings = flow.encoders, flow.couplings
    first = np.concatenate([_array(e.weights[0]) for e in encoders], axis=1)
    offset = np.concatenate([_array(e.biases[0]) for e in encoders])
    layers = [
        (np.stack([_cut(_array(e.weights[i])) for e in encoders]), _rows(encoders, i))
        for i in range(1, len(encoders[0].weights) - 1)
    ]
    shared = [encoders[0]] * len(couplings) if len(encoders) == 1 else encoders
    pairs = list(zip(couplings, shared, strict=True))
    join = np.stack([_cut(_behind(c, e)[0]) for c, e in pairs])
    bias = np.stack([_behind(c, e)[1] for c, e in pairs])
    moves = [_move(flow, i) for i in reversed(range(len(couplings)))]

    def inverse(noise: np.ndarray, context: np.ndarray) -> np.ndarray:
        hidden = _relu(context @ first + offset).reshape(len(encoders), 1, 1, -1)
        for weight, added in layers:
            hidden = _relu((hidden @ weight).reshape(added.shape) + added)
        features, x = (hidden @ join).reshape(bias.shape) + bias, noise.copy()
        for move in moves:
            move(x, features)
        return x

    return inverse


def _move(flow: Any, i: int) -> Callable[[np.ndarray, np.ndarray], None]:
    """The inverse of one coupling and of the normalisation behind it, in place."""
    coupling, dims = flow.couplings[i], flow.means.shape[1]
    kept, moved = slice(0, coupling.kept), slice(coupling.kept, dims)
    count, net = dims - coupling.kept, coupling.net
    own = _array(net.weights[0])[: coupling.kept]
    last, shift = _array(net.weights[-1]), _array(net.biases[-1])
    if coupling.flip:
        kept, moved = slice(count, dims), slice(0, count)
        own = own[::-1]
        order = [*range(count)[::-1], *range(count, 2 * count)[::-1]]
        last, shift = last[:, order], shift[order]
    middle = [
        (_cut(_array(w)), _array(b))
        for w, b in zip(net.weights[1:-1], net.biases[1:-1], strict=True)
    ]
    gain = added = None
    if flow.norms:
        norm, mean, variance = flow.norms[i], flow.means[i], flow.variances[i]
        slope = _array(norm.log_gain) - 0.5 * np.log(_array(variance) + EPSILON)
        gain = np.exp(-slope).astype(np.float32)
        added = _array(mean) - _array(norm.offset) * gain

    def move(x: np.ndarray, features: np.ndarray) -> None:
        if gain is not None:
            x *= gain
            x += added
        h = _relu(np.dot(x[kept], own) + features[i])
        for weight, bias in middle:
            h = _relu((h @ weight).reshape(-1) + bias)
        out = np.dot(h, last) + shift
        scale = np.exp(BOUND * np.tanh(out[:count] / BOUND))
        part = x[moved]
        part *= scale
        part += out[count:]

    return move


def _behind(coupling: Any, encoder: MLP) -> tuple[np.ndarray, np.ndarray]:
    """The last linear map of an encoder and the first of its coupling, as one."""
    taken = _array(coupling.net.weights[0])[coupling.kept :]
    both = _array(encoder.weights[-1]) @ taken
    return both, _array(coupling.net.biases[0]) + _array(encoder.biases[-1]) @ taken


def _rows(encoders: Any, i: int) -> np.ndarray:
    return np.stack([_array(e.biases[i]) for e in encoders])[:, None, None]


def _cut(weight: np.ndarray) -> np.ndarray:
    """The columns in pieces, in front: OpenBLAS would start threads for the whole.

    On a busy machine these cost several times what the product does.
    """
    inputs, outputs = weight.shape
    count = -(-inputs * outputs // SERIAL)
    while outputs % count:
        count += 1
    return _array(weight.reshape(inputs, count, -1).transpose(1, 0, 2))


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, ZERO, out=x)


def _array(x: Any) -> np.ndarray:
    return np.ascontiguousarray(np.asarray(x, np.float32))
