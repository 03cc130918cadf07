"""The tanh-Gaussian against SciPy in float64."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from sfp.nets.policy import LOG_STD, Policy, log_slope, mean_action

OBS = jnp.array([0.4, -0.7, 0.2])


@jax.jit
def samples(policy, keys):
    return jax.vmap(policy.sample, in_axes=(0, None))(keys, OBS)


@jax.jit
def log_probs(policy, actions):
    return jax.vmap(policy.log_prob, in_axes=(None, 0))(OBS, actions)


def policy_with(mean, log_std):
    """A policy that gives the same moments everywhere."""
    policy = Policy(3, len(mean), width=4, depth=1, key=jax.random.key(0))
    weights = jnp.zeros_like(policy.net.weights[-1])
    biases = jnp.array([*mean, *log_std], jnp.float32)
    where = lambda p: (p.net.weights[-1], p.net.biases[-1])  # noqa: E731
    return eqx.tree_at(where, policy, (weights, biases))


def density(before, mean, log_std):
    """Log density of tanh(u) at u, by change of variables, in float64."""
    before, mean = np.asarray(before, np.float64), np.asarray(mean, np.float64)
    normal = stats.norm.logpdf(before, mean, np.exp(np.asarray(log_std, np.float64)))
    return (normal + 2 * np.log(np.cosh(before))).sum(axis=-1)


@pytest.mark.slow
def test_mean_and_log_std_are_the_two_halves_of_the_net():
    policy = Policy(3, 2, width=8, depth=2, key=jax.random.key(1))
    mean, log_std = policy(OBS)
    np.testing.assert_array_equal(jnp.concatenate([mean, log_std]), policy.net(OBS))
    np.testing.assert_array_equal(mean_action(policy, OBS), jnp.tanh(mean))
    assert [w.shape for w in policy.net.weights] == [(3, 8), (8, 8), (8, 4)]


@pytest.mark.slow
def test_log_prob_equals_the_change_of_variables():
    mean, log_std = [0.5, -1.2, 0.0], [-0.5, 0.3, -2.0]
    policy = policy_with(mean, log_std)
    before = np.random.default_rng(0).normal(mean, np.exp(log_std), (200, 3))
    before = before.astype(np.float32)
    before = before[(np.abs(before) < 3).all(axis=1)]  # atanh is exact enough there
    ours = log_probs(policy, np.tanh(before))
    np.testing.assert_allclose(ours, density(before, mean, log_std), atol=2e-3)


@pytest.mark.slow
def test_sample_comes_with_the_log_prob_of_its_action():
    policy = policy_with([0.5, -0.4], [-0.5, -1.0])
    keys = jax.random.split(jax.random.key(0), 500)
    actions, given = samples(policy, keys)
    np.testing.assert_allclose(given, log_probs(policy, actions), atol=2e-3)


@pytest.mark.slow
def test_samples_have_the_gaussian_in_front_of_the_tanh():
    policy = policy_with([0.5, -0.4], [-0.5, -1.0])
    keys = jax.random.split(jax.random.key(0), 4000)
    actions, _ = samples(policy, keys)
    before = np.arctanh(np.asarray(actions, np.float64))
    for i, (mean, log_std) in enumerate(((0.5, -0.5), (-0.4, -1.0))):
        test = stats.kstest(before[:, i], stats.norm(mean, np.exp(log_std)).cdf)
        assert test.pvalue > 0.001
    assert abs(np.corrcoef(before.T)[0, 1]) < 4 / np.sqrt(4000)


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (0.9, -1.0), (-0.3, 0.7)])
def test_density_integrates_to_one(mean, log_std):
    """Over u, so that the mass next to the bounds is met."""
    policy = policy_with([mean], [log_std])
    before = np.linspace(mean - 8, mean + 8, 20_001)
    before = before[np.abs(before) < 4.5]
    action = np.tanh(before)[:, None].astype(np.float32)
    log_prob = log_probs(policy, action)
    mass = np.exp(np.asarray(log_prob, np.float64)) * (1 - np.tanh(before) ** 2)
    inside = np.diff(stats.norm(mean, np.exp(log_std)).cdf([-4.5, 4.5]))[0]
    assert np.trapezoid(mass, before) == pytest.approx(inside, abs=2e-3)


def test_log_slope_is_right_and_finite_far_out():
    x = np.array([-50.0, -20, -9, -1, -1e-3, 0, 1e-3, 1, 9, 20, 50])
    expected = -2 * (np.logaddexp(x, -x) - np.log(2.0))
    ours = log_slope(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=5e-7)
    slopes = jax.jit(jax.grad(lambda x: log_slope(x).sum()))(np.float32(x))
    np.testing.assert_allclose(slopes, -2 * np.tanh(x), atol=1e-6)


@pytest.mark.slow
def test_a_saturated_policy_has_a_finite_log_prob_and_gradient():
    """At tanh = 1 in float32, log(1 - tanh²) would be minus infinity."""

    @jax.jit
    @partial(jax.value_and_grad, has_aux=True)
    def sample(policy):
        action, log_prob = policy.sample(jax.random.key(3), OBS)
        return log_prob, action

    for mean in (-50.0, 50.0):
        (value, action), gradient = sample(policy_with([mean], [0.0]))
        assert abs(float(action[0])) == 1.0
        noise = jax.random.normal(jax.random.key(3), (1,))
        expected = stats.norm.logpdf(noise) + 2 * (abs(mean + noise) - np.log(2))
        assert float(value) == pytest.approx(float(expected[0]), rel=1e-5)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


@pytest.mark.slow
@pytest.mark.parametrize(("given", "kept"), [(-90.0, LOG_STD[0]), (9.0, LOG_STD[1])])
def test_log_std_keeps_to_its_bounds(given, kept):
    policy = policy_with([0.3], [given])
    assert float(policy(OBS)[1][0]) == kept
    action, log_prob = policy.sample(jax.random.key(0), OBS)
    assert np.isfinite(log_prob)
    assert abs(float(action[0])) <= 1.0


@pytest.mark.slow
def test_the_gradient_of_a_sample_is_the_reparameterised_one():
    """dE[a]/dμ and d(-log π)/dlog σ, by hand for one noise."""
    policy = policy_with([0.2], [-0.7])
    noise = float(jax.random.normal(jax.random.key(5), (1,))[0])
    by_action, by_log_prob = jax.jit(
        jax.jacobian(lambda p: p.sample(jax.random.key(5), OBS))
    )(policy)
    before = 0.2 + np.exp(-0.7) * noise
    slope = 1 - np.tanh(before) ** 2
    by_hand = [slope, slope * np.exp(-0.7) * noise]
    np.testing.assert_allclose(by_action.net.biases[-1][0], by_hand, rtol=1e-4)
    by_hand = [2 * np.tanh(before), -1 + 2 * np.tanh(before) * np.exp(-0.7) * noise]
    np.testing.assert_allclose(by_log_prob.net.biases[-1], by_hand, rtol=1e-4)


@pytest.mark.slow
def test_every_weight_is_reached_by_the_gradient():
    policy = Policy(3, 2, width=8, depth=2, key=jax.random.key(2))

    def loss(policy):
        keys = jax.random.split(jax.random.key(0), 64)
        obs = jax.random.normal(jax.random.key(1), (64, 3))
        actions, likely = jax.vmap(policy.sample)(keys, obs)
        return (actions.sum(axis=1) + likely).mean()

    for leaf in jax.tree.leaves(jax.jit(jax.grad(loss))(policy)):
        assert (np.abs(leaf) > 0).any()
