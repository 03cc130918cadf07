"""Encoders: from an observation to the features that policy, critics and Λ see."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, UInt8

from sfp.errors import SfpError, unknown
from sfp.nets.mlp import MLP
from sfp.nets.namespace import along, namespace, normalise, relu
from sfp.observation import Obs, Spec
from sfp.outside import call, check_callable, register

PATCH = 8
LATENT = 50
CHANNELS = 16
"""Of the authors' convolutions."""


class Flat(eqx.Module):
    """The state with the goal behind it; nothing is learned.

    Leading axes of an observation are free, in NumPy and in JAX.
    """

    def __call__(self, obs: Obs) -> Any:
        xp = namespace(obs.state)
        return xp.concatenate([obs.state, obs.goal], axis=-1)


class Patches(eqx.Module):
    """Patches of 8x8 pixels, one 3x3 convolution, a linear map; then state and goal.

    The first layer is a matrix product: on a CPU a convolution of such a stride takes
    twice as long. The latent is normalised and squashed by tanh, as in DrQ-v2. An image
    of 64x64 takes 1.1 million multiplications.
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
        cut = _patches(obs.image)
        if xp is jnp:  # or XLA would turn every pixel into a number while it cuts
            cut = jax.lax.optimization_barrier(cut)
        latent = self._latent(cut.astype(xp.float32) / 255.0)
        return xp.concatenate([latent, obs.state, obs.goal], axis=-1)

    def see(self, pixels: Any) -> Any:
        """The latent of images in [0, 1]."""
        return self._latent(_patches(pixels))

    def _latent(self, cut: Any) -> Any:
        grid = relu(self.patch(cut - 0.5))
        grid = relu(_convolved(self.conv, grid, border=1))
        flat = grid.reshape(*grid.shape[:-3], -1)
        return namespace(cut).tanh(normalise(self.latent(flat)))


class Convolutions(eqx.Module):
    """The authors' encoder: three 3x3 convolutions of 16 channels, two max pools.

    An image of 64x64 takes 3.9 million multiplications and becomes 2304 features,
    behind which stand state and goal.
    """

    layers: tuple[MLP, ...]

    def __init__(self, spec: Spec, *, key: PRNGKeyArray):
        if min(spec.image_shape[:2]) < 18:
            raise SfpError(
                f"the encoder conv needs images of 18x18 pixels at least, received "
                f"{spec.image_shape}: take the encoder patches."
            )
        sizes = spec.image_shape[2], CHANNELS, CHANNELS
        keys = jax.random.split(key, len(sizes))
        self.layers = tuple(
            MLP([9 * size, CHANNELS], key=k)
            for size, k in zip(sizes, keys, strict=True)
        )

    def __call__(self, obs: Obs) -> Any:
        xp = namespace(obs.state)
        grid = obs.image.astype(xp.float32) / 255.0
        for number, layer in enumerate(self.layers):
            grid = relu(_convolved(layer, grid))
            grid = _pooled(grid) if number < 2 else grid
        flat = grid.reshape(*grid.shape[:-3], -1)
        return xp.concatenate([flat, obs.state, obs.goal], axis=-1)


class Own(eqx.Module):
    """An encoder from outside: of one observation in JAX, here of many or in NumPy."""

    net: Any

    def __call__(self, obs: Obs) -> Any:
        apply = self.net
        for _ in range(obs.image.ndim - 3):
            apply = jax.vmap(apply)
        features = apply(obs)
        return np.asarray(features) if namespace(obs.image) is np else features


ENCODERS: dict[str, Callable[..., Any]] = {"patches": Patches, "conv": Convolutions}


def register_encoder(name: str, build: Any) -> None:
    """Give an encoder of your own a name, in this process, for `--encoder name`.

    Args:
        name: that no other encoder has.
        build: a class or function, called as `build(spec, key=key)`. It returns a tree
            of arrays (such as an `equinox.Module`) that is called with one `Obs` and
            gives a vector of features.
    """
    check_callable(f"the encoder {name!r}", build, "(spec, *, key) of a module")

    def made(spec: Spec, *, key: PRNGKeyArray) -> Own:
        return Own(call(f"the encoder {name!r}", build, spec, key=key))

    register(ENCODERS, "encoder", name, made)


def make_encoder(
    spec: Spec, name: str = "patches", *, key: PRNGKeyArray
) -> tuple[Any, int]:
    """An encoder for these observations, and how many features it has."""
    if name not in ENCODERS:
        raise unknown("encoder", name, ENCODERS, "Or register it first.")
    if not spec.image:
        return Flat(), spec.inputs
    encoder = ENCODERS[name](spec, key=key)
    what, obs = f"the encoder {name!r}", spec.obs()
    features = call(what, jax.eval_shape, lambda obs: encoder(obs), obs)
    if getattr(features, "ndim", None) != 1:
        raise SfpError(
            f"the encoder {name!r} returns {features}: expected a vector of features."
        )
    return encoder, features.shape[0]


def random_shift(
    key: PRNGKeyArray, images: UInt8[Array, "batch h w c"], most: int
) -> UInt8[Array, "batch h w c"]:
    """Every image moved by up to `most` pixels; its border is repeated outside."""
    fill = ((0, 0), (most, most), (most, most), (0, 0))
    padded = jnp.pad(images, fill, mode="edge")
    starts = jax.random.randint(key, (len(images), 2), 0, 2 * most + 1)

    def cut(image, start):
        return jax.lax.dynamic_slice(image, (*start, 0), images.shape[1:])

    return jax.vmap(cut)(padded, starts)


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


def _convolved(layer: MLP, grid: Any, border: int = 0) -> Any:
    """A 3x3 convolution of (..., rows, columns, c): the layer sees windows of 9 c."""
    if namespace(grid) is np:
        return layer(_windows(grid, border))
    (weight,), (bias,) = layer.weights, layer.biases
    out = jax.lax.conv_general_dilated(
        grid.reshape(-1, *grid.shape[-3:]),
        weight.reshape(3, 3, grid.shape[-1], -1),
        (1, 1),
        [(border, border)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return out.reshape(*grid.shape[:-3], *out.shape[1:]) + along(bias, grid)


def _windows(grid: Any, border: int) -> Any:
    """The 3x3 windows of (..., rows, columns, c), 9 c numbers each."""
    xp, (*lead, rows, columns, _) = namespace(grid), grid.shape
    grid = xp.pad(grid, [(0, 0)] * len(lead) + [(border, border)] * 2 + [(0, 0)])
    rows, columns = rows + 2 * border - 2, columns + 2 * border - 2
    cut = [grid[..., i : i + rows, j : j + columns, :] for i, j in np.ndindex(3, 3)]
    return xp.concatenate(cut, axis=-1)


def _pooled(grid: Any) -> Any:
    """The largest of every 2x2 cells; an odd last row or column is left out."""
    xp, (rows, columns) = namespace(grid), (n // 2 * 2 for n in grid.shape[-3:-1])
    grid = xp.maximum(grid[..., 0:rows:2, :, :], grid[..., 1:rows:2, :, :])
    return xp.maximum(grid[..., 0:columns:2, :], grid[..., 1:columns:2, :])
