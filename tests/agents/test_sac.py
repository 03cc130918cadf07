"""SAC: what one update does, and what many of them come to where that is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from probes import Forever, Once, Twice, explored, greedy, plain, random_batch
from sfp.agents.base import Keys, Turn
from sfp.agents.sac import SAC, min_q, q_values, sample
from sfp.config import Networks
from sfp.observation import Spec
from sfp.training.loop import compile_updates

SMALL = Networks(width=8, depth=2, learning_rate=1e-2, polyak=0.9)
PROBE = Networks(width=32, depth=2, learning_rate=3e-3, polyak=0.9)


def forward(mlp, x):
    """A network in float64, without JAX."""
    layers = list(zip(mlp.weights, mlp.biases, strict=True))
    for i, (weight, bias) in enumerate(layers):
        x = x @ np.asarray(weight, np.float64) + np.asarray(bias, np.float64)
        x = np.maximum(x, 0.0) if i + 1 < len(layers) else x
    return x


def policy_draw(policy, key, obs):
    """Actions and log-probabilities in float64, with the update's own noise."""
    mean, log_std = np.split(forward(policy.net, np.asarray(obs, np.float64)), 2, -1)
    keys = jax.random.split(key, len(obs))
    noise = jax.vmap(lambda k: jax.random.normal(k, mean.shape[1:]))(keys)
    noise = np.asarray(noise, np.float64)
    before = mean + np.exp(log_std) * noise
    normal = stats.norm.logpdf(noise) - log_std
    return np.tanh(before), (normal + 2 * np.log(np.cosh(before))).sum(axis=1)


def both_q(critics, obs, action):
    seen = np.concatenate([np.asarray(obs, np.float64), np.asarray(action)], axis=1)
    return np.stack([forward(critic, seen)[:, 0] for critic in critics])


def moved(before, after):
    pairs = zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True)
    return any(not np.array_equal(a, b) for a, b in pairs)


def assert_close(one, other, tolerance):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def updated():
    """An agent in the middle of learning, a batch, and its next update."""
    agent = SAC(Spec(3, 2), 0.3, SMALL)
    state = agent.init(jax.random.key(0))
    other = agent.init(jax.random.key(1))
    state = state._replace(targets=other.critics)
    batch, key = random_batch(16, action=2), jax.random.key(2)
    after, metrics = jax.jit(agent.update)(state, batch, key)
    return agent, state, batch, key, after, metrics


@pytest.mark.slow
def test_an_update_reports_the_losses_of_the_equations(updated):
    """In float64 from weights, batch and keys: targets, then online critics."""
    _, state, batch, key, after, metrics = updated
    keys = Keys.split(key)
    action, log_prob = policy_draw(state.policy, keys.target, batch.next_obs.state)
    value = both_q(state.targets, batch.next_obs.state, action).min(axis=0)
    target = np.asarray(batch.reward) + np.asarray(batch.discount) * (
        value - 0.3 * log_prob
    )
    q = both_q(state.critics, batch.obs.state, batch.action)
    critic = ((q - target) ** 2).mean(axis=1).sum()
    assert float(metrics["losses/critic"]) == pytest.approx(critic, rel=1e-4)
    assert float(metrics["losses/q"]) == pytest.approx(q.mean(), rel=1e-4)
    action, log_prob = policy_draw(state.policy, keys.policy, batch.obs.state)
    value = both_q(after.critics, batch.obs.state, action).min(axis=0)
    policy = (0.3 * log_prob - value).mean()
    assert float(metrics["losses/policy"]) == pytest.approx(policy, rel=1e-4)
    assert float(metrics["losses/entropy"]) == pytest.approx(-log_prob.mean(), rel=1e-4)


