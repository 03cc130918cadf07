"""SFP: the mixture in acting and in every loss, λ's direction, SAC as λ = 0."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from test_sac import (
    assert_close,
    both_q,
    entropy,
    forward,
    learn,
    moved,
    policy_draw,
    q_of,
)

from probes import Forever, Once, explored, greedy, linear_prior, plain, random_batch
from sfp.agents.base import Keys, Turn
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.config import Mixture, Networks
from sfp.observation import Spec
from sfp.priors.base import unit_prior
from sfp.priors.store import load_prior
from sfp.training.loop import compile_updates

SMALL = Networks(width=8, depth=2, learning_rate=1e-2, polyak=0.9)
PROBE = Networks(width=32, depth=2, learning_rate=3e-3, polyak=0.9)


def make(prior, *, obs=3, alpha=0.3, networks=SMALL, **mixture):
    options = {"mixing_width": 8} | mixture
    return SFP(Spec(obs, prior.dims), (prior,), alpha, networks, Mixture(**options))


def with_mixing(state, weights, bias=0.0):
    """Λ(s) = σ(w · s + b), through ReLU layers that pass s and -s on."""
    count, width = len(weights), len(state.mixing.biases[0])
    first = jnp.zeros((count, width))
    first = first.at[:, :count].set(jnp.eye(count))
    first = first.at[:, count : 2 * count].set(-jnp.eye(count))
    last = jnp.zeros((width, 1))
    last = last.at[:count, 0].set(jnp.array(weights))
    last = last.at[count : 2 * count, 0].set(-jnp.array(weights))
    zeros = jnp.zeros(width)
    where = lambda s: (s.mixing.weights, s.mixing.biases)  # noqa: E731
    return eqx.tree_at(
        where,
        state,
        ((first, jnp.eye(width), last), (zeros, zeros, jnp.full(1, bias))),
    )


def acts(agent, state, memory, obs, *, count, phase="train", seed=0):
    """Many decisions at the same moment, stacked, and the histories they lead to."""
    actor = jax.tree.map(np.asarray, agent.actor(state))
    rng, obs = np.random.default_rng(seed), np.asarray(obs)
    made = [
        agent.act(actor, memory, Turn(plain(obs), rng, phase)) for _ in range(count)
    ]
    decisions = jax.tree.map(lambda *x: np.stack(x), *(d for d, _ in made))
    return decisions, np.stack([after.history for _, after in made])


def begin(agent, seed=0):
    return agent.begin(np.random.default_rng(seed))


def asked(prior, history, obs):
    """What a prior without noise says at one moment."""
    return proposed(prior, history.reshape(1, -1), np.asarray(obs)[None])[0]


def proposed(prior, history, obs):
    """What a prior without noise says, in NumPy."""
    seen = len(prior.frame.state_mean)
    state = (np.asarray(obs)[:, :seen] - 0.1) / 2.0
    context = np.concatenate([np.asarray(history), state], axis=1)
    action = np.asarray(prior.model.offset) + context @ np.asarray(prior.model.gain).T
    return np.clip(action, -0.99, 0.99)


# --- SAC is λ = 0 ---------------------------------------------------------------------


@pytest.mark.slow
def test_without_mixing_the_losses_are_sac_bit_for_bit_and_so_is_the_update():
    """Same α and key, in one program; five whole updates apart agree to 1e-6."""
    sac = SAC(Spec(3, 2), 0.3, SMALL)
    sfp = make(linear_prior(0.7, deviation=0.2, k=1, dims=2), mixing_fixed=0.0)
    key = jax.random.key(3)
    one, other = sac.init(key), sfp.init(key)
    assert not moved(one, other.sac)
    batch = random_batch(16, action=2, history=2, bank=8)
    both = jax.jit(lambda a, b: (sac.update(a, batch, key), sfp.update(b, batch, key)))
    (_, theirs), (_, ours) = both(one, other)
    for name in theirs:
        assert float(ours[name]) == float(theirs[name]), name
    batches = random_batch(16, action=2, history=2, bank=8, lead=(5,))
    one, _ = compile_updates(sac)(one, batches, key)
    other, _ = compile_updates(sfp)(other, batches, key)
    assert_close(one, other.sac, 1e-6)


@pytest.mark.slow
def test_the_mixing_network_and_the_critics_begin_apart():
    """A key that both were drawn from would give them the same numbers."""
    agent = make(linear_prior(), obs=8, mixing_width=8)
    state = agent.init(jax.random.key(0))
    rows = [np.ravel(c.weights[1]) for c in (state.mixing, *state.sac.critics)]
    rows += [np.ravel(state.sac.policy.net.weights[1])]
    correlation = np.corrcoef(rows)
    assert np.abs(correlation - np.eye(4)).max() < 0.5


# --- acting ---------------------------------------------------------------------------


@pytest.mark.slow
def test_the_prior_acts_as_often_as_each_state_says():
    """λ is 0.2 at one state and 0.7 at another; the rest is the policy's."""
    agent = make(linear_prior(0.9))
    state = agent.init(jax.random.key(0))
    logit = lambda p: np.log(p / (1 - p))  # noqa: E731
    state = with_mixing(state, [logit(0.2), logit(0.7), 0.0])
    memory = begin(agent)
    for obs, share in ((jnp.array([1.0, 0, 0]), 0.2), (jnp.array([0, 1.0, 0]), 0.7)):
        decision, _ = acts(agent, state, memory, obs, count=1_500)
        actions = np.asarray(decision.action)[:, 0]
        by_prior = actions == np.float32(0.9)
        assert by_prior.mean() == pytest.approx(
            share, abs=4 * np.sqrt(share * (1 - share) / 1_500)
        )
        np.testing.assert_array_equal(by_prior, decision.info["mixing/prior_share"])
        np.testing.assert_allclose(decision.info["mixing"], share, rtol=1e-5)
        mean, log_std = state.sac.policy(obs)
        normal = stats.norm(float(mean[0]), np.exp(float(log_std[0])))
        rest = np.arctanh(actions[~by_prior].astype(np.float64))
        assert stats.kstest(rest, normal.cdf).pvalue > 0.001


