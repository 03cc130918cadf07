"""One action of a prior at a time, compiled with its weights inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Array

from sfp.priors.base import Prior


class Sampler:
    """Draws what a prior would do next, given past actions and the state."""

    def __init__(self, prior: Prior):
        self._prior = prior

    def __call__(
        self, rng: np.random.Generator, history: np.ndarray, state: np.ndarray
    ) -> np.ndarray:
        """One action; of the state, the prior gets as many dimensions as it sees."""
        seen = state[: len(self._prior.frame.state_mean)]
        context = np.concatenate([history.ravel(), seen])
        return np.asarray(self._sample(rng.integers(2**32, dtype=np.uint32), context))

    @cached_property
    def _sample(self) -> Callable[[np.uint32, np.ndarray], Array]:
        """Philox (`rbg`) draws one action's noise in one operation.

        Threefry's many small ones would take a fifth of the call.
        """

        def sample(seed, context):
            return self._prior.sample(jax.random.key(seed, impl="rbg"), context)

        return jax.jit(sample)
