"""Several priors: trust and shares, each prior its own history, K = 1 as before."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from probes import Once, explored, linear_prior, plain, random_batch
from sfp.agents.base import Turn
from sfp.agents.losses import CHOICE, several_loss
from sfp.agents.mixing import EVEN
from sfp.agents.sfp import SFP
from sfp.config import Mixture, Networks
from sfp.observation import Spec

pytestmark = pytest.mark.slow

SMALL = Networks(width=8, depth=2, learning_rate=1e-2, polyak=0.9)


def make(priors=None, **options):
    priors = priors or (linear_prior(0.3, k=2), linear_prior(-0.6, k=1))
    mixture = Mixture(**({"mixing_width": 8} | options))
    return SFP(Spec(3, 1), tuple(priors), 0.3, SMALL, mixture)


def actor_of(agent):
    return jax.tree.map(np.asarray, agent.actor(agent.init(jax.random.key(0))))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_first_shares_sum_to_the_start_and_are_equal(count):
    agent = make([linear_prior(0.1 * i) for i in range(count)])
    net = agent.init(jax.random.key(0)).mixing
    shares = agent.mixing.weights(net.biases[-1])
    np.testing.assert_allclose(shares, 0.95 / count, rtol=1e-5)
    states = jax.random.uniform(jax.random.key(1), (1000, 3))
    shares = np.asarray(
        jax.jit(agent.mixing.of)(net, states)
    )  # the net's part is small
    np.testing.assert_allclose(shares.sum(axis=1), 0.95, atol=0.03)
    np.testing.assert_allclose(shares, 0.95 / count, rtol=0.2)


def test_of_one_prior_lambda_learns_as_the_paper_has_it_bit_for_bit():
    """Λ(s) = σ(net(s)) of one output, one loss, one step of Adam, and no shares."""
    mixing = make([linear_prior()]).mixing
    net, adam = mixing.init(jax.random.key(0), 3)
    assert net.biases[-1].shape == (1,)
    rng = np.random.default_rng(0)
    states, q_prior = (rng.standard_normal((64, n)).astype(np.float32) for n in (3, 1))
    values = q_prior, np.float32(0.3) * np.ones(64, np.float32)

    def by_the_paper(net):
        def loss(net):
            weights = jax.nn.sigmoid(jax.vmap(net)(states))
            return -(weights * (values[0] - values[1][:, None])).sum(axis=1).mean()

        slope = jax.grad(loss)(net)
        adam = optax.chain(optax.scale(1e-9), optax.adam(SMALL.learning_rate))
        return optax.apply_updates(net, adam.update(slope, adam.init(net), net)[0])

    ours = jax.jit(mixing.learn)(net, adam, states, values, None).net
    theirs = jax.jit(by_the_paper)(net)
    for pair in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        np.testing.assert_array_equal(*pair)
    changed = zip(*map(jax.tree.leaves, (ours, net)), strict=True)
    assert any((one != other).any() for one, other in changed)


def test_lambda_is_the_papers_sigmoid_times_the_shares_of_priors():
    one = make([linear_prior()]).mixing.weights(jnp.array([0.7]))
    np.testing.assert_allclose(one, [jax.nn.sigmoid(0.7)], rtol=1e-6)
    logits = np.array([[0.7, -1.0, 0.5], [-800.0, 900.0, 0.0]], np.float32)
    shares = 0.9 * np.exp([-1.0, 0.5]) / np.exp([-1.0, 0.5]).sum() + 0.05
    expected = [shares / (1.0 + np.exp(-0.7)), [0.0, 0.0]]
    for array in (logits, jnp.asarray(logits)):
        np.testing.assert_allclose(make().mixing.weights(array), expected, rtol=1e-5)


@pytest.mark.parametrize("trust", [3.0, -6.0])
def test_trust_is_learned_as_of_one_prior_and_shares_whatever_the_trust_is(trust):
    """By hand, with softmax p and shares w = (1 - EVEN) p + EVEN / K:

    dJ/dt = -σ'(t) (Σ w Q - Q_π), dJ/du_k = -CHOICE (1 - EVEN) p_k (Q_k - Σ p Q).
    """
    agent, q_prior = make(), np.array([2.0, 5.0])

    def loss(logits):
        weights, shares = agent.mixing.weights(logits), agent.mixing.shares(logits)
        q = jnp.array([q_prior], jnp.float32)
        return several_loss(weights.sum(1), shares, q, jnp.ones(1))

    logits = np.array([trust, 0.4, -0.4])
    slope = jax.grad(loss)(jnp.array([logits], jnp.float32))[0]
    p = np.exp(logits[1:]) / np.exp(logits[1:]).sum()
    w, sigmoid = (1.0 - EVEN) * p + EVEN / 2, 1.0 / (1.0 + np.exp(-trust))
    by_trust = sigmoid * (1.0 - sigmoid) * ((w * q_prior).sum() - 1.0)
    by_share = CHOICE * (1.0 - EVEN) * p * (q_prior - (p * q_prior).sum())
    by_hand = [by_trust, *by_share]
    np.testing.assert_allclose(slope, -np.array(by_hand), rtol=1e-4)


def test_a_fixed_lambda_is_not_learned_and_0_lets_all_priors_explore():
    priors = linear_prior(0.3), linear_prior(-0.6)
    agent, rng = make(priors, mixing_fixed=0.0, bank=0), np.random.default_rng(0)
    state = agent.init(jax.random.key(0))
    after, _ = jax.jit(agent.update)(state, random_batch(16), jax.random.key(0))
    for net in zip(*map(jax.tree.leaves, (state.mixing, after.mixing)), strict=True):
        np.testing.assert_array_equal(*net)
    turn = Turn(plain(np.ones(3, np.float32)), rng, "warmup")
    memory, actor = agent.begin(rng), actor_of(agent)
    seen = [agent.act(actor, memory, turn)[0].action[0] for _ in range(40)]
    assert {*np.float32(seen)} == {np.float32(0.3), np.float32(-0.6)}


def test_shares_are_learned_from_goals_given_in_hindsight_too():
    agent, q = make(), jnp.array([[2.0, 5.0], [4.0, 1.0]])

    def loss(logits, counted):
        weights, shares = agent.mixing.weights(logits), agent.mixing.shares(logits)
        return several_loss(weights.sum(1), shares, q, jnp.ones(2), counted)

    logits = jnp.zeros((2, 3))
    all_count, first = (
        jax.grad(loss)(logits, jnp.array(c)) for c in ([1.0, 1.0], [1.0, 0.0])
    )
    assert (first[1, 0], all_count[1, 0] != 0) == (0, True)  # the trust
    np.testing.assert_allclose(first[:, 1:], all_count[:, 1:], rtol=1e-6)
    assert (first[:, 1:] != 0).all()


def test_each_component_acts_as_often_as_its_share():
    agent, rng = make(mixing_fixed=0.6), np.random.default_rng(0)
    actor, memory = actor_of(agent), make().begin(rng)
    turn = Turn(plain(np.ones(3, np.float32)), rng, "train")
    actions = np.array([agent.act(actor, memory, turn)[0].action for _ in range(1000)])
    first, second = (actions == np.float32(a) for a in (0.3, -0.6))
    for share in (first.mean(), second.mean()):
        assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 1000))
    turn = turn._replace(phase="warmup")
    actions = np.array([agent.act(actor, memory, turn)[0].action for _ in range(100)])
    assert np.isin(actions, np.float32([0.3, -0.6])).all()


def test_one_prior_acts_for_an_episode_and_tests_toss_at_every_step():
    agent, rng = make(mixing_fixed=0.9, commit=0.0), np.random.default_rng(0)
    turn = Turn(plain(np.ones(3, np.float32)), rng, "warmup")
    actor, counts = actor_of(agent), []
    for one in (agent, agent.each_step):
        memory, seen = one.begin(rng), set()
        for _ in range(40):
            decision, memory = one.act(actor, memory, turn)
            seen.add(float(decision.action[0]))
        counts.append(len(seen))
    assert counts == [1, 2]


def test_a_kept_coin_is_compared_with_lambda_of_each_state():
    agent, rng = make(commit=0.0), np.random.default_rng(0)
    actor = actor_of(agent)._replace(
        mixing=lambda features: np.float32([np.log(9.0) * features[0], 0.0, 0.0])
    )
    acted = {1.0: [], -1.0: []}
    for _ in range(1000):
        memory = agent.begin(rng)
        for sign, seen in acted.items():
            turn = Turn(plain(np.full(3, sign, np.float32)), rng, "train")
            decision, memory = agent.act(actor, memory, turn)
            seen.append(decision.info["mixing/prior_share"])
    shares = np.mean(acted[1.0]), np.mean(acted[-1.0])
    np.testing.assert_allclose(shares, [0.9, 0.1], atol=4 * np.sqrt(0.09 / 1000))
    assert np.greater_equal(acted[1.0], acted[-1.0]).all()  # by one coin


def test_every_prior_remembers_as_many_actions_as_it_sees():
    agent, rng = make(), np.random.default_rng(1)
    actor, memory = actor_of(agent), agent.begin(rng)
    assert memory.history.shape == (3, 1)
    turn = Turn(plain(np.ones(3, np.float32)), rng, "train")
    decision, after = agent.act(actor, memory, turn)
    np.testing.assert_array_equal(after.history[0], memory.history[1])
    np.testing.assert_array_equal(after.history[1], decision.action)
    np.testing.assert_array_equal(after.history[2], decision.action)


def test_the_bank_holds_a_proposal_of_each_prior_for_its_own_history():
    priors = (linear_prior(0.1, gain=0.2, k=2), linear_prior(-0.1, gain=0.3, k=1))
    agent = make(priors, bank=4)
    histories = jnp.array([[0.1, 0.2, 0.5], [0.0, -0.4, 0.3]])
    bank = np.asarray(agent.propose(jax.random.key(0), histories))
    assert bank.shape == (2, 4, 2)
    first = 0.1 + histories[:, :2] @ jnp.array([0.2, 0.4])
    second = -0.1 + 0.3 * histories[:, 2]
    for b in range(4):
        np.testing.assert_allclose(bank[:, b, 0], first, rtol=1e-5)
        np.testing.assert_allclose(bank[:, b, 1], second, rtol=1e-5)


def test_of_moved_goals_only_priors_that_see_them_propose_anew():
    """What is kept is the first and third prior's; the second sees the new state."""
    seeing = linear_prior(gain=0.1, state=3)
    first, last = (linear_prior(offset, gain=0.5, k=1) for offset in (0.3, -0.4))
    agent = make([first, seeing, last])
    histories = jnp.array([[0.5, -0.6]])
    kept = agent.propose(jax.random.key(0), histories)[:, 0]
    np.testing.assert_allclose(kept, [[0.3 + 0.25, -0.4 - 0.3]], rtol=1e-6)
    kept = jnp.array([[0.8, 0.9]]) * jnp.ones((6, 1))
    batch = random_batch(6, history=2)
    obs = batch.obs._replace(goal=jnp.zeros((6, 0)))
    every = agent._propose(jax.random.key(1), kept, batch.history, obs)
    np.testing.assert_allclose(every[:, 0, 0], 0.8)
    np.testing.assert_allclose(every[:, 2, 0], 0.9)
    seen = jax.vmap(lambda state: seeing.context(jnp.zeros((0, 1)), state))(obs.state)
    anew = jax.vmap(seeing.sample, (None, 0))(jax.random.key(0), seen)
    np.testing.assert_allclose(every[:, 1], anew, rtol=1e-5)
    assert len(np.unique(anew)) > 1


