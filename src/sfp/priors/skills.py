"""Skills of SPiRL: a latent z for ten actions, a decoder, and a prior p(z | s)."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.nets.lstm import LSTM
from sfp.nets.mlp import MLP
from sfp.nets.namespace import namespace
from sfp.priors.normal import log_normal
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar, Traits

BETA = 5e-4
"""Weight of the divergence from N(0, I), both losses being means (FrankaKitchen's)."""

LOG_STD = (-10.0, 2.0)
Latent = Float[Array, " latent"]


class Skills(eqx.Module):
    """q(z | a_t..a_{t+H-1}, s), a decoder, and p(z | s_t), all fitted together.

    The closed loop decodes a_{t+i} from s_{t+i} and z; the open loop decodes all
    actions from z alone. Outputs are linear: a recorded ±1 stays ±1. One window of
    scaled actions and standardised states is flat, `horizon` rows one after the other;
    the open loop may have no states at all, and p(z) is then the same everywhere.

    Attributes:
        encoder: over the window's rows; `posterior` makes q's moments of its output.
        decoder: of the closed loop, a network of (state, z).
        cell: of the open loop, over (last action, z); `out` makes actions of it.
        prior: p's moments from a standardised state.
    """

    traits: ClassVar[Traits] = Traits(is_density=False)
    encoder: LSTM
    posterior: MLP
    decoder: MLP | None
    cell: LSTM | None
    out: MLP | None
    prior: MLP
    dims: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    latent: int = eqx.field(static=True)

    def __init__(
        self,
        dims: int,
        context: int,
        *,
        key: PRNGKeyArray,
        closed: bool = True,
        horizon: int = 10,
        latent: int = 10,
        width: int = 128,
    ):
        keys = jax.random.split(key, 5)
        self.dims, self.horizon, self.latent = dims, horizon, latent
        seen = dims + context if closed else dims
        self.encoder = LSTM(seen, width, key=keys[0])
        self.posterior = MLP([width, 2 * latent], key=keys[1])
        self.decoder = self.cell = self.out = None
        if closed:
            sizes = [context + latent, *[width] * 5, dims]
            self.decoder = MLP(sizes, key=keys[2])
        else:
            self.cell = LSTM(dims + latent, width, key=keys[2])
            self.out = MLP([width, dims], key=keys[3])
        self.prior = MLP([context, *[width] * 6, 2 * latent], key=keys[4])

    @property
    def closed(self) -> bool:
        """Whether the decoder sees the state at every step."""
        return self.decoder is not None

    def moments(self, context: Context) -> tuple[Latent, Latent]:
        """Mean and log standard deviation of p(z | s)."""
        mean, log_std = jnp.split(self.prior(context), 2)
        return mean, jnp.clip(log_std, *LOG_STD)

    def encode(
        self, actions: Float[Array, "steps dims"], states: Float[Array, "steps state"]
    ) -> tuple[Latent, Latent]:
        """Mean and log standard deviation of q(z | window)."""
        seen = jnp.concatenate([actions, states], axis=1) if self.closed else actions
        mean, log_std = jnp.split(self.posterior(self.encoder.last(seen)), 2)
        return mean, jnp.clip(log_std, *LOG_STD)

    def step(self, latent: Any, state: Any) -> Any:
        """The closed loop's action in a state; NumPy or JAX, free leading axes."""
        assert self.decoder is not None
        return self.decoder(namespace(state).concatenate([state, latent], axis=-1))

    def plan(self, latent: Any) -> Any:
        """All actions of a skill of the open loop; NumPy or JAX."""
        assert self.cell is not None
        assert self.out is not None
        xp = namespace(latent)
        action, made = xp.zeros(self.dims, xp.float32), []
        carry = (xp.zeros(self.cell.size, xp.float32),) * 2
        for _ in range(self.horizon):
            carry = self.cell(carry, xp.concatenate([action, latent]))
            action = self.out(carry[0])
            made.append(action)
        return xp.stack(made)

    def decode(
        self, latent: Latent, states: Float[Array, "steps state"]
    ) -> Float[Array, "made dims"]:
        """The actions of a skill, in the states that were met, or all of a plan."""
        if not self.closed:
            return self.plan(latent)
        return self.step(jnp.broadcast_to(latent, (len(states), self.latent)), states)

    def terms(
        self, key: PRNGKeyArray, actions: Actions, contexts: Contexts
    ) -> dict[str, Scalar]:
        """Reconstruction, divergence and the prior's loss: means over a batch."""
        count, steps = len(actions), self.horizon

        def of_one(key, actions, states):
            mean, log_std = self.encode(actions, states)
            latent = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
            error = ((self.decode(latent, states) - actions) ** 2).mean()
            unit = 0.5 * (mean**2 + jnp.exp(2 * log_std) - 1) - log_std
            fixed = jax.lax.stop_gradient(latent)
            prior = -log_normal(fixed, *self.moments(states[0])).mean()
            return error, unit.mean(), prior

        losses = jax.vmap(of_one)(
            jax.random.split(key, count),
            actions.reshape(count, steps, -1),
            contexts.reshape(count, steps, contexts.shape[1] // steps),
        )
        names = ("reconstruction", "divergence", "prior")
        return {name: x.mean() for name, x in zip(names, losses, strict=True)}

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Squared error + β KL(q || N(0, I)) - log p(z | s), z ~ q."""
        return _loss(self, key, actions, contexts)[0]

    def window_loss(
        self, key: PRNGKeyArray, actions: Actions, contexts: Contexts
    ) -> Scalar:
        """Squared error + β KL(q || N(0, I)), by which epochs are compared.

        The prior's term is no part of it: it follows q, and rises while q says more.
        """
        return _loss(self, key, actions, contexts)[1]

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        """The first action of a skill that the prior draws."""
        mean, log_std = self.moments(context)
        latent = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
        return self.decode(latent, context[None])[0]

    def log_prob(self, action: Action, context: Context) -> Scalar:
        """There is none: a fit is judged by `window_loss`."""
        return jnp.full((), jnp.nan)


def open_skills(dims: int, context: int, *, key: Any, **sizes: Any) -> Skills:
    """Skills whose decoder sees no state."""
    return Skills(dims, context, key=key, closed=False, **sizes)


@eqx.filter_jit
def _loss(
    model: Skills, key: Any, actions: Any, contexts: Any
) -> tuple[Scalar, Scalar]:
    """Of everything, and of q and the decoder alone."""
    terms = model.terms(key, actions, contexts)
    windows = terms["reconstruction"] + BETA * terms["divergence"]
    return windows + terms["prior"], windows
