"""Conditional Real NVP: an invertible map between actions and Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.errors import SfpError
from sfp.nets.mlp import MLP
from sfp.priors.normal import log_normal
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar, Traits

LOG_SCALE = 3.0
"""Log-scales are bounded by this: unbounded ones overflow away from the data."""

EPSILON = 1e-5
"""Keeps the normalisation finite where a batch has no variance."""


@dataclass(frozen=True)
class FlowSize:
    """The structure of a flow; the defaults are the paper's, `PARROT` is a baseline's.

    The context is preprocessed by an encoder per `layer`, or by one that is `shared`.
    """

    layers: int = 6
    width: int = 128
    encoder: Literal["layer", "shared"] = "layer"
    normalise: bool = True


PARROT = FlowSize(layers=4, width=256, encoder="shared", normalise=False)


class Coupling(eqx.Module):
    """Shifts and scales one half of the action, given the other half and the context.

    z_moved = (a_moved - t) exp(-s) with (s, t) = MLP(a_kept, features of the context).
    """

    net: MLP
    flip: bool = eqx.field(static=True)
    kept: int = eqx.field(static=True)

    def __init__(self, dims: int, width: int, *, flip: bool, key: PRNGKeyArray):
        self.flip = flip
        self.kept = dims // 2 if flip else dims - max(1, dims // 2)
        moved = dims - self.kept
        self.net = MLP([self.kept + width, width, width, 2 * moved], key=key)

    def forward(
        self, action: Action, features: Float[Array, " width"]
    ) -> tuple[Action, Scalar]:
        """Towards the noise, with log |det| of the map."""
        kept, moved = self._split(action)
        return self._move(kept, moved, self.net(jnp.concatenate([kept, features])))

    def forward_columns(
        self,
        actions: Float[Array, "dims batch"],
        encoder: MLP,
        hidden: Float[Array, "width batch"],
    ) -> tuple[Float[Array, "dims batch"], Float[Array, " batch"]]:
        """The same for a batch in columns, given the encoder's last hidden layer."""
        kept, moved = self._split(actions)
        return self._move(kept, moved, self.net.columns_behind(encoder, hidden, kept))

    def inverse(self, noise: Action, features: Float[Array, " width"]) -> Action:
        kept, moved = self._split(noise)
        log_scale, shift = self._terms(self.net(jnp.concatenate([kept, features])))
        return self._join(kept, moved * jnp.exp(log_scale) + shift)

    def _move(self, kept, moved, out):
        log_scale, shift = self._terms(out)
        moved = (moved - shift) * jnp.exp(-log_scale)
        return self._join(kept, moved), -log_scale.sum(axis=0)

    def _split(self, x):
        x = x[::-1] if self.flip else x
        return x[: self.kept], x[self.kept :]

    def _join(self, kept, moved):
        x = jnp.concatenate([kept, moved])
        return x[::-1] if self.flip else x

    def _terms(self, out):
        log_scale, shift = jnp.split(out, 2)
        return LOG_SCALE * jnp.tanh(log_scale / LOG_SCALE), shift


class BatchNorm(eqx.Module):
    """Normalisation as a layer of a flow, with learned gain and offset.

    While fitting, `mean` and `variance` are the batch's; afterwards they are those of
    the training data.
    """

    log_gain: Float[Array, " dims"]
    offset: Float[Array, " dims"]

    def __init__(self, dims: int):
        self.log_gain = jnp.zeros(dims)
        self.offset = jnp.zeros(dims)

    def forward(self, x, mean, variance):
        """Towards the noise, with log |det|, for one action or a batch of them."""
        slope = self.log_gain - 0.5 * jnp.log(variance + EPSILON)
        return (x - mean) * jnp.exp(slope) + self.offset, slope.sum()

    def inverse(self, x, mean, variance):
        slope = self.log_gain - 0.5 * jnp.log(variance + EPSILON)
        return (x - self.offset) * jnp.exp(-slope) + mean


