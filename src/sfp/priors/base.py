"""A prior: a density model together with the units it speaks in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.envs.scale import ActionScale
from sfp.errors import SfpError
from sfp.priors.conditioning import Conditioning
from sfp.priors.models import Maker
from sfp.priors.protocols import Action, Context, Model, Scalar, Tempers

if TYPE_CHECKING:
    from sfp.priors.acting import ActionSampler

Given = Array | np.ndarray
"""What users may pass."""

GivenAction: TypeAlias = Float[Given, " dims"]
GivenContext: TypeAlias = Float[Given, " context"]

CLAMP = 0.99
"""Samples keep to this share of the action range, as in the authors' code."""


class Frame(eqx.Module):
    """Units: actions to [-1, 1] by their bounds, states to mean 0 and deviation 1."""

    low: Float[Array, " dims"]
    high: Float[Array, " dims"]
    state_mean: Float[Array, " state"]
    state_deviation: Float[Array, " state"]

    @property
    def scale(self) -> ActionScale:
        return ActionScale(self.low, self.high)

    def scale_context(self, context: Context) -> Context:
        """Past actions and the state behind them, in the model's units."""
        count = len(context) - len(self.state_mean)
        past = context[:count].reshape(-1, len(self.low))
        state = (context[count:] - self.state_mean) / self.state_deviation
        return jnp.concatenate([self.scale.to_unit(past).ravel(), state])


class Prior(eqx.Module):
    """π̄(a | context) in the environment's units; callers `vmap`.

    Attributes:
        model: the density.
        frame: its units.
        seeds: past actions from the data, to begin episodes with.
        conditioning: what a context is made of.
        names: of the dimensions of an action, if known.
        maker: how the model was built, if known; a folder keeps it.
    """

    model: Model
    frame: Frame
    seeds: Float[Array, "seeds past dims"]
    conditioning: Conditioning = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True, default=())
    maker: Maker | None = eqx.field(static=True, default=None)

    @property
    def dims(self) -> int:
        """Size of an action."""
        return len(self.frame.low)

    @property
    def context_size(self) -> int:
        """Size of a context."""
        return self.conditioning.past_actions * self.dims + len(self.frame.state_mean)

    def sample(self, key: PRNGKeyArray, context: GivenContext) -> Action:
        """One action, within 0.99 of the action range."""
        action = self.model.sample(key, self.scaled(context))
        return self.frame.scale.from_unit(jnp.clip(action, -CLAMP, CLAMP))

    def log_prob(self, action: GivenAction, context: GivenContext) -> Scalar:
        """Log density of the unclamped model at an action, in nats."""
        scaled = self.frame.scale.to_unit(jnp.asarray(action))
        density = self.model.log_prob(scaled, self.scaled(context))
        return density - jnp.log(self.frame.scale.half).sum()

    def sampler(self, seed: int = 0) -> ActionSampler:
        """What draws one action at a time, NumPy in and NumPy out.

        A flow needs no JAX for that, and a call takes a tenth of a millisecond.
        """
        from sfp.priors.acting import ActionSampler

        return ActionSampler(self, seed)

    def tempered(self, temperature: float) -> Prior:
        """The same prior, sampled broader (above 1) or sharper (below) than fitted."""
        check_temperature(temperature)
        if not isinstance(self.model, Tempers):
            raise SfpError(
                f"a {type(self.model).__name__} has no temperature: expected a prior "
                "of --model mixture or realnvp."
            )
        model = self.model.temper(temperature)
        return eqx.tree_at(lambda prior: prior.model, self, model)

    def context(
        self, history: Float[Given, ...], state: Float[Given, " state"]
    ) -> Context:
        """What this prior sees of the last actions, flat or not, and of a state."""
        seen = jnp.asarray(state)[: len(self.frame.state_mean)]
        return self.conditioning.context(jnp.asarray(history), seen)

    def scaled(self, context: GivenContext) -> Context:
        """A context in the model's units."""
        if len(context) != self.context_size:
            raise SfpError(
                f"this prior sees {self.conditioning}, {self.context_size} numbers; "
                f"received a context of {len(context)}."
            )
        return self.frame.scale_context(jnp.asarray(context))


def check_temperature(temperature: float) -> None:
    if not 0 < temperature < math.inf:
        raise SfpError(f"expected a temperature above 0, received {temperature}.")


def unit_prior(prior: Prior) -> Prior:
    """The same prior over actions scaled to [-1, 1] by its bounds."""
    frame = prior.frame
    seeds = frame.scale.to_unit(prior.seeds)
    ones = np.ones(prior.dims, np.float32)
    unit = eqx.tree_at(
        lambda frame: (frame.low, frame.high),
        frame,
        (jnp.asarray(-ones), jnp.asarray(ones)),
    )
    return eqx.tree_at(lambda p: (p.frame, p.seeds), prior, (unit, seeds))
