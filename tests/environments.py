"""Small environments for tests, with and without goals; and a prior."""

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning

SMALL = dict(
    steps=400,
    warmup=100,
    update_after=100,
    iteration=50,
    batch=8,
    n_step=3,
    width=8,
    capacity=220,
    eval_every=100,
    eval_episodes=2,
    log_every=50,
    checkpoint_every=100,
)
"""A run of a second that wraps its replay around, with four checkpoints."""


class Drift(gym.Env):
    """A point that is pushed by chance at every step; over the edge is the end.

    Actions within [-1, 2] x [0, 0.5]; observations are float64. Where steps do not
    follow the seed there is no edge: when an episode ends must not be left to chance.

    Args:
        fault: what goes wrong, and `at` which step of an episode.
        at: that step.
        seeded: whether `reset` follows its seed, and `inner` whether steps do.
        inner: see `seeded`.
        length: steps after which an episode is cut off.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    action_space = spaces.Box(
        np.array([-1.0, 0.0], np.float32), np.array([2.0, 0.5], np.float32)
    )
    observation_space = spaces.Box(-3.0, 3.0, (3,), np.float64)

    def __init__(
        self,
        fault=None,
        at=7,
        seeded=True,
        inner=True,
        length=25,
        scale=1.0,
        render_mode=None,
    ):
        self.fault, self.at, self.seeded, self.inner = fault, at, seeded, inner
        self.length, self.scale, self.render_mode = length, scale, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed if self.seeded else None)
        self.chance = self.np_random if self.inner else np.random.default_rng()
        self.at_now, self.count = self.np_random.uniform(-1, 1, 3), 0
        return self.at_now.copy(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.count += 1
        push = np.append(action, 0.0) * 0.2 + self.chance.normal(0, 0.1, 3)
        self.at_now = self.at_now + push
        over = self.inner and bool(np.abs(self.at_now).max() > 2.5)
        self.at_now = np.clip(self.at_now, -2.5, 2.5)
        obs, reward = self.at_now.copy(), self.scale * float(self.at_now[0])
        late = self.count >= self.length
        if self.count == self.at and self.fault:
            obs, reward, late = self._broken(obs, reward, late)
        return obs, reward, over, late, {}

    def _broken(self, obs, reward, late):
        match self.fault:
            case "nan":
                obs[1] = np.nan
            case "outside":
                obs[1] = 4.0
            case "huge":
                obs[1] = 1e300
            case "shape":
                obs = obs[:2]
            case "reward":
                reward = np.nan
            case "rewards":
                reward = np.ones(2)
            case "text":
                obs = "oops"
            case "raise":
                raise RuntimeError("the motor\nis on fire")
            case "both":
                late = True
        return obs, reward, late

    def render(self):
        picture = np.zeros((33, 31, 3), np.uint8)
        picture[tuple((self.at_now[:2] * 5 + 14).astype(int))] = 255
        return picture if self.fault != "blind" else None


class Reach(gym.Env):
    """A point that wants to be at a goal; Dict observations, `compute_reward`.

    Args:
        reward: `right`, or how `compute_reward` fails.
    """

    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Dict(
        {
            "observation": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "achieved_goal": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "desired_goal": spaces.Box(-1.0, 1.0, (2,), np.float32),
        }
    )

    def __init__(self, reward="right"):
        self.reward = reward

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at_now = np.zeros(2, np.float32)
        self.goal = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen(), {}

    def seen(self):
        return {
            "observation": self.at_now.copy(),
            "achieved_goal": self.at_now.copy(),
            "desired_goal": self.goal.copy(),
        }

    def step(self, action):
        noise = self.np_random.normal(0, 0.02, 2)
        self.at_now = (self.at_now + 0.2 * action + noise).astype(np.float32)
        near = bool(np.linalg.norm(self.at_now - self.goal) < 0.6)
        return self.seen(), float(near), False, False, {"is_success": near}

    def compute_reward(self, achieved_goal, desired_goal, info):
        distance = np.linalg.norm(achieved_goal - desired_goal, axis=-1)
        match self.reward:
            case "right":
                return (distance < 0.6).astype(np.float64)
            case "wrong":
                return (distance < 0.6) - 1.0
            case "single":
                return float(distance.min() < 0.6)
            case "raise":
                return 1.0 if distance < 0.6 else 0.0
            case "nan":
                return np.full(distance.shape, np.nan)
        return None


gym.register("probe/Drift-v0", Drift)
gym.register("probe/Reach-v0", Reach, max_episode_steps=30)


class Steady(eqx.Module):
    """Goes on in the last direction, more or less."""

    keep: jax.Array

    def sample(self, key, context):
        past = context[-2:] if context.size else jnp.zeros(2)
        return self.keep * past + 0.3 * jax.random.normal(key, (2,))

    def log_prob(self, action, context):
        return -(action**2).sum()


def make_prior(past_actions=1, states=0, low=(-1.0, -1.0), high=(1.0, 1.0)):
    """A prior over two numbers that compiles fast."""
    low, high = jnp.asarray(low), jnp.asarray(high)
    frame = Frame(low, high, jnp.zeros(states), jnp.ones(states))
    unit = np.random.default_rng(0).uniform(-0.9, 0.9, (16, past_actions, len(low)))
    seeds = (low + high) / 2 + (high - low) / 2 * jnp.asarray(unit, jnp.float32)
    conditioning = Conditioning(past_actions=past_actions, state=bool(states))
    return Prior(Steady(jnp.float32(0.9)), frame, seeds, conditioning)


def maze():
    """The maze with episodes of 60 steps."""
    return gym.make("sfp/Maze-v0", max_episode_steps=60)


class Still:
    """A controller that does nothing, in two dimensions."""

    def begin(self, rng):
        return ()

    def act(self, memory, obs, rng):
        return np.zeros(2), memory
