"""What gradient steps need of a model: the part that moves, and its loss."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from sfp.priors.protocols import Actions, Contexts, HasLoss, traits_of


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
