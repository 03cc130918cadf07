"""The table of density models, and how a model from outside gets into it."""

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sfp.documents import parse_json
from sfp.errors import SfpError, at_least, unknown
from sfp.outside import call, check_callable, register
from sfp.priors.deterministic import Deterministic
from sfp.priors.gaussian import Gaussian
from sfp.priors.lscde import LSCDE
from sfp.priors.memory import Memory
from sfp.priors.mixture import Mixture
from sfp.priors.protocols import Model
from sfp.priors.realnvp import PARROT, RealNVP
from sfp.priors.seeing import Seeing
from sfp.priors.skills import Skills, open_skills
from sfp.priors.vae import VAE

DEFAULT = "realnvp"
SIGNATURE = "(dims, context, *, key) that returns a model"


@dataclass(frozen=True)
class Entry:
    """A line of the table of models.

    `usual` has the fields of `Fitting` that the model's default preset changes.
    """

    build: Callable[..., Any]
    summary: str
    usual: Mapping[str, Any] = field(default_factory=dict)


def _parrot(dims: int, context: int, *, key: Any) -> RealNVP:
    return RealNVP(dims, context, key=key, size=PARROT)


MODELS: dict[str, Entry] = {
    "realnvp": Entry(RealNVP, "conditional Real NVP flow, the paper's (default)"),
    "mixture": Entry(
        Mixture,
        "mixture density network, fitted in a tenth of the flow's steps",
        {"epochs": 40, "epoch_steps": 200, "learning_rate": 5e-3, "patience": 40},
    ),
    "memory": Entry(
        Memory,
        "mixture behind dilated convolutions over 16 to 64 past actions",
        {"epochs": 40, "epoch_steps": 500, "learning_rate": 3e-3, "patience": 40},
    ),
    "parrot": Entry(_parrot, "Real NVP of PARROT's size with a 3 x 256 encoder"),
    "vae": Entry(VAE, "conditional variational auto-encoder"),
    "lscde": Entry(LSCDE, "least-squares conditional density estimation"),
    "deterministic": Entry(Deterministic, "the mean next action, without noise"),
    "gaussian": Entry(Gaussian, "tanh-Gaussian, for the KL baseline"),
}


SKILLS: dict[str, Entry] = {
    "skills": Entry(
        Skills,
        "SPiRL's skills, decoded from the state at every step (closed loop)",
        {"epochs": 20, "batch": 128},
    ),
    "skills-open": Entry(
        open_skills,
        "SPiRL's skills, decoded at once (open loop); --state for a prior that sees it",
        {"epochs": 20, "batch": 128},
    ),
}
"""Models of windows of actions, for method spirl; no other method takes them."""


def sized(model: str, **sizes: int | None) -> Any:
    """A model of skills with another horizon or latent; None leaves the usual one."""
    given = {name: size for name, size in sizes.items() if size is not None}
    if not given:
        return model
    if model not in SKILLS:
        raise SfpError(
            f"{' and '.join(given)}: these are sizes of skills, and the model is "
            f"{model}. Leave them out, or fit --model skills."
        )
    at_least(1, **given)
    return functools.partial(SKILLS[model].build, **given)


SEEING: dict[str, Entry] = {
    "parrot-image": Entry(
        Seeing,
        "PARROT's flow behind an encoder of images, for method parrot-image",
        {"epochs": 20, "epoch_steps": 250, "batch": 256, "patience": 20},
    ),
}
"""Models that see images."""


def known_models() -> dict[str, Entry]:
    """All models: densities of an action, skills, and what sees images."""
    return {**MODELS, **SKILLS, **SEEING}


def usual_model(preset: str) -> str:
    """What is fitted unless a model is named: with the paper's protocol, its flow."""
    return "realnvp" if preset == "paper" else DEFAULT


OURS = frozenset(entry.build for entry in known_models().values())
"""Factories that need no probing before a fit."""


def register_model(name: str, build: Any, *, summary: str = "from outside") -> None:
    """Give a density model of your own a name, in this process.

    `sfp.fit(..., model=name)` and `sfp fit --model name` then know it, and priors of it
    can be saved and loaded.

    Args:
        name: that no other model has.
        build: a class or factory, called as `build(dims, context, key=key)`; see
            `sfp.priors.protocols` for what it returns.
        summary: one line for `sfp list models`.
    """
    check_callable(f"the model {name!r}", build, SIGNATURE)
    register(MODELS, "model", name, Entry(build, summary))


def get_model(name: str) -> Entry:
    known = known_models()
    if name not in known:
        raise unknown("model", name, known, "See `sfp list models`.")
    return known[name]


@dataclass(frozen=True)
class Maker:
    """How a model is built: a class or factory, and its keyword arguments as JSON."""

    build: Callable[..., Any]
    arguments: str = "{}"

    @property
    def name(self) -> str | None:
        """The registered name, which a folder keeps in place of code."""
        known = known_models().items()
        return next((name for name, e in known if e.build is self.build), None)

    @property
    def usual(self) -> Mapping[str, Any]:
        """How it is fitted by default, where that differs from other models."""
        return get_model(self.name).usual if self.name else {}

    @property
    def label(self) -> str:
        build = self.build
        while isinstance(build, functools.partial):
            build = build.func
        return self.name or getattr(build, "__name__", type(build).__name__)

    def __call__(self, dims: int, context: int, *, key: Any) -> Any:
        given = parse_json(self.arguments)
        what = f"the model {self.label}, built from (dims, context, key=key)"
        return call(what, self.build, dims, context, key=key, **given)


class Given:
    """The factory of a model that exists already."""

    def __init__(self, model: Any):
        self.model, self.__name__ = model, type(model).__name__

    def __call__(self, dims: int, context: int, *, key: Any) -> Any:
        return self.model


def find_maker(model: Any) -> Maker:
    """How to build what a user means: a name, a class or factory, or an instance.

    A `functools.partial` of a class states further arguments. An instance must have the
    sizes of the data.
    """
    if isinstance(model, str):
        return Maker(get_model(model).build)
    made = isinstance(model, Model) and not isinstance(model, type)
    if made or not callable(model):
        return Maker(Given(model))
    if isinstance(model, functools.partial) and not (model.args or Maker(model).name):
        try:
            given = json.dumps(model.keywords, sort_keys=True, allow_nan=False)
            return Maker(model.func, given)
        except (TypeError, ValueError):  # such arguments serve a fit, not a folder
            return Maker(model)
    return Maker(model)
