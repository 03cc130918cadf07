"""Keeping priors: a folder of safetensors and JSON that runs no code when loaded."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from sfp.arrays import load_tree, save_tree
from sfp.documents import as_record, parse_json, read_json
from sfp.errors import SfpError, unknown
from sfp.files import atomic_folder, verify_checksums, write_json
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.models import SEEING, Maker, get_model, known_models
from sfp.priors.probe import check_alike

FORMAT = 2
WEIGHTS = "prior.safetensors"
CONFIG = "config.json"
LARGEST = 100_000
"""No size in a config may exceed this: a forged one must not exhaust the memory."""


@dataclass(frozen=True)
class Card:
    """What a prior's folder says about it.

    The score is the held-out log-likelihood in nats, or minus the squared error for a
    model without density. `arguments` are those that the model was built with beyond
    its sizes.
    """

    model: str
    past_actions: int
    state: bool
    dims: int
    state_size: int
    seeds: int
    low: list[float]
    high: list[float]
    rate: float | None = None
    data: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT
    names: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def conditioning(self) -> Conditioning:
        image = self.model in SEEING
        return Conditioning(self.past_actions, self.state, image)


def save_prior(
    folder: Path,
    prior: Prior,
    card: Card,
    *,
    force: bool = False,
    extras: Callable[[Path], None] = lambda folder: None,
) -> None:
    """Write a prior's folder, whole or not at all; `extras` adds files to its draft."""
    with atomic_folder(folder, force=force) as draft:
        save_tree(draft / WEIGHTS, prior)
        write_json(draft / CONFIG, asdict(card))
        extras(draft)


def make_card(prior: Prior) -> Card:
    """A card with only what the prior itself tells."""
    past, dims = prior.seeds.shape[1:]
    low, high = (np.asarray(b).tolist() for b in (prior.frame.low, prior.frame.high))
    size = len(prior.frame.state_mean)
    sizes = past, size > 0, dims, size, len(prior.seeds)
    maker = prior.maker if prior.maker and prior.maker.name else _guess(prior)
    return Card(
        str(maker.name),
        *sizes,
        low,
        high,
        names=list(prior.names),
        arguments=parse_json(maker.arguments),
    )


def _guess(prior: Prior) -> Maker:
    """A registered model that looks like a prior's, of which the maker is not known."""
    key = jax.random.key(0)
    for entry in known_models().values():
        maker = Maker(entry.build)
        with contextlib.suppress(SfpError):  # one from outside may refuse these sizes
            like = eqx.filter_eval_shape(maker, prior.dims, prior.context_size, key=key)
            check_alike(prior.model, like, "saving")
            return maker
    kind = prior.maker.label if prior.maker else type(prior.model).__name__
    raise SfpError(
        f"{kind} is none of the models of `sfp list models`, so that a folder could "
        f"not name it: call sfp.register_model('a-name', {kind}) before you save it; "
        "its arguments must be plain JSON."
    )


def load_prior(name: str | Path) -> Prior:
    """A prior from its folder, or one that ships with sfp by its name (`room`)."""
    prior, _ = open_prior(name)
    return prior


def open_prior(name: str | Path) -> tuple[Prior, Card]:
    """A prior and its card; every bit, shape and number is checked."""
    folder = find_prior(name)
    prior, card = _read(folder)
    for bound, stated in ((prior.frame.low, card.low), (prior.frame.high, card.high)):
        if not jnp.allclose(bound, jnp.asarray(stated, jnp.float32)):
            raise SfpError(f"{folder}: {CONFIG} and {WEIGHTS} disagree on the bounds.")
    probe = prior.context(prior.seeds[0], prior.frame.state_mean)
    sample = prior.sample(jax.random.key(0), probe)
    scales = prior.frame.state_deviation
    if not (jnp.isfinite(sample).all() and (scales > 0).all()):
        raise SfpError(f"{folder} proposes no finite action; do not trust this prior.")
    return prior, card


def fingerprint(prior: Prior) -> str:
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(prior):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()[:16]


def read_fingerprint(name: str | Path) -> str:
    prior, _ = _read(find_prior(name))
    return fingerprint(prior)


def shipped() -> list[str]:
    home = Path(str(resources.files("sfp.priors") / "pretrained"))
    return sorted(p.parent.name for p in home.glob(f"*/{CONFIG}"))


def find_shipped(name: str) -> Path:
    return Path(str(resources.files("sfp.priors") / "pretrained" / name))


def find_prior(name: str | Path) -> Path:
    if (Path(name) / CONFIG).is_file():
        return Path(name)
    if str(name) in shipped():
        return find_shipped(str(name))
    if Path(name).exists():
        raise SfpError(
            f"{name} is no prior: expected a folder with {CONFIG} and {WEIGHTS}, as "
            "`sfp fit ... --out` writes it."
        )
    raise unknown("prior", str(name), shipped(), "Or give the folder of one.")


def _read(folder: Path) -> tuple[Prior, Card]:
    verify_checksums(folder, CONFIG, WEIGHTS)
    card = read_card(folder / CONFIG)
    like = eqx.filter_eval_shape(_skeleton, card)
    return load_tree(folder / WEIGHTS, like, finite=True), card


def read_card(path: Path) -> Card:
    try:
        raw = read_json(path)
        if raw.get("format") != FORMAT:
            raise SfpError(
                f"{path} has format {raw.get('format')!r}, this version of sfp reads "
                f"{FORMAT}: fit the prior anew or use the sfp version it names."
            )
        card = as_record(Card, raw)
        sizes = card.past_actions, card.dims, card.state_size, card.seeds
        if not all(0 <= size <= LARGEST for size in sizes):
            raise ValueError(f"sizes {sizes} are not whole numbers up to {LARGEST}")
        if card.dims < 1:
            raise ValueError("an action has no dimensions")
        if card.model not in (known := known_models()):
            remedy = f"{path} names it: call sfp.register_model({card.model!r}, ...)"
            raise unknown("model", card.model, known, f"{remedy} before you load it.")
        if len(card.low) != card.dims or len(card.high) != card.dims:
            raise ValueError(f"expected {card.dims} action bounds")
        if bool(card.state_size) != card.state:
            raise ValueError("state and state_size contradict each other")
        if card.seeds < 1:
            raise ValueError("there are no seed contexts")
        if not all(a < b for a, b in zip(card.low, card.high, strict=True)):
            raise ValueError("the action bounds are not low < high")
        if len(card.names) not in (0, card.dims):
            raise ValueError(f"expected {card.dims} names of actions")
    except ValueError as error:
        raise SfpError(
            f"cannot read {path}: {str(error).splitlines()[0]}. The prior is damaged "
            "or not one of sfp's."
        ) from error
    return card


def _skeleton(card: Card) -> Prior:
    context = card.past_actions * card.dims + card.state_size
    maker = Maker(
        get_model(card.model).build, json.dumps(card.arguments, sort_keys=True)
    )
    model = maker(card.dims, context, key=jax.random.key(0))
    action, state = jnp.zeros(card.dims), jnp.zeros(card.state_size)
    seeds = jnp.zeros((card.seeds, card.past_actions, card.dims))
    frame = Frame(action, action, state, state)
    return Prior(model, frame, seeds, card.conditioning, tuple(card.names), maker)