@pytest.mark.slow
def test_the_warm_up_is_the_prior_alone_whatever_lambda_says():
    agent = make(linear_prior(0.7), mixing_fixed=0.0)
    state, memory = agent.init(jax.random.key(0)), begin(agent)
    decision, _ = acts(agent, state, memory, jnp.ones(3), count=50, phase="warmup")
    assert (decision.action == np.float32(0.7)).all()
    assert decision.info["mixing/prior_share"].all()
    decision, _ = acts(agent, state, memory, jnp.ones(3), count=50)
    assert (decision.action != np.float32(0.7)).all()


@pytest.mark.slow
def test_one_toss_decides_for_a_while():
    """Segments are geometric; who acts in them still depends on each state's λ."""
    agent = make(linear_prior(0.7), mixing_fixed=0.5, commit=10.0)
    state, memory = agent.init(jax.random.key(0)), begin(agent)
    actor, by_prior = jax.tree.map(np.asarray, agent.actor(state)), []
    rng = np.random.default_rng(0)
    for _ in range(2500):
        turn = Turn(plain(np.ones(3, np.float32)), rng, "train")
        decision, memory = agent.act(actor, memory, turn)
        by_prior.append(decision.info["mixing/prior_share"])
    changes = np.abs(np.diff(by_prior)).mean()
    assert changes == pytest.approx(0.5 / 10, rel=0.35)  # half the tosses agree
    assert np.mean(by_prior) == pytest.approx(0.5, abs=0.12)


@pytest.mark.slow
def test_uniform_actions_at_first():
    agent = make(linear_prior(0.7, k=1))
    state, memory = agent.init(jax.random.key(0)), begin(agent)
    made, after = acts(
        agent, state, memory, jnp.ones(3), count=2000, phase="uniform", seed=1
    )
    assert stats.kstest(made.action[:, 0], stats.uniform(-1, 2).cdf).pvalue > 0.001
    assert not made.info["mixing/prior_share"].any()
    assert (after[:, -1] == made.action).all()


