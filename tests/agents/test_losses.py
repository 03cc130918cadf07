"""Each equation against numbers computed by hand or in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.agents.losses import (
    choose,
    critic_loss,
    expected_value,
    mixing_loss,
    policy_loss,
    td_target,
    temperature_loss,
)

RNG = np.random.default_rng(0)
Q, OTHER, LOG_PROB, REWARD = RNG.normal(size=(4, 7)) * 3
MIXING = RNG.uniform(size=7)
MIXING[:2] = 0.0, 1.0


def single(*arrays):
    return tuple(jnp.asarray(x, jnp.float32) for x in arrays)


def test_td_target_by_hand():
    reward, discount, value, log_prob = single(
        [1.0, 2.0, -1.0], [0.5, 0.0, 0.25], [4.0, 100.0, 8.0], [-2.0, 50.0, 1.0]
    )
    target = td_target(reward, discount, value, log_prob, 0.1)
    np.testing.assert_allclose(target, [1 + 0.5 * 4.2, 2.0, -1 + 0.25 * 7.9], rtol=1e-6)


def test_td_target_of_many():
    discount = RNG.choice([0.0, 0.99, 0.99**10], size=7)
    target = td_target(*single(REWARD, discount, Q, LOG_PROB), 0.02)
    expected = REWARD + discount * (Q - 0.02 * LOG_PROB)
    np.testing.assert_allclose(target, expected, rtol=1e-5)


def test_nothing_after_a_termination_enters_its_target():
    """Whatever the critics say there, and however unlikely the action."""
    zeros = jnp.zeros(2)
    target = td_target(
        *single(REWARD[:2]), zeros, *single([1e30, -1e30], [90.0, -90]), 0.2
    )
    np.testing.assert_array_equal(target, np.float32(REWARD[:2]))


def test_critic_loss_is_the_sum_of_the_means():
    q = jnp.array([[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]])
    loss = critic_loss(q, jnp.array([1.0, 0.0, 0.0]))
    assert float(loss) == pytest.approx((0 + 4 + 9) / 3 + (1 + 0 + 36) / 3)


def test_each_critic_gets_its_own_gradient():
    q, target = jnp.array([[1.0, 2.0], [5.0, 2.0]]), jnp.array([0.0, 2.0])
    gradient = jax.grad(critic_loss)(q, target)
    np.testing.assert_allclose(gradient, [[1.0, 0.0], [5.0, 0.0]])


@pytest.mark.parametrize("weight", ["full", "mixed"])
def test_policy_loss_of_many(weight):
    loss = policy_loss(*single(Q, LOG_PROB, MIXING), 0.3, weight)
    total = 0.0
    for q, log_prob, mixing in zip(Q, LOG_PROB, MIXING, strict=True):
        entropy = 1.0 if weight == "full" else 1.0 - mixing
        total += (1.0 - mixing) * q - entropy * 0.3 * log_prob
    assert float(loss) == pytest.approx(-total / 7, rel=1e-5)


def test_policy_loss_without_mixing_is_sac_bit_for_bit():
    q, log_prob, zeros = *single(Q, LOG_PROB), jnp.zeros(7)
    sac = (0.3 * log_prob - q).mean()
    for weight in ("full", "mixed"):
        assert policy_loss(q, log_prob, zeros, 0.3, weight) == sac


def test_policy_loss_under_the_prior_alone_keeps_the_entropy_or_nothing():
    """λ = 1: the derivation still asks for entropy, the main text for nothing."""
    q, log_prob, ones = *single(Q, LOG_PROB), jnp.ones(7)
    full = policy_loss(q, log_prob, ones, 0.3, "full")
    assert float(full) == pytest.approx(0.3 * LOG_PROB.mean(), rel=1e-5)
    assert float(policy_loss(q, log_prob, ones, 0.3, "mixed")) == 0.0


def test_policy_loss_weighs_each_state_by_its_own_mixing():
    """No outer product: state i's gradient has λ_i, not the mean of all."""
    q, log_prob, mixing = single([1.0, 1.0], [0.0, 0.0], [0.9, 0.1])
    gradient = jax.grad(policy_loss)(q, log_prob, mixing, 0.3)
    np.testing.assert_allclose(gradient, [-0.05, -0.45], rtol=1e-6)


