"""The baselines: each against a closed form or another statement of its definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from test_sac import assert_close, moved

from probes import greedy, linear_prior, plain, random_batch
from sfp.agents.base import Keys, Turn
from sfp.agents.bc import BC, cloning_loss
from sfp.agents.kl import KL
from sfp.agents.losses import gaussian_kl
from sfp.agents.parrot import Parrot
from sfp.agents.rlpd import RLPD
from sfp.agents.sac import SAC, min_q, sample
from sfp.agents.sfp import SFP
from sfp.config import Networks
from sfp.data.trajectories import assemble
from sfp.exploration.family import Correlated, SelfAvoiding
from sfp.exploration.prior import PriorWarmup
from sfp.nets.layernorm import NormedMLP
from sfp.nets.policy import Policy
from sfp.noise.processes import Colored, OrnsteinUhlenbeck, Zeta, squash
from sfp.observation import Obs, Spec
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.gaussian import Gaussian
from sfp.priors.realnvp import FlowSize, RealNVP

SMALL = Networks(width=8, depth=2, learning_rate=1e-2, polyak=0.9, alpha=0.3)
SIZES = Spec(3, 2), 0.3, SMALL


def make_prior(model, *, past=0, state=0, dims=2):
    """A prior around a model, in scaled actions; states have mean 0.5, deviation 2."""
    ones = jnp.ones(dims)
    frame = Frame(-ones, ones, jnp.full(state, 0.5), jnp.full(state, 2.0))
    seeds = jax.random.uniform(jax.random.key(5), (7, past, dims), minval=-1)
    return Prior(model, frame, seeds, Conditioning(past, state=state > 0))


def flow_prior(*, past=0, state=0, dims=2):
    size = FlowSize(layers=3, width=8)
    flow = RealNVP(dims, past * dims + state, key=jax.random.key(1), size=size)
    return make_prior(flow, past=past, state=state, dims=dims)


def split(state):
    """Two dimensions of state and one of a goal."""
    return plain(state[:2])._replace(goal=state[2:])


def steps(agent, actor, obs, *, count, phase, seed=0, seen=plain):
    """The decisions and memories of one episode in which nothing is seen to change."""
    rng = np.random.default_rng(seed)
    memory, made = agent.begin(rng), []
    for _ in range(count):
        decision, memory = agent.act(actor, memory, Turn(seen(obs), rng, phase))
        made.append((decision, memory))
    return made


def actor_of(agent):
    return jax.tree.map(np.asarray, agent.actor(agent.init(jax.random.key(0))))


# --- actions that are given -----------------------------------------------------------


def gaussian_prior():
    return make_prior(Gaussian(2, 2, key=jax.random.key(2)), past=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "agent",
    [
        SFP(*SIZES[:1], (linear_prior(k=1, dims=2),), *SIZES[1:]),
        KL(*SIZES, prior=gaussian_prior()),
        SAC(*SIZES, explorer=PriorWarmup(linear_prior(k=1, dims=2))),
        SAC(*SIZES, explorer=Correlated(Colored(1.0, 50))),
        SAC(*SIZES),
    ],
    ids=["sfp", "kl", "warm", "pink", "sac"],
)
def test_a_given_action_is_executed_stored_and_remembered(agent):
    given, rng = np.array([0.25, -0.5], np.float32), np.random.default_rng(0)
    actor, obs = actor_of(agent), plain(np.zeros(3, np.float32))
    memory = agent.begin(rng)
    decision, after = agent.act(actor, memory, Turn(obs, rng, "warmup", given))
    assert decision.action is given
    assert decision.chosen is given
    held = [leaf for leaf in jax.tree.leaves(after) if np.shape(leaf) == (1, 2)]
    if isinstance(agent, SFP | KL) or isinstance(agent.explorer, PriorWarmup):
        np.testing.assert_array_equal(held[0], given[None])
    else:
        jax.tree.map(np.testing.assert_array_equal, after, memory)


# --- the prior's warm-up --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seen", [dict(past=1), dict(state=3), dict(past=2, state=2)])
def test_the_priors_warm_up_is_that_of_sfp_and_the_rest_is_sac(seen):
    prior, obs = flow_prior(**seen), np.array([0.3, -0.2, 0.9], np.float32)
    warm = SAC(*SIZES, explorer=PriorWarmup(prior))
    mixed, sac = SFP(SIZES[0], (prior,), *SIZES[1:]), SAC(*SIZES)

    def actions(agent, phase):
        made = steps(agent, actor_of(agent), obs, count=5, phase=phase, seen=split)
        return np.array([decision.action for decision, _ in made])

    np.testing.assert_array_equal(actions(warm, "warmup"), actions(mixed, "warmup"))
    state, batch = sac.init(jax.random.key(0)), random_batch(4, action=2)
    many = (jax.jit(agent.update) for agent in (warm, sac))
    learned = [update(state, batch, jax.random.key(1)) for update in many]
    for one, other in zip(*map(jax.tree.leaves, learned), strict=True):
        np.testing.assert_array_equal(one, other)


# --- noise ----------------------------------------------------------------------------

NOISES = [Colored(1.0, 64), OrnsteinUhlenbeck(0.15), Zeta(2.0, 16)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=["pink", "ou", "zeta"])
def test_noise_moves_the_policy_as_its_own_would(noise):
    """a = tanh(μ + σ ε): ε recovered from the actions is the noise itself."""
    agent = SAC(*SIZES, explorer=Correlated(noise))
    actor, obs = actor_of(agent), np.array([0.3, -0.2, 0.9], np.float32)
    made = steps(agent, actor, obs, count=100, phase="train")
    actions = np.array([d.action for d, _ in made], np.float64)
    mean, log_std = (np.asarray(x) for x in actor.policy(obs))
    recovered = (np.arctanh(actions) - mean) / np.exp(log_std)
    rng = np.random.default_rng(0)
    state, expected = noise.begin(rng, 1, 2), []
    for _ in range(100):
        drawn, state = noise.draw(state, rng)
        expected.append(drawn[0])
    np.testing.assert_allclose(recovered, expected, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=["pink", "ou", "zeta"])
def test_the_warm_up_is_uniform_but_correlated_like_the_noise(noise):
    agent = SAC(*SIZES, explorer=Correlated(noise))
    actor, obs = actor_of(agent), np.zeros(3, np.float32)
    first, second = [], []
    for seed in range(400):
        made = steps(agent, actor, obs, count=2, phase="warmup", seed=seed)
        first.append(made[0][0].action)
        second.append(made[1][0].action)
    first, second = np.array(first), np.array(second)
    assert stats.kstest(first[:, 0], stats.uniform(-1, 2).cdf).pvalue > 0.001
    assert np.corrcoef(first[:, 0], second[:, 0])[0, 1] > 0.3
    assert abs(np.corrcoef(first[:, 0], second[:, 1])[0, 1]) < 4 / np.sqrt(400)
    np.testing.assert_array_equal(squash(np.zeros(2)), np.zeros(2))


@pytest.mark.slow
def test_noise_belongs_to_the_episode_and_updates_are_sacs():
    agent, sac = SAC(*SIZES, explorer=Correlated(Colored())), SAC(*SIZES)
    one, other = (agent.begin(np.random.default_rng(s)) for s in (0, 1))
    assert not np.array_equal(one.explorer.sequence, other.explorer.sequence)
    key, batch = jax.random.key(4), random_batch(16, action=2)
    state = sac.init(key)
    assert not moved(state, agent.init(key))
    theirs, ours = (jax.jit(a.update)(state, batch, key) for a in (sac, agent))
    assert_close(theirs, ours, 0)


# --- PolyRL ---------------------------------------------------------------------------


@pytest.mark.slow
def test_polyrl_walks_at_first_and_is_sac_afterwards():
    agent = SAC(Spec(2, 2, 1), 0.3, SMALL, SelfAvoiding())
    sac = SAC(Spec(2, 2, 1), 0.3, SMALL)
    actor, rng = actor_of(agent), np.random.default_rng(3)
    memory, actions, at = agent.begin(rng), [], np.zeros(3, np.float32)
    for _ in range(400):
        decision, memory = agent.act(actor, memory, Turn(split(at), rng, "warmup"))
        actions.append(decision.action)
        at = at + np.append(decision.action, 0.0).astype(np.float32)
    directions = np.array(actions) / np.linalg.norm(actions, axis=1, keepdims=True)
    angles = np.arccos(np.clip((directions[1:] * directions[:-1]).sum(axis=1), -1, 1))
    # Clipping to the box turns the few actions that leave it a little.
    assert np.median(angles) == pytest.approx(0.35, abs=0.05)
    ours, same = agent.act(
        actor, memory, Turn(split(at), np.random.default_rng(1), "train")
    )
    theirs, _ = sac.act(
        actor, sac.begin(rng), Turn(split(at), np.random.default_rng(1), "train")
    )
    np.testing.assert_array_equal(ours.action, theirs.action)
    assert same.explorer is memory.explorer


def test_polyrls_walk_begins_at_the_first_state_of_an_episode():
    agent = SAC(Spec(2, 2, 1), 0.3, SMALL, SelfAvoiding())
    actor, far = actor_of(agent), np.array([50.0, -30.0, 1.0], np.float32)
    (_, memory), *_ = steps(agent, actor, far, count=1, phase="warmup", seen=split)
    np.testing.assert_array_equal(memory.explorer.mean[0], far[:2])


# --- PARROT ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"state": 3}, {"past": 2}])
def test_parrot_executes_what_the_flow_makes_of_its_noise(kind):
    """The flow takes the executed action back to z; the critic sees its quantile u."""
    prior = flow_prior(**kind)
    agent = Parrot(*SIZES, prior=prior)
    actor, obs = actor_of(agent), np.array([0.4, -1.0, 0.2], np.float32)
    for phase in ("warmup", "train"):
        rng = np.random.default_rng(0)
        memory = agent.begin(rng)
        for _ in range(20):
            past = memory.history
            decision, memory = agent.act(actor, memory, Turn(plain(obs), rng, phase))
            context = past.ravel()
            if "state" in kind:
                context = np.concatenate([context, (obs - 0.5) / 2.0])
            if np.abs(decision.action).max() < 0.99:
                action, context = map(jnp.asarray, (decision.action, context))
                z, _ = prior.model.forward(action, context)
                quantile = (stats.norm.cdf(z) - 0.5) / 0.45
                np.testing.assert_allclose(quantile, decision.chosen, atol=2e-3)
            expected = np.concatenate([past, decision.action[None]])[1:]
            np.testing.assert_array_equal(memory.history, expected)


@pytest.mark.slow
def test_parrots_warm_up_is_the_flow_but_for_its_tails():
    prior = flow_prior(state=3)
    agent, obs = Parrot(*SIZES, prior=prior), np.array([0.4, -1.0, 0.2], np.float32)
    made = steps(agent, actor_of(agent), obs, count=2000, phase="warmup")
    units = np.array([d.chosen for d, _ in made])
    for i in (0, 1):
        assert stats.kstest(units[:, i], stats.uniform(-1, 2).cdf).pvalue > 0.001


@pytest.mark.slow
def test_parrots_test_is_the_policys_mean_through_the_flow():
    prior = flow_prior(past=1)
    agent, obs = Parrot(*SIZES, prior=prior), np.array([0.4, -1.0, 0.2], np.float32)
    actor = actor_of(agent)
    act = greedy(agent, actor, None, np.random.default_rng(7))
    seeds = np.asarray(prior.seeds)
    past = seeds[np.random.default_rng(7).integers(len(seeds))]
    mean = np.tanh(np.asarray(actor.policy(obs)[0]))
    for _ in range(5):
        z = stats.norm.ppf(0.5 + 0.45 * mean)
        z, context = jnp.asarray(z, jnp.float32), jnp.asarray(past.ravel())
        expected = prior.model.inverse(z, context)
        action = act(obs)
        np.testing.assert_allclose(action, np.clip(expected, -0.99, 0.99), atol=1e-4)
        past = action[None]


@pytest.mark.slow
def test_parrot_learns_as_sac_does_in_u():
    agent, sac = Parrot(*SIZES, prior=flow_prior(state=3)), SAC(*SIZES)
    key, batch = jax.random.key(4), random_batch(16, action=2)
    state = sac.init(key)
    assert_close(sac.update(state, batch, key), agent.update(state, batch, key), 0)


# --- KL -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_divergence_against_monte_carlo_and_at_equality():
    rng = np.random.default_rng(0)
    mean, other = rng.normal(size=(2, 3))
    log_std, other_log_std = rng.uniform(-1.5, 0.5, size=(2, 3))
    u = mean + np.exp(log_std) * rng.normal(size=(400_000, 3))
    ours = stats.norm(mean, np.exp(log_std)).logpdf(u).sum(axis=1)
    theirs = stats.norm(other, np.exp(other_log_std)).logpdf(u).sum(axis=1)
    found = gaussian_kl(*map(jnp.asarray, (mean, log_std, other, other_log_std)))
    spread = (ours - theirs).std() / np.sqrt(len(u))
    assert float(found) == pytest.approx((ours - theirs).mean(), abs=5 * spread)
    same = jnp.asarray(mean), jnp.asarray(log_std)
    assert float(gaussian_kl(*same, *same)) == pytest.approx(0.0, abs=1e-6)
    assert float(found) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"past": 1}, {"state": 3}, {"past": 2, "state": 3}])
def test_kls_target_and_policy_gradient_are_those_of_its_objective(kind):
    """Stated anew: log-probabilities integrate the divergence out by Monte Carlo."""
    model = Gaussian(
        2, 2 * kind.get("past", 0) + kind.get("state", 0), key=jax.random.key(2)
    )
    prior = make_prior(model, **kind)
    agent = KL(*SIZES, prior=prior)
    state, key = agent.init(jax.random.key(0)), jax.random.key(3)
    batch = random_batch(12, action=2, history=2 * kind.get("past", 0))

    def divergence(policy, obs, history):
        """Per state, 4000 actions: log π(a|s) - log π̄(a|context), both after tanh."""

        def one(obs, history):
            context = jnp.concatenate([history, obs[: kind.get("state", 0)]])
            keys = jax.random.split(jax.random.key(8), 4000)
            actions, logs = jax.vmap(policy.sample, (0, None))(keys, obs)
            others = jax.vmap(prior.log_prob, (0, None))(actions, context)
            return (logs - others).mean()

        return jax.vmap(one)(obs, history)

    after, metrics = jax.jit(agent.update)(state, batch, key)
    expected = divergence(state.policy, batch.next_obs.state, batch.next_history)
    assert float(metrics["losses/kl"]) == pytest.approx(
        float(expected.mean()), rel=0.05
    )

    keys = Keys.split(key)
    action, _ = sample(state.policy, keys.target, batch.next_obs.state)
    value = min_q(state.targets, batch.next_obs.state, action)
    target = batch.reward + batch.discount * (value - 0.3 * expected)
    q = jnp.stack(
        [
            jax.vmap(c)(jnp.concatenate([batch.obs.state, batch.action], axis=1))[:, 0]
            for c in state.critics
        ]
    )
    loss = ((q - target) ** 2).mean(axis=1).sum()
    assert float(metrics["losses/critic"]) == pytest.approx(float(loss), rel=0.05)

    action, _ = sample(state.policy, keys.policy, batch.obs.state)
    best = min_q(after.critics, batch.obs.state, action).mean()
    cost = divergence(state.policy, batch.obs.state, batch.history).mean()
    objective = -(best - 0.3 * cost)
    assert float(metrics["losses/policy"]) == pytest.approx(float(objective), rel=0.05)


@pytest.mark.slow
def test_with_no_reward_kl_learns_the_prior():
    """Q = 0: what is left is the divergence, and the policy falls onto the prior."""
    prior = make_prior(Gaussian(2, 3, key=jax.random.key(2)), state=3)
    agent = KL(Spec(3, 2), 1.0, SMALL, prior=prior)
    state = agent.init(jax.random.key(0))
    batch = random_batch(64, action=2)
    batch = batch._replace(
        reward=jnp.zeros_like(batch.reward), discount=jnp.zeros_like(batch.discount)
    )
    first = float(
        agent._divergence(
            state.policy, batch.obs.state, batch.obs, batch.history
        ).mean()
    )
    update = jax.jit(agent.update)
    for i in range(600):
        state, _ = update(state, batch, jax.random.key(i))
    last = float(
        agent._divergence(
            state.policy, batch.obs.state, batch.obs, batch.history
        ).mean()
    )
    assert last < 0.05 * first


@pytest.mark.slow
def test_kl_explores_with_the_prior_at_first():
    prior = linear_prior(0.4, gain=0.3, k=1, dims=2)
    agent = KL(*SIZES, prior=prior)
    obs, past = np.zeros(3, np.float32), None
    rng = np.random.default_rng(2)
    memory = agent.begin(rng)
    for _ in range(4):
        past = memory.history[0]
        decision, memory = agent.act(
            actor_of(agent), memory, Turn(plain(obs), rng, "warmup")
        )
        expected = 0.4 + np.asarray(prior.model.gain) @ past
        np.testing.assert_allclose(
            decision.action, np.clip(expected, -0.99, 0.99), rtol=1e-5
        )
        np.testing.assert_array_equal(memory.history[0], decision.action)


# --- behavioural cloning --------------------------------------------------------------


@pytest.mark.slow
def test_cloning_recovers_a_known_linear_policy():
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (6000, 3)).astype(np.float32)
    gain = np.array([[0.5, -0.3], [0.2, 0.4], [-0.4, 0.1]])
    actions = np.tanh(states @ gain + 0.1 * rng.normal(size=(6000, 2)))
    networks = Networks(width=32, depth=2, learning_rate=3e-3, alpha=0.3)
    told = []
    agent = BC(
        Spec(3, 2),
        0.3,
        networks,
        shown=Obs(states, np.zeros((6000, 0)), np.zeros((6000, 0, 0, 0), np.uint8)),
        actions=actions.astype(np.float32),
        epochs=20,
        report=told.append,
    )
    fresh = agent.init(jax.random.key(0))
    state = agent.prepare(fresh, jax.random.key(1))
    mean, log_std = jax.vmap(state.policy)(states[:500])
    np.testing.assert_allclose(mean, states[:500] @ gain, atol=0.06)
    assert float(jnp.exp(log_std).mean()) == pytest.approx(0.1, rel=0.1)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert not moved(fresh.critics, state.critics)
    assert not moved(fresh.policy_adam, state.policy_adam)
    actor, rng = jax.tree.map(np.asarray, agent.actor(state)), np.random.default_rng(0)
    draws = [
        agent.act(actor, agent.begin(rng), Turn(plain(states[0]), rng, "warmup"))[
            0
        ].action
        for _ in range(200)
    ]
    # The clone explores from the beginning on.
    assert np.std(np.arctanh(draws), axis=0).max() < 0.2
    again = agent.prepare(fresh, jax.random.key(1))
    assert not moved(state, again)


@pytest.mark.slow
def test_the_cloning_loss_is_minus_the_mean_log_likelihood():
    policy = Policy(3, 2, width=8, depth=1, key=jax.random.key(0))
    states = jax.random.normal(jax.random.key(1), (5, 3))
    actions = jnp.tanh(jax.random.normal(jax.random.key(2), (5, 2)))
    actions = actions.at[0, 0].set(1.0)  # a bound counts as 0.999
    total = 0.0
    for state, action in zip(states, np.clip(actions, -0.999, 0.999), strict=True):
        mean, log_std = policy(state)
        density = stats.norm(mean, np.exp(log_std)).pdf(np.arctanh(action))
        total += np.log(density / (1 - action**2)).sum()
    assert float(cloning_loss(policy, states, actions)) == pytest.approx(
        -total / 5, rel=1e-4
    )


# --- RLPD -----------------------------------------------------------------------------


@pytest.mark.slow
def test_rlpds_critics_are_normalised_and_bounded_away_from_the_data():
    rng = np.random.default_rng(0)
    data = assemble([{"actions": rng.uniform(-1, 1, (5, 2))}], source="test")
    agent = RLPD(*SIZES, demonstrations=data)
    state = agent.init(jax.random.key(0))
    assert all(isinstance(c, NormedMLP) for c in (*state.critics, *state.targets))
    net = state.critics[0]
    near, far = jnp.ones(5), 1e4 * jnp.ones(5)
    bound = np.linalg.norm(net.weights[-1]) * np.sqrt(8) + abs(float(net.biases[-1][0]))
    assert abs(float(net(near)[0])) <= bound
    assert abs(float(net(far)[0])) <= bound
    after, _ = jax.jit(agent.update)(
        state, random_batch(16, action=2), jax.random.key(1)
    )
    assert moved(state.critics, after.critics)


@pytest.mark.slow
def test_a_normalised_network_is_its_formula():
    net = NormedMLP([3, 5, 2], key=jax.random.key(0))
    x = np.array([0.3, -1.0, 2.0])
    hidden = x @ np.asarray(net.weights[0]) + np.asarray(net.biases[0])
    hidden = (hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-6)
    expected = np.maximum(hidden, 0) @ np.asarray(net.weights[1]) + np.asarray(
        net.biases[1]
    )
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, rtol=1e-4)
