"""Where the batches of a fit come from."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sfp.data.trajectories import Trajectories
from sfp.nets.namespace import along
from sfp.priors.base import Frame
from sfp.priors.conditioning import Conditioning, states
from sfp.priors.prepare import draw_seeds, shuffled, split

SETTLE = 131_072
"""Samples that give a model's statistics."""


class Samples(NamedTuple):
    """Scaled actions, each with its context; NumPy arrays may stay off the device."""

    actions: Any
    contexts: Any


class Units(NamedTuple):
    """How actions and contexts become what a model sees.

    The jitter is half the width of the noise that makes point masses densities; actions
    are clipped to ± edge.
    """

    frame: Frame
    jitter: Float[Array, " dims"]
    edge: float


class DevicePairs:
    """Pairs of an action and its context, gathered from all steps on the device.

    Only `resident`, a tree of arrays, has to be there; a subclass may let `load` bring
    more of it for each block of steps. A fit is judged by the `held` samples, and those
    of `settling` stand for all in `settle` and `solve`.

    Contexts are put together when they are needed: all of them at once would be
    `past_actions` times the data. The `keys` draw the noise of the held-out samples and
    of those that stand for all, once: every epoch is judged by the same samples.
    """

    def __init__(
        self,
        data: Trajectories,
        conditioning: Conditioning,
        units: Units,
        *,
        seed: int,
        keys: tuple[PRNGKeyArray, PRNGKeyArray],
    ):
        rows, episodes = conditioning.rows(data)
        held_out = split(episodes, seed)
        train, held = (rows[x].astype(np.int32) for x in (~held_out, held_out))
        self._data, self._conditioning, self._seed = data, conditioning, seed
        self._units, self._train, self.size = units, train, len(train)
        self.resident = self._scaled()
        self.held = self.make(keys[0], self.resident, shuffled(held, seed))
        some = shuffled(train, seed, SETTLE)
        self.settling = self.make(keys[1], self.resident, some)

    @property
    def seeds(self) -> Float[Array, "seeds past dims"]:
        return draw_seeds(self._data, self._train, self._conditioning, self._seed)

    def load(
        self, items: Int[np.ndarray, "steps batch"]
    ) -> Int[np.ndarray, "steps batch"]:
        return self._train[items]

    def make(self, key: PRNGKeyArray, resident: Any, loaded: Any) -> Samples:
        _, jitter, edge = self._units
        actions = resident[0][loaded]
        noise = jax.random.uniform(key, actions.shape, minval=-1.0)
        actions = jnp.clip(actions + along(jitter, noise) * noise, -edge, edge)
        return Samples(actions, self._conditioning.gather(loaded, *resident))

    def _scaled(self) -> tuple[jax.Array, jax.Array | None]:
        frame, data = self._units.frame, self._data
        actions = frame.scale.to_unit(jnp.asarray(data.actions))
        if not self._conditioning.state:
            return actions, None
        seen = jnp.asarray(states(data))
        mean, deviation = frame.state_mean[None], frame.state_deviation[None]
        return actions, (seen - mean) / deviation