@pytest.mark.slow
@pytest.mark.parametrize(("k", "state"), [(0, 0), (2, 0), (0, 3), (1, 2)])
def test_mixing_of_one_reproduces_the_priors_distribution(k, state):
    """Over episodes' first actions, given the history that they began with."""
    prior = linear_prior(0.1, deviation=0.2, gain=0.1, k=k, state=state)
    agent = make(prior, mixing_fixed=1.0)
    actor = jax.tree.map(np.asarray, agent.actor(agent.init(jax.random.key(0))))
    obs, rng = np.array([0.5, -0.5, 0.3], np.float32), np.random.default_rng(1)
    ours, contexts = [], []
    for _ in range(1000):
        memory = agent.begin(rng)
        decision, _ = agent.act(actor, memory, Turn(plain(obs), rng, "train"))
        ours.append(decision.action[0])
        contexts.append(np.concatenate([memory.history.ravel(), obs[:state]]))
    keys = jax.random.split(jax.random.key(2), 1000)
    own = jax.jit(jax.vmap(prior.sample))(keys, np.stack(contexts))[:, 0]
    assert stats.ks_2samp(ours, np.asarray(own)).pvalue > 0.001
    assert len(np.unique(ours)) > 950


@pytest.mark.slow
@pytest.mark.parametrize("context", ["executed", "stream"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_history_goes_on_with_what_was_executed_or_proposed(context, k):
    prior = linear_prior(0.2, gain=0.05, k=k, dims=2)
    agent = make(prior, mixing_fixed=0.5, context=context, bank=3)
    state = agent.init(jax.random.key(0))
    memory = begin(agent, 1)
    assert any(np.array_equal(memory.history, seed) for seed in prior.seeds)
    decision, after = acts(agent, state, memory, jnp.ones(3), count=50)
    by_prior = decision.info["mixing/prior_share"].astype(bool)
    assert by_prior.any()
    assert not by_prior.all()
    proposal = asked(prior, memory.history, jnp.zeros(0))
    np.testing.assert_allclose(
        decision.action[by_prior],
        np.broadcast_to(proposal, decision.action[by_prior].shape),
        atol=1e-6,
    )
    assert np.abs(decision.action[~by_prior] - proposal).min() > 1e-5
    expected = decision.action
    if context == "stream":
        expected = np.broadcast_to(proposal, expected.shape)
    np.testing.assert_allclose(after[:, -1], expected, atol=1e-6)
    for history in after:
        np.testing.assert_array_equal(history[:-1], memory.history[1:])
    # The bank follows from that history.
    flat = after.reshape(50, -1)
    wanted = proposed(prior, flat, np.zeros((50, 0)))
    bank = np.asarray(jax.jit(agent.propose)(jax.random.key(0), flat))
    assert bank.shape == (50, 3, 2)
    for b in range(3):
        np.testing.assert_allclose(bank[:, b], wanted, atol=1e-6)


@pytest.mark.slow
def test_episodes_begin_with_every_seed_of_the_prior():
    agent = make(linear_prior(k=2))
    rng = np.random.default_rng(0)
    begun = np.stack([agent.begin(rng).history for _ in range(2000)])
    seeds = np.asarray(agent.priors[0].seeds)
    counts = [(begun == s).all(axis=(1, 2)).sum() for s in seeds]
    assert sum(counts) == 2000
    assert stats.chisquare(counts).pvalue > 0.001


def test_the_bank_holds_independent_draws_of_the_prior():
    agent = make(linear_prior(0.1, deviation=0.15, gain=0.3, k=1), bank=3)
    histories = jnp.full((4000, 1), 0.4)
    drawn = jax.jit(agent.propose)(jax.random.key(0), histories)[:, :, 0]
    drawn, normal = np.asarray(drawn), stats.norm(0.1 + 0.3 * 0.4, 0.15)
    assert np.abs(drawn).max() < 0.99  # nothing is clamped
    for column in drawn.T:
        assert stats.kstest(column, normal.cdf).pvalue > 0.001
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 4 / np.sqrt(4000)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "state"), [(0, 0), (1, 0), (2, 2)])
def test_a_unit_prior_is_the_same_prior_in_scaled_actions(k, state):
    """Asymmetric bounds: samples map to each other with the same key, and densities."""
    low, high = jnp.array([-1.0, 0.0]), jnp.array([3.0, 0.5])
    middle, half = (low + high) / 2, (high - low) / 2
    prior = linear_prior(
        0.1, deviation=0.3, gain=0.1, k=k, state=state, dims=2, low=low, high=high
    )
    unit = unit_prior(prior)
    np.testing.assert_allclose(prior.seeds, middle + half * unit.seeds, atol=1e-6)
    assert np.abs(unit.seeds).max(initial=0) <= 1.0
    for seed in range(10):
        keys = jax.random.split(jax.random.key(seed), 3)
        past = jax.random.uniform(keys[0], (k, 2), minval=-1)
        rest = jax.random.normal(keys[1], (state,))
        scaled = jnp.concatenate([past.ravel(), rest])
        real = jnp.concatenate([(middle + half * past).ravel(), rest])
        action = unit.sample(keys[2], scaled)
        again = prior.sample(keys[2], real)
        np.testing.assert_allclose(middle + half * action, again, atol=1e-5)
        density = prior.log_prob(again, real) + jnp.log(half).sum()
        assert float(unit.log_prob(action, scaled)) == pytest.approx(
            float(density), abs=1e-3
        )