@pytest.mark.slow
def test_targets_follow_by_polyak_averaging_of_the_new_critics(updated):
    _, state, _, _, after, _ = updated
    for slow, fast, now in zip(
        *map(jax.tree.leaves, (state.targets, after.critics, after.targets)),
        strict=True,
    ):
        expected = 0.9 * np.float64(slow) + 0.1 * np.float64(fast)
        np.testing.assert_allclose(now, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_each_loss_moves_only_its_own_network(updated):
    agent, state, batch, key, after, _ = updated
    learned, _, features = jax.jit(agent.learn_critics)(state, batch, batch.reward)
    assert moved(state.critics, learned.critics)
    np.testing.assert_array_equal(features, batch.obs.state)
    learned = learned._replace(critics=state.critics, critic_adam=state.critic_adam)
    learned = learned._replace(encoder_adam=state.encoder_adam)  # it counts its steps
    assert not moved(state, learned)
    learned, _, _ = jax.jit(agent.learn_policy)(
        state, batch.obs.state, key, jnp.zeros(16)
    )
    assert moved(state.policy, learned.policy)
    learned = learned._replace(policy=state.policy, policy_adam=state.policy_adam)
    assert not moved(state, learned)
    assert float(after.log_alpha) == float(state.log_alpha)


@pytest.mark.slow
def test_the_first_step_of_adam_goes_against_the_gradient(updated):
    """By the learning rate in every weight whose gradient is not tiny."""
    _, state, batch, _, after, _ = updated
    keys = Keys.split(updated[3])

    @jax.jit
    @jax.grad
    def gradient(critics):
        action, log_prob = sample(state.policy, keys.target, batch.next_obs.state)
        value = min_q(state.targets, batch.next_obs.state, action)
        target = batch.reward + batch.discount * (value - 0.3 * log_prob)
        q = q_values(critics, batch.obs.state, batch.action)
        return ((q - target) ** 2).mean(axis=1).sum()

    leaves = map(
        jax.tree.leaves, (state.critics, after.critics, gradient(state.critics))
    )
    for before, now, slope in zip(*leaves, strict=True):
        big = np.abs(slope) > 1e-4
        np.testing.assert_allclose(
            (now - before)[big], -0.01 * np.sign(slope)[big], rtol=1e-3
        )


def test_targets_begin_as_the_critics_and_the_critics_differ():
    state = SAC(Spec(3, 2), 0.3, SMALL).init(jax.random.key(0))
    assert not moved(state.critics, state.targets)
    assert moved(state.critics[0], state.critics[1])
    assert float(jnp.exp(state.log_alpha)) == pytest.approx(0.3)


@pytest.mark.slow
def test_a_scan_of_updates_equals_the_updates_one_by_one():
    agent = SAC(Spec(3, 2), 0.3, SMALL)
    state = agent.init(jax.random.key(0))
    batches, key = random_batch(16, action=2, lead=(4,)), jax.random.key(5)
    one, update, losses = state, jax.jit(agent.update), []
    for i, update_key in enumerate(jax.random.split(key, 4)):
        one, metrics = update(
            one, jax.tree.map(lambda x, i=i: x[i], batches), update_key
        )
        losses.append(float(metrics["losses/critic"]))
    many, means = compile_updates(agent)(state, batches, key)
    assert_close(one, many, 1e-6)
    assert float(means["losses/critic"]) == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.slow
def test_warm_up_is_uniform_and_training_is_the_policy():
    agent = SAC(Spec(3, 2), 0.3, SMALL)
    actor = agent.actor(agent.init(jax.random.key(0)))
    rng, obs = np.random.default_rng(1), np.ones(3, np.float32)
    memory, weights = agent.begin(rng), jax.tree.map(np.asarray, actor)

    def act(phase):
        made = (
            agent.act(weights, memory, Turn(plain(obs), rng, phase))[0]
            for _ in range(1000)
        )
        return jax.tree.map(lambda *x: np.stack(x), *made)

    warm, train = act("warmup"), act("train")
    for i in (0, 1):
        column = np.asarray(warm.action)[:, i]
        assert stats.kstest(column, stats.uniform(-1, 2).cdf).pvalue > 0.001
    assert abs(np.corrcoef(np.asarray(warm.action).T)[0, 1]) < 4 / np.sqrt(1000)
    mean, log_std = actor.policy(jnp.asarray(obs))
    for i in (0, 1):
        before = np.arctanh(np.asarray(train.action, np.float64)[:, i])
        normal = stats.norm(float(mean[i]), np.exp(float(log_std[i])))
        assert stats.kstest(before, normal.cdf).pvalue > 0.001
    np.testing.assert_array_equal(train.action, train.chosen)
    np.testing.assert_allclose(greedy(agent, weights, obs), jnp.tanh(mean), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("log_std", "sign"), [(-5.0, 1.0), (0.0, -1.0)])
def test_a_tuned_temperature_rises_below_the_target_entropy_and_falls_above(
    log_std, sign
):
    """The target is minus the number of dimensions; Adam's first step is its rate."""
    networks = Networks(width=8, learning_rate=1e-2, tune_alpha=True)
    agent = SAC(Spec(3, 2), 0.3, networks)
    state = agent.init(jax.random.key(0))
    where = lambda s: (s.policy.net.weights[-1], s.policy.net.biases[-1])  # noqa: E731
    last = jnp.zeros((8, 4)), jnp.array([0.0, 0.0, log_std, log_std])
    state = eqx.tree_at(where, state, last)
    state, metrics, _ = jax.jit(agent.learn_policy)(
        state, jnp.ones((64, 3)), jax.random.key(0), jnp.zeros(64)
    )
    expected = 0.3 * np.exp(sign * 0.01)
    assert float(jnp.exp(state.log_alpha)) == pytest.approx(expected, rel=1e-5)
    assert float(metrics["losses/alpha"]) == pytest.approx(expected, rel=1e-5)


def learn(agent, replay, updates=300, rows=32, seed=0):
    state = jax.jit(agent.init)(jax.random.key(seed))
    batches = replay.sample(np.random.default_rng(seed), (updates, rows))
    return compile_updates(agent)(state, batches, jax.random.key(seed))[0]


def q_of(state, obs, actions=(-0.7, 0.0, 0.7)):
    seen = jnp.full((len(actions), 1), obs), jnp.array(actions)[:, None]
    return np.asarray(q_values(state.critics, *seen))


def entropy(policy, obs=1.0):
    """And the mean action, by Monte Carlo."""
    keys = jax.random.key(77)
    action, log_prob = jax.jit(sample)(policy, keys, jnp.full((20_000, 1), obs))
    return -float(log_prob.mean()), float(action.mean())


@pytest.mark.slow
def test_probe_one_reward_then_over_is_worth_one():
    state = learn(SAC(Spec(1, 1), 0.5, PROBE), explored(Once()))
    for obs in (-1.0, 1.0):
        np.testing.assert_allclose(q_of(state, obs), 1.0, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5])
