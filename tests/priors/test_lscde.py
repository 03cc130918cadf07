"""LSCDE against its definition, with the integrals done by brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.priors.lscde import LSCDE, moments, weights

pytestmark = pytest.mark.slow


def kernel(c, a, u, v, width):
    return np.exp(-(((c - u) ** 2).sum() + ((a - v) ** 2).sum()) / (2 * width**2))


def test_moments_against_quadrature():
    rng = np.random.default_rng(0)
    contexts, actions = rng.normal(size=(6, 1)), rng.normal(size=(6, 1))
    u, v, width = contexts[:3], actions[:3], 0.7
    gram, mean = moments(contexts, actions, u, v, width)
    axis = np.linspace(-12, 12, 4001)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for c in contexts:
                products = [
                    kernel(c, a, u[i], v[i], width) * kernel(c, a, u[j], v[j], width)
                    for a in axis
                ]
                total += np.trapezoid(products, axis)
            assert gram[i, j] == pytest.approx(total / 6, rel=1e-5)
        direct = np.mean(
            [
                kernel(c, a, u[i], v[i], width)
                for c, a in zip(contexts, actions, strict=True)
            ]
        )
        assert mean[i] == pytest.approx(direct, rel=1e-10)


def test_weights_minimise_the_regularised_squared_error():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 5))
    gram, mean = root @ root.T, np.abs(rng.normal(size=5)) + 1
    alpha = np.linalg.solve(gram + 0.3 * np.eye(5), mean)

    def objective(x):
        return 0.5 * x @ gram @ x - mean @ x + 0.15 * x @ x

    for _ in range(20):
        other = alpha + 0.01 * rng.normal(size=5)
        assert objective(other) > objective(alpha)
    np.testing.assert_allclose(weights(gram, mean, 0.3), np.maximum(alpha, 0))


def test_density_is_the_normalised_kernel_expansion():
    rng = np.random.default_rng(2)
    contexts = rng.uniform(-1, 1, (600, 2)).astype(np.float32)
    actions = (0.6 * contexts + 0.1 * rng.standard_normal((600, 2))).astype(np.float32)
    model = LSCDE(2, 2, key=jax.random.key(0)).solve(actions, contexts, rng)
    u, v = np.asarray(model.context_centres), np.asarray(model.action_centres)
    alpha, width = np.exp(np.asarray(model.log_weights, float)), float(model.width)
    context = np.array([0.2, -0.5])
    near = np.exp(-((context - u) ** 2).sum(1) / (2 * width**2))
    for action in ([0.1, -0.3], [0.0, 0.0], [0.3, -0.2]):
        phi = near * np.exp(-((np.array(action) - v) ** 2).sum(1) / (2 * width**2))
        norm = (alpha * near).sum() * 2 * np.pi * width**2
        expected = np.log((alpha * phi).sum() / norm)
        got = model.log_prob(jnp.array(action), jnp.asarray(context))
        assert float(got) == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_far_from_all_centres_it_is_still_a_density():
    rng = np.random.default_rng(3)
    contexts = rng.uniform(-0.1, 0.1, (600, 2)).astype(np.float32)
    model = LSCDE(2, 2, key=jax.random.key(0)).solve(contexts, contexts, rng)
    far = jnp.array([50.0, 50.0])
    assert np.isfinite(model.log_prob(jnp.zeros(2), far))
    assert np.isfinite(model.sample(jax.random.key(0), far)).all()
