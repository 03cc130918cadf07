"""Noises as priors: the process they continue, and that they are densities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.noise.processes import Colored, OrnsteinUhlenbeck
from sfp.priors.noises import NOISES, PAST, is_noise, noise_prior
from sfp.priors.store import CONFIG

pytestmark = pytest.mark.slow


def test_what_is_continued():
    """The equations of Yule and Walker, where the answer is known."""
    low, high = -np.ones(2), 3 * np.ones(2)
    ou = noise_prior("ou", low, high)
    np.testing.assert_allclose(ou.model.weights, [0.85], rtol=1e-6)
    assert float(ou.model.deviation) == pytest.approx(np.sqrt(1 - 0.85**2), rel=1e-5)
    assert noise_prior("uniform", low, high).seeds.shape == (4096, 0, 2)
    pink = noise_prior("pink", low, high)
    lags = Colored().correlations(PAST + 1)
    weights = np.asarray(pink.model.weights, float)[::-1]
    for k in range(1, PAST + 1):  # r(k) = Σ_j w_j r(k - j)
        ahead = [lags[abs(k - j)] for j in range(1, PAST + 1)]
        assert weights @ ahead == pytest.approx(lags[k], abs=1e-5)
    seeds = np.asarray(pink.seeds)
    assert seeds.min() >= -1
    assert seeds.max() <= 3
    assert np.mean(seeds) == pytest.approx(1, abs=0.05)


def test_correlations_are_those_of_the_process():
    rng = np.random.default_rng(0)
    for noise in (Colored(), OrnsteinUhlenbeck()):
        state, drawn = noise.begin(rng, 400, 2), []
        for _ in range(40):
            value, state = noise.draw(state, rng)
            drawn.append(value)
        walked = np.stack(drawn)
        for k, known in enumerate(noise.correlations(4)):
            found = np.mean(walked[k:] * walked[: len(walked) - k])
            assert found == pytest.approx(known, abs=0.06)


@pytest.mark.parametrize("name", NOISES)
def test_a_noise_is_a_density_over_the_box(name):
    prior = noise_prior(name, np.array([-1.0]), np.array([3.0]))
    context = prior.seeds[3].ravel()
    edges = jnp.linspace(-1, 3, 2001)
    middle = (edges[1:, None] + edges[:-1, None]) / 2
    density = jnp.exp(jax.jit(jax.vmap(lambda a: prior.log_prob(a, context)))(middle))
    assert float(density.mean()) * 4 == pytest.approx(1, abs=2e-2)
    draw = jax.jit(jax.vmap(lambda key: prior.sample(key, context)))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(0), 4000)))
    mean = float((density * middle[:, 0]).mean() * 4)
    assert drawn.mean() == pytest.approx(mean, abs=0.06)


def test_a_prior_of_that_name_goes_first_but_no_other_folder(tmp_path, monkeypatch):
    """`sfp reproduce ... --out uniform` must not hide the noise from its own runs."""
    monkeypatch.chdir(tmp_path)
    assert is_noise("pink")
    assert not is_noise("room")
    (tmp_path / "pink").mkdir()
    assert is_noise("pink")
    (tmp_path / "pink" / CONFIG).write_text("{}")
    assert not is_noise("pink")
