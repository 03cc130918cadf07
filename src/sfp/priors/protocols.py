"""What the fitter, the store and the agents call on a density model.

A model is a tree of arrays, as an `equinox.Module` is. `Model` is what every model must
have; each of the other protocols is one more thing that a model can do. A class or
factory builds it from `(dims, context, *, key)`; further keyword arguments with
defaults are welcome.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.errors import SfpError

Action: TypeAlias = Float[Array, " dims"]
Context: TypeAlias = Float[Array, " context"]
Actions: TypeAlias = Float[Array, "batch dims"]
Contexts: TypeAlias = Float[Array, "batch context"]
Scalar: TypeAlias = Float[Array, ""]


@runtime_checkable
class Model(Protocol):
    """A conditional distribution over scaled actions; one action, one context.

    Actions come scaled to [-1, 1] by the action bounds, past actions in a context
    likewise, and states standardised. Callers `vmap`.
    """

    def sample(self, key: PRNGKeyArray, context: Context) -> Action:
        """One action; it may lie a little outside [-1, 1]."""
        ...

    def log_prob(self, action: Action, context: Context) -> Scalar:
        """Log density in nats."""
        ...


@runtime_checkable
class HasLoss(Protocol):
    """A model fitted by another loss than its negative log-likelihood."""

    def loss(self, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Scalar:
        """What gradient steps decrease."""
        ...


@runtime_checkable
class Solves(Protocol):
    """A model fitted in one call instead of by gradient steps."""

    def solve(
        self, actions: np.ndarray, contexts: np.ndarray, rng: np.random.Generator
    ) -> Any:
        """The same model, fitted to these samples."""
        ...


@runtime_checkable
class Settles(Protocol):
    """A model with statistics of the data that are taken after every epoch."""

    def settle(self, actions: Actions, contexts: Contexts) -> Any:
        """The same model with the statistics of these samples."""
        ...


@runtime_checkable
class InNumPy(Protocol):
    """A model that samples one action at a time faster without JAX."""

    @property
    def numbers(self) -> int:
        """How many uniform numbers a sample takes."""
        ...

    def in_numpy(self) -> Callable[[np.ndarray, np.ndarray], Any]:
        """The sample that uniform numbers in [0, 1) and a context make."""
        ...


@runtime_checkable
class Tempers(Protocol):
    """A model that can be made sharper or broader than it was fitted."""

    def temper(self, temperature: float) -> Any:
        """The same model, broader above 1 and sharper below."""
        ...


@dataclass(frozen=True)
class Traits:
    """What is special about a model.

    Attributes:
        is_density: False for a point mass, whose `log_prob` is not looked at; such a
            model is judged by its `loss`.
        frozen: names of the fields that gradient steps leave alone.
        edge: actions are clipped to ± this before the model sees them in a fit.
    """

    is_density: bool = True
    frozen: tuple[str, ...] = ()
    edge: float = math.inf


@runtime_checkable
class HasTraits(Protocol):
    """A model that is special in some way."""

    traits: ClassVar[Traits]


def traits_of(model: Any) -> Traits:
    """The traits that a model or its class states, else the usual ones."""
    traits = model.traits if isinstance(model, HasTraits) else Traits()
    if not isinstance(traits, Traits):
        raise SfpError(
            f"the traits of {type(model).__name__} are a {type(traits).__name__}: "
            "expected sfp.priors.protocols.Traits."
        )
    return traits


def partition(model: Any) -> tuple[Any, Any]:
    """Split a model into the part that the optimiser moves and the rest."""
    learned = jax.tree.map(eqx.is_inexact_array, model)
    for name in traits_of(model).frozen:
        learned = eqx.tree_at(
            lambda tree, n=name: getattr(tree, n), learned, replace=False
        )
    return eqx.partition(model, learned)


def loss_of(model: Any, key: PRNGKeyArray, actions: Actions, contexts: Contexts) -> Any:
    """The model's own loss, or its negative log-likelihood; one number for a batch."""
    if isinstance(model, HasLoss):
        return model.loss(key, actions, contexts)
    return -jax.vmap(model.log_prob)(actions, contexts).mean()
