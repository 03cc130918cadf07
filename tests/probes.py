"""Probes: priors that tell their context, and environments whose values are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sfp.data.batch import Batch
from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.observation import Obs
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning


class Linear(eqx.Module):
    """a = offset + gain · context + deviation · noise: shows what it was given."""

    offset: jax.Array
    gain: jax.Array
    deviation: jax.Array

    def sample(self, key, context):
        noise = jax.random.normal(key, self.offset.shape)
        return self.offset + self.gain @ context + self.deviation * noise

    def log_prob(self, action, context):
        z = (action - self.offset - self.gain @ context) / self.deviation
        return (-0.5 * (z**2 + jnp.log(2 * jnp.pi)) - jnp.log(self.deviation)).sum()


def linear_prior(
    offset=0.0, *, deviation=0.0, gain=0.0, k=0, state=0, dims=1, low=-1.0, high=1.0
):
    """A prior with gains of its own for every number of its context."""
    context = k * dims + state
    gains = gain * (1.0 + jnp.arange(dims * context).reshape(dims, context))
    low, high = (jnp.broadcast_to(jnp.float32(x), (dims,)) for x in (low, high))
    frame = Frame(low, high, 0.1 * jnp.ones(state), 2.0 * jnp.ones(state))
    seeds = jax.random.uniform(jax.random.key(9), (5, k, dims))
    seeds = low[None, None] + (high - low)[None, None] * seeds
    model = Linear(jnp.full(dims, offset), gains, jnp.asarray(deviation, jnp.float32))
    return Prior(model, frame, seeds, Conditioning(k, state=state > 0))


def plain(state):
    """An observation, or many, without goal and image."""
    xp = jnp if isinstance(state, jax.Array) else np
    lead = state.shape[:-1]
    none = xp.zeros((*lead, 0, 0, 0), np.uint8)
    return Obs(state, xp.zeros((*lead, 0), np.float32), none)


def greedy(agent, actor, obs, rng=None):
    """What an agent does in a test, step by step, as a function of the state."""
    rng = rng or np.random.default_rng(0)
    controller = agent.controller(actor)
    memory = controller.begin(rng)

    def act(state):
        nonlocal memory
        action, memory = controller.act(memory, plain(np.asarray(state)), rng)
        return action

    return act if obs is None else act(obs)


def random_batch(rows, *, obs=3, action=1, history=0, bank=0, seed=0, lead=()):
    """Numbers without a meaning, of the right shapes and signs."""
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return jnp.asarray(rng.normal(size=(*lead, rows, *shape)), jnp.float32)

    def unit(size):
        values = rng.uniform(-1, 1, size=(*lead, rows, size))
        return jnp.asarray(values, jnp.float32)

    discount = rng.choice([0.0, 0.5, 0.9], size=(*lead, rows))
    proposals = action if bank else 0
    return Batch(
        obs=plain(normal(obs)),
        action=unit(action),
        reward=normal(),
        discount=jnp.asarray(discount, jnp.float32),
        next_obs=plain(normal(obs)),
        history=unit(history),
        next_history=unit(history),
        proposal=unit(proposals),
        next_proposal=unit(proposals),
        relabelled=jnp.zeros((*lead, rows)),
    )


class Once:
    """One step, then over. The reward is 1, or what the action makes of it."""

    obs_size, limit = 1, 1

    def __init__(self, reward=lambda state, action: 1.0):
        self.reward = reward

    def first(self, rng):
        return rng.choice([-1.0, 1.0])

    def step(self, state, action):
        return state, self.reward(state, action), True


class Twice:
    """Two states, and a reward of 1 at the end of the second."""

    obs_size, limit = 1, 2

    def first(self, rng):
        return 0.0

    def step(self, state, action):
        return 1.0, state, state == 1.0


class Forever:
    """One state, a reward in every step, cut off by a limit but never over."""

    obs_size, limit = 1, 7

    def __init__(self, reward=lambda state, action: 1.0):
        self.reward = reward

    def first(self, rng):
        return 1.0

    def step(self, state, action):
        return state, self.reward(state, action), False


def explored(probe, *, n=1, gamma=0.5, steps=600):
    """A replay of uniform actions in a probe."""
    rng = np.random.default_rng(0)
    replay = EpisodeReplay(10_000, Sizes(obs=1, action=1), n_step=n, gamma=gamma)

    def moment(state):
        none = np.zeros(0, np.float32)
        obs = np.array([state], np.float32)
        return TimeStep(obs, none, none, none)

    over = True
    for _ in range(steps):
        if over:
            state, count = probe.first(rng), 0
            replay.begin(moment(state))
        action = rng.uniform(-1, 1)
        state, reward, ended = probe.step(state, action)
        count += 1
        replay.add(np.array([action]), reward, moment(state), terminated=ended)
        over = ended or count == probe.limit
    return replay
