"""One action of a prior at a time, compiled with its weights inside."""

import jax
import numpy as np

from sfp.priors.base import Prior


class Sampler:
    """Draws what a prior would do next, given past actions and the state."""

    def __init__(self, prior: Prior):
        def sample(seed, context):
            # Philox (`rbg`) draws one action's noise in one operation; Threefry's many
            # small ones would take a fifth of the call.
            return prior.sample(jax.random.key(seed, impl="rbg"), context)

        self._seen = len(prior.frame.state_mean)
        self._sample = jax.jit(sample)

    def __call__(
        self, rng: np.random.Generator, history: np.ndarray, state: np.ndarray
    ) -> np.ndarray:
        """One action; of the state, the prior gets as many dimensions as it sees."""
        context = np.concatenate([history.ravel(), state[: self._seen]])
        return np.asarray(self._sample(rng.integers(2**32, dtype=np.uint32), context))
