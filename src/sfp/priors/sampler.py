"""One action of a prior at a time, as cheaply as its model allows."""

from collections.abc import Callable

import jax
import numpy as np

from sfp.priors.base import CLAMP, Prior
from sfp.priors.protocols import InNumPy


class Sampler:
    """Draws what a prior would do next, given past actions and the state."""

    def __init__(self, prior: Prior):
        self._seen = len(prior.frame.state_mean)
        small = isinstance(prior.model, InNumPy)
        self._sample = _in_numpy(prior) if small else _compiled(prior)

    def __call__(
        self, rng: np.random.Generator, history: np.ndarray, state: np.ndarray
    ) -> np.ndarray:
        """One action; of the state, the prior gets as many dimensions as it sees."""
        return self._sample(rng, np.concatenate([history.ravel(), state[: self._seen]]))


Sample = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def _compiled(prior: Prior) -> Sample:
    """A program with the weights inside."""

    @jax.jit
    def sample(seed, context):
        # Philox (`rbg`) draws one action's noise in one operation; Threefry's many
        # small ones would take a fifth of the call.
        return prior.sample(jax.random.key(seed, impl="rbg"), context)

    return lambda rng, context: np.asarray(
        sample(rng.integers(2**32, dtype=np.uint32), context)
    )


def _in_numpy(prior: Prior) -> Sample:
    """Without XLA: for a small network its call costs more than the arithmetic."""
    assert isinstance(prior.model, InNumPy)
    frame = jax.tree.map(np.asarray, prior.frame)
    middle, half, k = frame.scale.middle, frame.scale.half, len(prior.seeds[0])
    centre = np.concatenate([np.tile(middle, k), frame.state_mean])
    size = np.concatenate([np.tile(half, k), frame.state_deviation])
    numbers, draw = prior.model.numbers, prior.model.in_numpy()
    units = list(zip(middle.tolist(), half.tolist(), strict=True))

    def sample(rng: np.random.Generator, context: np.ndarray) -> np.ndarray:
        uniform = rng.random(numbers, np.float32)
        drawn = zip(draw(uniform, (context - centre) / size), units, strict=True)
        action = [m + h * max(-CLAMP, min(CLAMP, value)) for value, (m, h) in drawn]
        return np.array(action, np.float32)

    return sample