def test_mixing_loss_by_hand_and_its_gradient_per_state():
    mixing, prior, policy = single([0.5, 0.25], [3.0, 0.0], [1.0, 4.0])
    of = jax.value_and_grad(mixing_loss)
    loss, gradient = of(mixing[:, None], prior[:, None], policy)
    assert float(loss) == pytest.approx(-(0.5 * 2 + 0.25 * -4) / 2)
    np.testing.assert_allclose(gradient[:, 0], [-1.0, 2.0])


def test_mixing_loss_of_two_priors_by_hand():
    weights = jnp.array([[0.5, 0.25], [0.1, 0.2]])
    prior, policy = jnp.array([[3.0, 0.0], [1.0, 5.0]]), jnp.array([1.0, 2.0])
    loss = mixing_loss(weights, prior, policy)
    by_hand = (0.5 * 2 + 0.25 * -1 + 0.1 * -1 + 0.2 * 3) / 2
    assert float(loss) == pytest.approx(-by_hand)


def test_mixing_loss_of_what_counts():
    mixing, prior, policy = single([0.5, 0.25], [3.0, 0.0], [1.0, 4.0])
    given = mixing[:, None], prior[:, None], policy
    assert float(mixing_loss(*given, jnp.array([0.0, 1.0]))) == pytest.approx(1.0)
    assert float(mixing_loss(*given, jnp.zeros(2))) == 0.0


def test_mixing_loss_of_many():
    mixing, other, q = single(MIXING, OTHER, Q)
    loss = mixing_loss(mixing[:, None], other[:, None], q)
    assert float(loss) == pytest.approx(-np.mean(MIXING * (OTHER - Q)), rel=1e-4)


def test_expected_value_of_many_and_at_both_ends():
    mixing, other, q = single(MIXING, OTHER, Q)
    value = np.asarray(expected_value(mixing[:, None], other[:, None], q))
    np.testing.assert_allclose(value, (1 - MIXING) * Q + MIXING * OTHER, rtol=1e-5)
    assert value[0] == np.float32(Q[0])
    assert value[1] == np.float32(OTHER[1])


def test_choose_takes_whole_actions():
    proposal, action = jnp.array([[1.0, 2], [3, 4]]), jnp.array([[5.0, 6], [7, 8]])
    weights = jnp.array([[0.5], [0.3]])
    chosen = choose(jnp.array([0.4, 0.4]), weights, proposal[:, None], action)
    np.testing.assert_array_equal(chosen, [[1, 2], [7, 8]])


@pytest.mark.slow
def test_choose_gives_each_prior_and_the_policy_their_share_of_the_coin():
    coins = jnp.array([0.1, 0.3, 0.6])
    weights = jnp.tile(jnp.array([[0.2, 0.3]]), (3, 1))
    proposals = jnp.tile(jnp.array([[[1.0], [2.0]]]), (3, 1, 1))
    chosen = choose(coins, weights, proposals, jnp.full((3, 1), 9.0))
    np.testing.assert_array_equal(chosen[:, 0], [1.0, 2.0, 9.0])


def test_temperature_rises_where_the_entropy_is_too_low():
    """The gradient in log α is the surplus of entropy over its target."""
    entropies = jnp.array([-3.0, -2.0])
    for log_alpha in (-4.0, 0.0):
        gradient = jax.grad(temperature_loss)(
            jnp.asarray(log_alpha, jnp.float32), -entropies, -2.0
        )
        assert float(gradient) == pytest.approx(entropies.mean() - -2.0)
    loss = temperature_loss(jnp.asarray(-4.0, jnp.float32), -entropies, -2.0)
    assert float(loss) == pytest.approx(-4.0 * -0.5)
