"""PARROT on images: a flow whose context is what one encoder sees in an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.errors import SfpError
from sfp.nets.encoder import LATENT, Patches
from sfp.observation import Spec
from sfp.priors.protocols import Action, Actions, Context, Contexts, Scalar
from sfp.priors.realnvp import PARROT, RealNVP


class Seeing(eqx.Module):
    """A flow of PARROT's size behind an encoder that all its couplings share.

    A context is an image, flat, in [0, 1].
    """

    encoder: Patches
    flow: RealNVP
    shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        dims: int,
        context: int,
        *,
        key: PRNGKeyArray,
        shape: Sequence[int] = (64, 64, 3),
    ):
        if len(shape) != 3 or math.prod(shape) != context:
            raise SfpError(
                f"an image of shape {list(shape)} is not the context of {context} "
                "numbers: expected height, width, channels."
            )
        self.shape = tuple(int(n) for n in shape)
        encoder_key, flow_key = jax.random.split(key)
        self.encoder = Patches(Spec(0, dims, image=self.shape), key=encoder_key)
        self.flow = RealNVP(dims, LATENT, key=flow_key, size=PARROT)

    def log_prob(self, action: Action, context: Context) -> Scalar:
        return self.flow.log_prob(action, self.features(context))

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        return self.flow.sample(key, self.features(context))

    def forward(self, action: Action, context: Context) -> tuple[Action, Scalar]:
        return self.flow.forward(action, self.features(context))

    def inverse(self, noise: Action, context: Context) -> Action:
        return self.flow.inverse(noise, self.features(context))

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """Negative log-likelihood of a batch."""
        return self.flow.loss(key, actions, self.features(contexts))

    def features(self, context: Float[Array, "*lead pixels"]) -> Any:
        """What the encoder sees; leading axes are free."""
        return self.encoder.see(context.reshape(*context.shape[:-1], *self.shape))
