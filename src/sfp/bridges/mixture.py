"""The mixture of policy and prior that an SFP run ended with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from sfp.documents import read_json
from sfp.errors import SfpError
from sfp.nets.mlp import MLP
from sfp.priors.base import Prior
from sfp.priors.several import Given, as_prior
from sfp.priors.store import fingerprint
from sfp.tensors import load_arrays
from sfp.training.checkpoint import Checkpoints
from sfp.training.folder import CONFIG, check_run
from sfp.training.trained import Trained

WHERE = "['state'].mixing."
"""Where Λ's weights stand in a checkpoint."""


@dataclass(frozen=True)
class Mixed:
    """A policy, a prior in the environment's units, and λ between them.

    Attributes:
        trained: the policy.
        prior: that the run was trained with.
        mixing: Λ, from the features of an observation to a logit.
        fixed: λ if it was not learned.
        commit: steps, in the mean, that one toss decides who acts.
    """

    trained: Trained
    prior: Prior
    mixing: MLP
    fixed: float | None
    commit: float


def read_mixture(folder: Path, prior: Given) -> Mixed:
    trained = Trained.load(folder)
    if not (folder / CONFIG).is_file() or not (folder / "checkpoint").is_dir():
        raise SfpError(
            f"{folder} is no run: expected the folder of `sfp train --out`, its "
            "checkpoint holds λ."
        )
    check_run(folder)
    config = read_json(folder / CONFIG)
    options = config.get("options", {})
    if "mixing_start" not in options:
        raise SfpError(
            f"{folder} was trained by {config.get('method')}, which mixes no prior in: "
            "leave out --prior."
        )
    if " + " in str(config.get("prior")):
        raise SfpError(
            f"{folder} mixes several priors: only mixtures with one can be exported."
        )
    held = as_prior(prior, np.array(trained.spec.low), np.array(trained.spec.high))
    if fingerprint(held) != config.get("prior"):
        raise SfpError(
            f"{folder} was trained with another prior ({config.get('prior')}) than "
            f"this one ({fingerprint(held)}): give the one it was trained with."
        )
    if options.get("context", "executed") != "executed":
        raise SfpError(
            f"{folder} continues a stream of proposals of its own: only mixtures with "
            "--context executed can be exported."
        )
    return Mixed(
        trained,
        held,
        _mixing(folder / "checkpoint"),
        options.get("mixing_fixed"),
        options.get("commit") or 1.0,
    )


def _mixing(folder: Path) -> MLP:
    checkpoints = Checkpoints(folder)
    step = checkpoints.steps()[-1]
    checkpoints.meta(step)  # raises unless it is whole
    arrays, _ = load_arrays(folder / f"step-{step:09d}" / "state.safetensors")
    own = {k.removeprefix(WHERE): v for k, v in arrays.items() if k.startswith(WHERE)}
    weights = tuple(own[f"weights[{i}]"] for i in range(len(own) // 2))
    biases = tuple(own[f"biases[{i}]"] for i in range(len(own) // 2))
    sizes = [len(weights[0]), *(len(bias) for bias in biases)]
    like = eqx.filter_eval_shape(MLP, sizes, key=jax.random.key(0))
    made = eqx.tree_at(lambda net: (net.weights, net.biases), like, (weights, biases))
    return jax.tree.map(np.asarray, made)
