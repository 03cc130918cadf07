"""Encoders of images against slow loops and SciPy; random shifts."""

import jax
import numpy as np
import pytest
from scipy.signal import correlate

import sfp
from sfp.errors import SfpError
from sfp.nets.encoder import ENCODERS, Convolutions, make_encoder, random_shift
from sfp.observation import Obs, Spec


def shown(shape, count=2):
    image = np.random.default_rng(0).integers(0, 256, (count, *shape), dtype=np.uint8)
    none = np.zeros((count, 0), np.float32)
    return Obs(none, none, image)


def plain(layer):
    return jax.tree.map(np.asarray, layer)


def test_the_authors_encoder_is_three_convolutions_with_two_pools():
    spec = Spec(0, 2, image=(64, 64, 3))
    encoder, features = make_encoder(spec, "conv", key=jax.random.key(0))
    assert features == 2304
    obs = shown((64, 64, 3), 1)
    grid = obs.image[0] / 255.0
    for number, layer in enumerate(plain(encoder).layers):
        weight = layer.weights[0].reshape(3, 3, grid.shape[-1], 16)
        made = [
            correlate(grid, weight[..., i], mode="valid")[..., 0] + layer.biases[0][i]
            for i in range(16)
        ]
        grid = np.maximum(np.stack(made, axis=-1), 0.0)
        if number < 2:
            rows, columns = (n // 2 * 2 for n in grid.shape[:2])
            parts = [grid[i:rows:2, j:columns:2] for i in (0, 1) for j in (0, 1)]
            grid = np.max(parts, axis=0)
    np.testing.assert_allclose(plain(encoder)(obs)[0], grid.ravel(), atol=1e-5)


def test_small_images_are_refused_by_convolutions():
    with pytest.raises(SfpError, match=r"18x18 pixels at least.*encoder patches"):
        Convolutions(Spec(0, 2, image=(16, 20, 3)), key=jax.random.key(0))


@pytest.mark.slow
def test_an_encoder_of_ones_own_sees_one_observation():
    import equinox as eqx

    class Mean(eqx.Module):
        gain: jax.Array

        def __init__(self, spec, *, key):
            self.gain = jax.numpy.ones(spec.image[2])

        def __call__(self, obs):
            return obs.image.astype(np.float32).mean(axis=(0, 1)) * self.gain

    sfp.register_encoder("mean", Mean)
    try:
        spec = Spec(0, 2, image=(8, 8, 3))
        encoder, features = make_encoder(spec, "mean", key=jax.random.key(0))
        assert features == 3
        obs = shown((8, 8, 3))
        many = plain(encoder)(obs)
        assert isinstance(many, np.ndarray)
        np.testing.assert_allclose(many, obs.image.mean(axis=(1, 2)), rtol=1e-5)
        one = plain(encoder)(Obs(*(part[1] for part in obs)))
        np.testing.assert_allclose(one, many[1], rtol=1e-6)
        with pytest.raises(
            SfpError, match="unknown encoder 'means': did you mean mean"
        ):
            make_encoder(spec, "means", key=jax.random.key(0))
    finally:
        del ENCODERS["mean"]


@pytest.mark.slow
def test_shifts_move_whole_images_and_repeat_their_border():
    images = shown((6, 5, 3), 40).image
    moved = np.asarray(random_shift(jax.random.key(0), jax.numpy.asarray(images), 2))
    found = set()
    for before, after in zip(images, moved, strict=True):
        padded = np.pad(before, ((2, 2), (2, 2), (0, 0)), mode="edge")
        places = [
            (i, j)
            for i in range(5)
            for j in range(5)
            if np.array_equal(padded[i : i + 6, j : j + 5], after)
        ]
        assert places
        found |= set(places)
    assert len(found) > 12  # of 25
