"""Encoders: from an observation to the features that policy, critics and Λ see."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from sfp.nets.mlp import MLP
from sfp.nets.namespace import namespace, normalise, relu
from sfp.observation import Obs, Spec

PATCH = 8
LATENT = 50


class Flat(eqx.Module):
    """The state with the goal behind it; nothing is learned.

    Leading axes of an observation are free, in NumPy and in JAX.
    """

    def __call__(self, obs: Obs) -> Any:
        xp = namespace(obs.state)
        return xp.concatenate([obs.state, obs.goal], axis=-1)


class Patches(eqx.Module):
    """Patches of 8x8 pixels, one 3x3 convolution, a linear map; then state and goal.

    Both layers are matrix products of slices: gradients of XLA's own convolutions are
    an order of magnitude slower inside a loop on a CPU. The latent is normalised and
    squashed by tanh, as in DrQ-v2.
    """

    patch: MLP
    conv: MLP
    latent: MLP

    def __init__(self, spec: Spec, *, key: PRNGKeyArray):
        height, width, channels = spec.image_shape
        rows, columns = -(-height // PATCH), -(-width // PATCH)
        keys = jax.random.split(key, 3)
        self.patch = MLP([PATCH * PATCH * channels, 32], key=keys[0])
        self.conv = MLP([9 * 32, 32], key=keys[1])
        self.latent = MLP([rows * columns * 32, LATENT], key=keys[2])

    def __call__(self, obs: Obs) -> Any:
        xp = namespace(obs.state)
        pixels = obs.image.astype(xp.float32) / 255.0 - 0.5
        grid = relu(self.patch(_patches(pixels)))
        grid = relu(self.conv(_neighbours(grid)))
        flat = grid.reshape(*grid.shape[:-3], -1)
        latent = xp.tanh(normalise(self.latent(flat)))
        return xp.concatenate([latent, obs.state, obs.goal], axis=-1)


def make_encoder(spec: Spec, *, key: PRNGKeyArray) -> tuple[Any, int]:
    if not spec.image:
        return Flat(), spec.inputs
    return Patches(spec, key=key), LATENT + spec.inputs


def _patches(pixels: Any) -> Any:
    """(..., height, width, c) to (..., rows, columns, 8 * 8 * c), padded with zeros."""
    xp = namespace(pixels)
    *lead, height, width, channels = pixels.shape
    fill = [(0, 0)] * len(lead) + [(0, -height % PATCH), (0, -width % PATCH), (0, 0)]
    pixels = xp.pad(pixels, fill)
    rows, columns = pixels.shape[-3] // PATCH, pixels.shape[-2] // PATCH
    split = pixels.reshape(*lead, rows, PATCH, columns, PATCH, channels)
    split = xp.moveaxis(split, -4, -3)
    return split.reshape(*lead, rows, columns, -1)


def _neighbours(grid: Any) -> Any:
    """Every cell with the eight around it: (..., rows, columns, 9 * c)."""
    xp = namespace(grid)
    *lead, rows, columns, _ = grid.shape
    padded = xp.pad(grid, [(0, 0)] * len(lead) + [(1, 1), (1, 1), (0, 0)])
    shifted = [
        padded[..., i : i + rows, j : j + columns, :]
        for i in range(3)
        for j in range(3)
    ]
    return xp.concatenate(shifted, axis=-1)