class RealNVP(eqx.Module):
    """a = f(z; context) with z ~ N(0, I): couplings, each with a normalisation behind.

    Encoders preprocess the context: one per coupling, or one in all. `means` and
    `variances` are those of the training data in front of each normalisation.
    """

    traits: ClassVar[Traits] = Traits(frozen=("means", "variances"))
    encoders: tuple[MLP, ...]
    couplings: tuple[Coupling, ...]
    norms: tuple[BatchNorm, ...]
    means: Float[Array, "norms dims"]
    variances: Float[Array, "norms dims"]

    def __init__(
        self,
        dims: int,
        context: int,
        *,
        key: PRNGKeyArray,
        size: FlowSize = FlowSize(),  # noqa: B008  (frozen)
    ):
        encoder_key, coupling_key = jax.random.split(key)
        encoders = size.layers if size.encoder == "layer" else 1
        sizes = [context, size.width, size.width, size.width]
        self.encoders = tuple(
            MLP(sizes, key=k) for k in jax.random.split(encoder_key, encoders)
        )
        self.couplings = tuple(
            Coupling(dims, size.width, flip=bool(i % 2), key=k)
            for i, k in enumerate(jax.random.split(coupling_key, size.layers))
        )
        norms = size.layers if size.normalise else 0
        self.norms = tuple(BatchNorm(dims) for _ in range(norms))
        self.means = jnp.zeros((norms, dims))
        self.variances = jnp.ones((norms, dims))

    def log_prob(self, action: Action, context: Context) -> Scalar:
        """Log N(z; 0, I) + log |det dz/da|."""
        z, log_det = self.forward(action, context)
        return log_normal(z).sum(axis=0) + log_det

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        dims = self.means.shape[1]
        return self.inverse(jax.random.normal(key, (dims,)), context)

    def forward(self, action: Action, context: Context) -> tuple[Action, Scalar]:
        """From action to noise z, with log |det dz/da|."""
        x, total = action, jnp.zeros(())
        features = self._features(context)
        for i, coupling in enumerate(self.couplings):
            x, log_det = coupling.forward(x, features[i])
            total += log_det
            if self.norms:
                x, log_det = self.norms[i].forward(x, self.means[i], self.variances[i])
                total += log_det
        return x, total

    def inverse(self, noise: Action, context: Context) -> Action:
        x = noise
        features = self._features(context)
        for i in reversed(range(len(self.couplings))):
            if self.norms:
                x = self.norms[i].inverse(x, self.means[i], self.variances[i])
            x = self.couplings[i].inverse(x, features[i])
        return x

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Negative log-likelihood of a batch, normalised by its own statistics."""
        z, log_det, _ = self._batch(actions.T, contexts.T)
        return -(log_normal(z).sum(axis=0) + log_det).mean()

    def temper(self, temperature: float) -> RealNVP:
        """A = f(√T z): the noise is scaled in the normalisation next to it."""
        if not self.norms:
            raise SfpError("a flow without normalisation has no temperature.")
        scale, last = temperature**0.5, self.norms[-1]
        changed = last.log_gain - jnp.log(scale), last.offset / scale
        where = lambda flow: (flow.norms[-1].log_gain, flow.norms[-1].offset)  # noqa: E731
        return eqx.tree_at(where, self, changed)

    def settle(self, actions: Actions, contexts: Contexts) -> RealNVP:
        if not self.norms:
            return self
        _, _, statistics = self._batch(actions.T, contexts.T)
        means, variances = (jnp.stack(s) for s in zip(*statistics, strict=True))
        where = lambda flow: (flow.means, flow.variances)  # noqa: E731
        return eqx.tree_at(where, self, (means, variances))

    def _features(self, context):
        return self._each([encoder(context) for encoder in self.encoders])

    def _each(self, of_encoders):
        """One per coupling: its own encoder's, or that of the one they share."""
        shared = len(of_encoders) == 1
        return list(of_encoders) * (len(self.couplings) if shared else 1)

    def _batch(self, actions, contexts):
        """Forward for a batch in columns; also returns the statistics on the way."""
        x, total, statistics = actions, jnp.zeros(actions.shape[1]), []
        encoders = self._each(self.encoders)
        hidden = self._each([e.hidden_columns(contexts) for e in self.encoders])
        for i, coupling in enumerate(self.couplings):
            x, log_det = coupling.forward_columns(x, encoders[i], hidden[i])
            total += log_det
            if self.norms:
                statistics.append((x.mean(axis=1), x.var(axis=1)))
                x, log_det = jax.vmap(
                    self.norms[i].forward, (1, None, None), (1, None)
                )(x, *statistics[-1])
                total += log_det
        return x, total, statistics
