"""Where the batches of a fit come from."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
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

    block = 500
    """Gradient steps in one call, at most: what a progress bar can show."""

    most_held: int | None = None
    most_settled = SETTLE

    def __init__(
        self,
        data: Trajectories,
        conditioning: Conditioning,
        units: Units,
        *,
        seed: int,
        keys: tuple[PRNGKeyArray, PRNGKeyArray],
    ):
        rows, episodes = self._rows(data, conditioning)
        held_out = split(episodes, seed)
        train, held = (rows[x].astype(np.int32) for x in (~held_out, held_out))
        self._data, self._conditioning, self._seed = data, conditioning, seed
        self._units, self._train, self.size = units, train, len(train)
        self.resident = self._scaled()
        judged = shuffled(held, seed, self.most_held)
        self.held = self.make(keys[0], self.resident, self._found(judged))
        some = shuffled(train, seed, self.most_settled)
        self.settling = self.make(keys[1], self.resident, self._found(some))

    @property
    def seeds(self) -> Float[Array, "seeds past dims"]:
        return draw_seeds(self._data, self._train, self._conditioning, self._seed)

    def load(self, items: Int[np.ndarray, "steps batch"]) -> Any:
        return self._found(self._train[items])

    def make(self, key: PRNGKeyArray, resident: Any, loaded: Any) -> Samples:
        actions = self._noisy(key, resident[0][loaded])
        return Samples(actions, self._conditioning.gather(loaded, *resident))

    def _found(self, rows: Int[np.ndarray, "*lead"]) -> Any:
        """What `make` needs of some steps: here their numbers are enough."""
        return rows

    def _noisy(self, key: PRNGKeyArray, actions: Any) -> Any:
        _, jitter, edge = self._units
        noise = jax.random.uniform(key, actions.shape, minval=-1.0)
        return jnp.clip(actions + along(jitter, noise) * noise, -edge, edge)

    def _rows(
        self, data: Trajectories, conditioning: Conditioning
    ) -> tuple[np.ndarray, np.ndarray]:
        """The steps that can be learned from, and the episode of each."""
        return conditioning.rows(data)

    def _scaled(self) -> tuple[jax.Array, jax.Array | None]:
        frame, data = self._units.frame, self._data
        actions = frame.scale.to_unit(jnp.asarray(data.actions))
        if not self._conditioning.state:
            return actions, None
        seen = jnp.asarray(states(data))
        mean, deviation = frame.state_mean[None], frame.state_deviation[None]
        return actions, (seen - mean) / deviation


class ImagePairs(DevicePairs):
    """Pairs of an action and the image before it; images come in with their batch.

    One gradient step per call: inside a loop, convolutions are slow on a CPU.
    """

    block, most_held, most_settled = 1, 2_000, 16

    def make(self, key: PRNGKeyArray, resident: Any, loaded: Any) -> Samples:
        rows, images = loaded
        flat = images.reshape(len(rows), -1).astype(jnp.float32) / 255.0
        return Samples(self._noisy(key, resident[0][rows]), flat)

    def _found(self, rows: Int[np.ndarray, "*lead"]) -> Any:
        assert self._data.images is not None
        return rows, self._data.images[rows]

    def _scaled(self) -> tuple[jax.Array, None]:
        return self._units.frame.scale.to_unit(jnp.asarray(self._data.actions)), None


class DeviceWindows(DevicePairs):
    """Windows of consecutive steps, each within its own episode, for skills.

    The actions of a window are flat, and so are its states. Actions get no noise: the
    loss is an error, not a density.
    """

    most_held, most_settled = 20_000, 1_024

    def __init__(self, *args: Any, horizon: int, **options: Any):
        self.horizon = horizon
        super().__init__(*args, **options)

    def make(self, key: PRNGKeyArray, resident: Any, loaded: Any) -> Samples:
        steps = loaded[:, None] + jnp.arange(self.horizon)[None]
        actions, seen = resident
        count = len(loaded)
        states = jnp.zeros((count, 0)) if seen is None else seen[steps]
        return Samples(actions[steps].reshape(count, -1), states.reshape(count, -1))

    def _rows(
        self, data: Trajectories, conditioning: Conditioning
    ) -> tuple[np.ndarray, np.ndarray]:
        conditioning.rows(data)  # refuses data without states if they are to be seen
        longest = int(data.lengths.max())
        if longest < self.horizon:
            raise SfpError(
                f"{data.source}: no episode has the {self.horizon} actions of a skill "
                f"(the longest has {longest}): expected longer episodes, or a smaller "
                "horizon."
            )
        steps = [
            np.arange(start, end - self.horizon + 1)
            for start, end in zip(data.starts, data.ends, strict=True)
        ]
        lengths = [len(part) for part in steps]
        return np.concatenate(steps), np.repeat(np.arange(len(data)), lengths)
