"""A first look at a user's model: what a fit would call, on a few samples."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from sfp.errors import SfpError
from sfp.outside import call
from sfp.priors.protocols import (
    HasLoss,
    Settles,
    Solves,
    loss_of,
    partition,
    traits_of,
)

NEEDED = {"sample": "(key, context)", "log_prob": "(action, context)"}


def check_model(
    model: Any,
    actions: Float[Array, "few dims"],
    contexts: Float[Array, "few context"],
    *,
    key: PRNGKeyArray,
) -> None:
    """Refuse a model from outside that a fit of such data would stumble over."""
    label = type(model).__name__
    _check_parts(model, label)
    keys = jax.random.split(key, len(actions))
    drawn = call(f"{label}.sample", jax.vmap(model.sample), keys, contexts)
    _check_numbers(drawn, actions.shape[1:], f"{label}.sample", lead=1)
    if traits_of(model).is_density:
        values = call(f"{label}.log_prob", jax.vmap(model.log_prob), actions, contexts)
        _check_numbers(values, (), f"{label}.log_prob", lead=1)
    if isinstance(model, Settles):
        settled = call(
            f"{label}.settle", eqx.filter_eval_shape, model.settle, actions, contexts
        )
        check_alike(settled, model, f"{label}.settle")
    if not isinstance(model, Solves):
        _check_loss(
            model,
            f"{label}.loss" if isinstance(model, HasLoss) else f"{label}.log_prob",
            (key, actions, contexts),
        )


def _check_parts(model: Any, label: str) -> None:
    for name, signature in NEEDED.items():
        if not callable(getattr(model, name, None)):
            raise SfpError(
                f"{label} is no model: it lacks {name}{signature}. Expected the "
                "methods of sfp.priors.protocols.Model."
            )
    traits = traits_of(model)
    if not (traits.is_density or isinstance(model, (HasLoss, Solves))):
        raise SfpError(
            f"{label} is no density: expected a loss to fit and judge it by."
        )
    for name in traits.frozen:
        if not hasattr(model, name):
            raise SfpError(f"{label} has no field {name!r}, which its traits freeze.")
    for leaf in jax.tree.leaves(model):
        if not eqx.is_array(leaf):
            raise SfpError(
                f"{label} holds a {type(leaf).__name__} where expected are arrays: "
                "derive it from equinox.Module, make its numbers arrays and mark other "
                "fields with equinox.field(static=True)."
            )


def _check_loss(model: Any, what: str, given: tuple[Any, ...]) -> None:
    learned, rest = partition(model)

    def loss(learned):
        return loss_of(eqx.combine(learned, rest), *given)

    _check_numbers(call(what, loss, learned), (), what)
    gradient = call(f"the gradient of {what}", jax.grad(loss), learned)
    for part in jax.tree.leaves(gradient):
        _check_numbers(part, part.shape, f"the gradient of {what}")


def _check_numbers(
    values: Any, shape: tuple[int, ...], what: str, *, lead: int = 0
) -> None:
    """Refuse another type or shape, behind `lead` axes of samples, or a NaN."""
    if not eqx.is_inexact_array(values):
        kind = (
            f"{values.dtype} numbers" if eqx.is_array(values) else type(values).__name__
        )
        raise SfpError(f"{what} returned {kind}: expected floats, as a JAX array.")
    if values.shape[lead:] != shape:
        raise SfpError(
            f"{what} returned shape {values.shape[lead:]}: expected {shape}, for one "
            "action and one context."
        )
    if not jnp.isfinite(values).all():
        bad = values.ravel()[jnp.argmin(jnp.isfinite(values).ravel())]
        raise SfpError(
            f"{what} returned {bad} on the data: expected finite numbers. If it is "
            "infinite at the action bounds, state an edge in its traits."
        )


def check_alike(changed: Any, model: Any, what: str) -> None:
    """Refuse a fitted model of another structure, which could not be kept."""
    same = jax.tree.structure(changed) == jax.tree.structure(model) and all(
        (a.shape, a.dtype) == (b.shape, b.dtype)
        for a, b in zip(jax.tree.leaves(changed), jax.tree.leaves(model), strict=True)
    )
    if not same:
        raise SfpError(
            f"{what} returned a {type(changed).__name__} of other arrays: expected the "
            "same model with other numbers."
        )
