"""The table of density models: adding one is adding a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfp.errors import unknown
from sfp.priors.deterministic import Deterministic
from sfp.priors.gaussian import EDGE, Gaussian
from sfp.priors.lscde import LSCDE
from sfp.priors.realnvp import PARROT, RealNVP
from sfp.priors.vae import VAE


@dataclass(frozen=True)
class Entry:
    """A model: how to build it, and whether its `log_prob` is a density.

    Attributes:
        build: takes dims, context and a key.
        summary: one line for `sfp list`.
        is_density: False for a point mass.
        by_gradient: False if it is solved in closed form.
        frozen: names of the fields that are not learned by gradient.
        edge: actions are clipped to ± this before the model sees them.
    """

    build: Callable[..., Any]
    summary: str
    is_density: bool = True
    by_gradient: bool = True
    frozen: tuple[str, ...] = ()
    edge: float = math.inf


def _parrot(dims: int, context: int, *, key: Any) -> RealNVP:
    return RealNVP(dims, context, key=key, size=PARROT)


MODELS: dict[str, Entry] = {
    "realnvp": Entry(
        RealNVP,
        "conditional Real NVP flow, the paper's (default)",
        frozen=("means", "variances"),
    ),
    "parrot": Entry(
        _parrot,
        "Real NVP of PARROT's size with a 3 x 256 encoder",
        frozen=("means", "variances"),
    ),
    "vae": Entry(VAE, "conditional variational auto-encoder", frozen=("latents",)),
    "lscde": Entry(
        LSCDE, "least-squares conditional density estimation", by_gradient=False
    ),
    "deterministic": Entry(
        Deterministic, "the mean next action, without noise", is_density=False
    ),
    "gaussian": Entry(Gaussian, "tanh-Gaussian, for the KL baseline", edge=1 - EDGE),
}


def get_model(name: str) -> Entry:
    """The model of that name."""
    if name not in MODELS:
        raise unknown("model", name, MODELS, "See `sfp list models`.")
    return MODELS[name]