@pytest.mark.slow
def test_at_test_time_the_policys_mean_acts():
    agent = make(linear_prior(0.9), mixing_fixed=1.0)
    state, obs = agent.init(jax.random.key(0)), jnp.ones(3)
    actor = jax.tree.map(np.asarray, agent.actor(state))
    mean = greedy(agent, actor, np.asarray(obs))
    np.testing.assert_allclose(mean, jnp.tanh(state.sac.policy(obs)[0]), atol=1e-6)


# --- λ --------------------------------------------------------------------------------


@pytest.mark.slow
def test_lambda_begins_near_its_start_in_every_state():
    agent = SFP(Spec(4, 1), (linear_prior(),), networks=SMALL)
    mixing = agent.init(jax.random.key(0)).mixing
    assert [w.shape for w in mixing.weights] == [(4, 128), (128, 128), (128, 1)]
    obs = jax.random.uniform(jax.random.key(1), (1000, 4))
    values = jax.jit(lambda obs: agent.mixing.weights(mixing(obs)))(obs)
    assert float(values.mean()) == pytest.approx(0.95, abs=0.01)
    assert float(jnp.abs(values - 0.95).max()) < 0.03
    assert float(mixing.biases[-1][0]) == pytest.approx(np.log(19.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gradient", "step"), [(0.01, 0.001), (0.02, 0.002), (-0.05, -0.005)]
)
def test_scaled_gradients_make_adam_plain_descent(gradient, step):
    """lr · 1e-9 / 1e-8 · g while |g| is small: linear, where Adam alone has signs."""
    agent = make(linear_prior())
    adam, weight = agent.mixing.optimiser, jnp.zeros(1)
    state, slope = adam.init(weight), jnp.full(1, gradient)
    for _ in range(5):
        moves, state = adam.update(slope, state)
        assert float(moves[0]) == pytest.approx(-0.01 * step, rel=0.01)
    huge, _ = adam.update(jnp.full(1, 1e6 * gradient), adam.init(weight))
    assert float(huge[0]) == pytest.approx(-0.01 * np.sign(gradient), rel=0.01)
    unscaled = make(linear_prior(), mixing_gradient_scale=1.0).mixing.optimiser
    moves, _ = unscaled.update(slope, unscaled.init(weight))
    assert float(moves[0]) == pytest.approx(-0.01 * np.sign(gradient), rel=0.01)


# --- updates --------------------------------------------------------------------------

CASES = {
    "default": ({"k": 1}, {"bank": 4}),
    "no bank": ({"k": 2}, {"bank": 0}),
    "no past": ({"k": 0}, {"bank": 0}),
    "long past, expected": ({"k": 5}, {"bank": 0, "td_value": "expected"}),
    "policy": ({"k": 1}, {"bank": 4, "td_value": "policy"}),
    "best, true goals": (
        {"k": 1},
        {"bank": 4, "td_value": "best", "mixing_goals": "true"},
    ),
    "state": ({"state": 3}, {"bank": 4, "entropy_weight": "full"}),
    "state and action": ({"k": 1, "state": 2}, {"mixing_loss_at": "next"}),
    "values of the target": (
        {"k": 1},
        {"bank": 4, "td_value": "best", "mixing_loss_at": "target"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_update_reports_the_losses_of_the_equations(case):
    """In float64 from weights, batch and keys: which λ, context, critics and action."""
    made, options = CASES[case]
    prior = linear_prior(0.1, gain=0.1, dims=2, **made)
    agent = make(prior, **options)
    state, other = (agent.init(jax.random.key(s)) for s in (0, 1))
    state = with_mixing(state, [0.7, -0.8, 0.9])
    state = state._replace(sac=state.sac._replace(targets=other.sac.critics))
    history = 2 * made.get("k", 0)
    batch = random_batch(16, action=2, history=history, bank=agent.bank)
    batch = batch._replace(relabelled=jnp.asarray([1.0, 0.0, 1.0, 1.0] * 4))
    key = jax.random.key(4)
    after, metrics = jax.jit(agent.update)(state, batch, key)

    keys = Keys.split(key)
    mixing, next_mixing = (
        1 / (1 + np.exp(-forward(state.mixing, np.asarray(obs, np.float64))[:, 0]))
        for obs in (batch.obs.state, batch.next_obs.state)
    )
    proposal = proposed(prior, batch.history, batch.obs.state)
    next_proposal = proposed(prior, batch.next_history, batch.next_obs.state)
    if agent.bank:
        proposal, next_proposal = batch.proposal, batch.next_proposal
    action, log_prob = policy_draw(state.sac.policy, keys.target, batch.next_obs.state)
    by_prior = np.asarray(jax.random.uniform(keys.choice, (16,))) < next_mixing
    assert 0 < by_prior.sum() < 16
    mixed = np.where(by_prior[:, None], next_proposal, action)
    targets = state.sac.targets
    value = both_q(targets, batch.next_obs.state, mixed).min(axis=0)
    of_policy = both_q(targets, batch.next_obs.state, action).min(axis=0)
    of_prior = both_q(targets, batch.next_obs.state, next_proposal).min(axis=0)
    if options.get("td_value") == "expected":
        value = (1 - next_mixing) * of_policy + next_mixing * of_prior
    if options.get("td_value") == "policy":
        value = of_policy
    if options.get("td_value") == "best":
        value = np.maximum(of_policy, of_prior)
        assert 0 < (of_policy > of_prior).sum() < 16
    target = np.asarray(batch.reward) + np.asarray(batch.discount) * (
        value - 0.3 * log_prob
    )
    q = both_q(state.sac.critics, batch.obs.state, batch.action)
    critic = ((q - target) ** 2).mean(axis=1).sum()
    assert float(metrics["losses/critic"]) == pytest.approx(critic, rel=1e-4)

    critics = after.sac.critics
    action, log_prob = policy_draw(state.sac.policy, keys.policy, batch.obs.state)
    q_policy = both_q(critics, batch.obs.state, action).min(axis=0)
    weight = 1.0 if options.get("entropy_weight") == "full" else 1 - mixing
    policy = -((1 - mixing) * q_policy - weight * 0.3 * log_prob).mean()
    assert float(metrics["losses/policy"]) == pytest.approx(policy, rel=1e-4)

    q_prior = both_q(critics, batch.obs.state, proposal).min(axis=0)
    if options.get("mixing_loss_at") == "next":
        mixing = next_mixing
        action, _ = policy_draw(after.sac.policy, keys.policy, batch.next_obs.state)
        q_policy = both_q(critics, batch.next_obs.state, action).min(axis=0)
        q_prior = both_q(critics, batch.next_obs.state, next_proposal).min(axis=0)
    if options.get("mixing_loss_at") == "target":
        mixing, q_policy, q_prior = next_mixing, of_policy, of_prior
    if options.get("mixing_loss_at"):
        ended = np.asarray(batch.discount) == 0
        assert 0 < ended.sum() < 16
        q_policy, q_prior = np.where(ended, 0, [q_policy, q_prior])
    counted = np.ones(16, bool)
    if options.get("mixing_goals") == "true":
        counted = np.asarray(batch.relabelled) == 0
    loss = -(mixing * (q_prior - q_policy))[counted].mean()
    assert float(metrics["losses/mixing"]) == pytest.approx(loss, rel=1e-4, abs=1e-6)
    gap = (q_prior - q_policy).mean()
    assert float(metrics["losses/q_prior_minus_policy"]) == pytest.approx(
        gap, rel=1e-4, abs=1e-6
    )
    assert float(metrics["mixing/replay"]) == pytest.approx(mixing.mean(), rel=1e-5)


@pytest.mark.slow
def test_the_expected_value_is_the_mean_over_many_coins():
    agents = [
        make(linear_prior(0.5), td_value=value, bank=0)
        for value in ("sampled", "expected")
    ]
    state = with_mixing(agents[0].init(jax.random.key(0)), [1.0, -1.0, 0.5])
    batch = random_batch(8)._replace(discount=jnp.full(8, 0.9))
    keys = Keys.split(jax.random.key(1))
    proposal = jnp.full((8, 1, 1), 0.5)

    def target(agent, coin):
        ahead = agent.sac.look_ahead(state.sac, batch.next_obs)
        drawn = keys._replace(choice=coin)
        return agent._target(state, batch, ahead, proposal, drawn)[0]

    coins = jax.random.split(jax.random.key(2), 4000)
    sampled = jax.jit(jax.vmap(lambda coin: target(agents[0], coin)))(coins)
    expected = jax.jit(lambda: target(agents[1], coins[0]))()
    spread = np.asarray(sampled).std(axis=0)
    assert (spread > 1e-4).all()
    difference = np.abs(np.asarray(sampled).mean(axis=0) - np.asarray(expected))
    assert (difference < 4 * spread / np.sqrt(4000) + 1e-6).all()


@pytest.mark.slow
def test_kept_and_new_proposals_teach_the_same_on_average():
    """By how much critics that care prefer the prior, over many moments."""
    gaps = []
    for bank in (0, 6):
        agent = make(linear_prior(0.3, deviation=0.3, gain=0.4, k=1), bank=bank)
        state = jax.jit(
            lambda key, agent=agent: jax.tree.map(lambda x: 4.0 * x, agent.init(key))
        )(jax.random.key(0))
        batch = random_batch(4000)
        history = jax.random.uniform(jax.random.key(1), (4000, 1), minval=-1.0)
        proposal = jnp.zeros((4000, 0))
        if bank:
            proposal = jax.jit(agent.propose)(jax.random.key(3), history)[:, 3]
        batch = batch._replace(
            obs=plain(jnp.ones((4000, 3))),
            history=history,
            next_history=history,
            proposal=proposal,
            next_proposal=proposal,
        )
        _, metrics = jax.jit(agent.update)(state, batch, jax.random.key(2))
        gaps.append(float(metrics["losses/q_prior_minus_policy"]))
    assert gaps[0] == pytest.approx(gaps[1], rel=0.05)
    assert abs(gaps[0]) > 0.5


@pytest.mark.slow
def test_a_scan_of_updates_equals_the_updates_one_by_one():
    agent = make(linear_prior(0.1, deviation=0.3, gain=0.1, k=1, dims=2), bank=0)
    state, key = agent.init(jax.random.key(0)), jax.random.key(5)
    batches = random_batch(16, action=2, history=2, lead=(4,))
    one, update = state, jax.jit(agent.update)
    for i, update_key in enumerate(jax.random.split(key, 4)):
        one, _ = update(one, jax.tree.map(lambda x, i=i: x[i], batches), update_key)
    assert moved(one.mixing, state.mixing)
    many, _ = compile_updates(agent)(state, batches, key)
    assert_close(one, many, 1e-6)


@pytest.mark.slow
def test_a_fixed_lambda_is_never_learned_and_the_prior_neither():
    prior = linear_prior(0.5, deviation=0.1)
    agent = make(prior, mixing_fixed=0.4, bank=0)
    state = agent.init(jax.random.key(0))
    after, metrics = jax.jit(agent.update)(state, random_batch(16), jax.random.key(0))
    assert not moved(state.mixing, after.mixing)
    assert float(metrics["mixing/replay"]) == pytest.approx(0.4)
    assert moved(state.sac.critics, after.sac.critics)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(after))


@pytest.mark.slow
def test_a_shipped_flow_acts_and_learns():
    prior = unit_prior(load_prior("room"))
    agent = make(prior, obs=4, bank=2, mixing_fixed=1.0)
    state = agent.init(jax.random.key(0))
    memory = begin(agent, 1)
    decision, after = acts(agent, state, memory, jnp.ones(4), count=200)
    np.testing.assert_array_equal(after[:, 0], decision.action)
    keys = jax.random.split(jax.random.key(4), 200)
    own = jax.vmap(prior.sample, in_axes=(0, None))(keys, memory.history.ravel())
    for i in (0, 1):
        assert stats.ks_2samp(decision.action[:, i], own[:, i]).pvalue > 0.001
    batch = random_batch(4, obs=4, action=2, history=2, bank=2)
    _, metrics = jax.jit(agent.update)(state, batch, jax.random.key(0))
    assert all(np.isfinite(value) for value in metrics.values())


# --- probes ---------------------------------------------------------------------------


@pytest.mark.slow
def test_probe_lambda_is_a_function_of_the_state():
    """The critics prefer the prior in one state and the policy in the other.

    A hot policy stays near the middle, so that the prior is better or worse for good.
    """
    agent = make(
        linear_prior(0.8),
        obs=1,
        alpha=2.0,
        networks=PROBE,
        mixing_start=0.5,
        mixing_gradient_scale=1.0,
        bank=0,
    )
    state = learn(agent, explored(Once(lambda state, action: state * action)))
    good, bad = (
        float(agent.mixing.weights(state.mixing(jnp.array([o])))[0])
        for o in (1.0, -1.0)
    )
    assert good > 0.9
    assert bad < 0.1


@pytest.mark.slow
def test_probe_with_the_papers_gradient_scale_lambda_hardly_moves_at_first():
    """300 updates of at most lr · 0.1 · |g|, against Adam's full steps above."""
    agent = make(
        linear_prior(-0.8), obs=1, alpha=2.0, networks=PROBE, mixing_start=0.5, bank=0
    )
    obs = jnp.array([1.0])
    start = float(agent.mixing.weights(agent.init(jax.random.key(0)).mixing(obs))[0])
    state = learn(agent, explored(Once(lambda _, action: action)))
    end = float(agent.mixing.weights(state.mixing(obs))[0])
    assert 0.002 < start - end < 0.03


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "temperature"),
    [
        ({"td_value": "sampled", "entropy_weight": "full"}, 0.2 / (1 - 0.6)),
        ({"td_value": "expected", "entropy_weight": "mixed"}, 0.2),
    ],
)
def test_probe_values_and_temperature_of_a_mixture(options, temperature):
    """Reward a for ever: V = (λ ā + (1 - λ) E[a] + α H) / (1 - γ), Q = a + γ V.

    The derivation's policy loss has the temperature α / (1 - λ), the main text's α; the
    mean of the Boltzmann policy is coth(1/T) - T.
    """
    alpha, gamma, mixing = 0.2, 0.5, 0.6
    agent = make(
        linear_prior(-0.6, deviation=0.02),
        obs=1,
        alpha=alpha,
        networks=PROBE,
        mixing_fixed=mixing,
        bank=0,
        **options,
    )
    replay = explored(Forever(lambda _, action: action), gamma=gamma)
    state = learn(agent, replay, updates=500)
    h, average = entropy(state.sac.policy)
    best = 1 / np.tanh(1 / temperature) - temperature
    assert average == pytest.approx(best, abs=0.08)
    value = (mixing * -0.6 + (1 - mixing) * average + alpha * h) / (1 - gamma)
    actions = (-0.7, 0.0, 0.7)
    expected = np.array(actions) + gamma * value
    np.testing.assert_allclose(
        q_of(state.sac, 1.0, actions), [expected, expected], atol=0.08
    )