def test_probe_a_reward_one_step_away_is_discounted_once(n):
    """By bootstrapping (n = 1) and by summing (n = 2, and longer than the episode)."""
    agent = SAC(Spec(1, 1), 1e-6, PROBE)
    state = learn(agent, explored(Twice(), n=n, gamma=0.5))
    np.testing.assert_allclose(q_of(state, 1.0), 1.0, atol=0.05)
    np.testing.assert_allclose(q_of(state, 0.0), 0.5, atol=0.05)


@pytest.mark.slow
def test_probe_a_time_limit_is_no_end():
    """Cut off after 7 steps, yet worth 1 + γ + γ² + ..."""
    state = learn(SAC(Spec(1, 1), 1e-6, PROBE), explored(Forever(), gamma=0.5))
    np.testing.assert_allclose(q_of(state, 1.0), 2.0, atol=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
def test_probe_entropy_enters_only_where_the_critic_is_asked(n):
    """Q = sum of rewards + γⁿ (Q + α H): not the entropies on the way."""
    agent, gamma = SAC(Spec(1, 1), 1.0, PROBE), 0.7
    probe = Forever()
    probe.limit = 100
    state = learn(agent, explored(probe, n=n, gamma=gamma), updates=500)
    h, _ = entropy(state.policy)
    rewards = (1 - gamma**n) / (1 - gamma)
    expected = (rewards + gamma**n * 1.0 * h) / (1 - gamma**n)
    np.testing.assert_allclose(q_of(state, 1.0), expected, atol=0.1)
    with_all = (1 + gamma * h) / (1 - gamma)
    assert n == 1 or abs(expected - with_all) > 0.3


@pytest.mark.slow
def test_probe_the_policy_learns_the_better_side_of_each_state():
    agent = SAC(Spec(1, 1), 0.05, PROBE)
    state = learn(agent, explored(Once(lambda state, action: state * action)))
    for obs in (-1.0, 1.0):
        actor = jax.tree.map(np.asarray, agent.actor(state))
        mean = float(greedy(agent, actor, np.array([obs], np.float32))[0])
        assert mean * obs > 0.7
        _, average = entropy(state.policy, obs)
        assert average * obs > 0.7


@pytest.mark.slow
def test_probe_a_policy_with_temperature_alpha_is_the_boltzmann_one():
    """For reward a and α: E[a] = coth(1/α) - α, H = log Z - E[a]/α, nearly."""
    alpha = 0.5
    agent = SAC(Spec(1, 1), alpha, PROBE)
    state = learn(agent, explored(Once(lambda _, action: action)), updates=500)
    h, average = entropy(state.policy)
    best = 1 / np.tanh(1 / alpha) - alpha
    soft = np.log(2 * alpha * np.sinh(1 / alpha))
    assert average == pytest.approx(best, abs=0.1)
    assert average / alpha + h == pytest.approx(soft, abs=0.08)