@pytest.mark.parametrize("value", ["sampled", "expected"])
def test_the_better_of_two_priors_gains_the_larger_share(value):
    """Reward a: the prior that proposes 0.8 is better than the one with -0.8."""
    networks = Networks(width=32, depth=2, learning_rate=3e-3, polyak=0.9)
    mixture = Mixture(
        mixing_start=0.5, mixing_gradient_scale=1.0, bank=0, td_value=value
    )
    priors = linear_prior(0.8), linear_prior(-0.8)
    agent = SFP(Spec(1, 1), priors, 2.0, networks, mixture)
    replay = explored(Once(lambda _, action: action))
    state = jax.jit(agent.init)(jax.random.key(0))
    update = jax.jit(agent.update)
    for i in range(200):
        batch = replay.sample(np.random.default_rng(i), (32,))
        state, metrics = update(state, batch, jax.random.key(i))
    good, bad = agent.mixing.weights(state.mixing(jnp.array([1.0])))
    assert good > 0.8
    assert bad < 0.25 * good
    assert np.isfinite(float(metrics["losses/mixing"]))


def test_shares_enter_the_policys_loss_as_their_sum():
    one = make([linear_prior(0.3)], mixing_fixed=0.6, bank=0)
    two = make([linear_prior(0.3), linear_prior(0.3)], mixing_fixed=0.6, bank=0)
    batch = random_batch(16)
    key, sac = jax.random.key(3), one.init(jax.random.key(0)).sac
    losses = []
    for agent in (one, two):
        state = agent.init(jax.random.key(0))._replace(sac=sac)
        _, metrics = jax.jit(agent.update)(state, batch, key)
        losses.append([float(metrics[n]) for n in ("losses/critic", "losses/policy")])
    np.testing.assert_allclose(*losses, rtol=1e-5)
