"""Export: a prior, a policy or a mixture that acts without sfp."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sfp import __version__
from sfp.agents.controller import Greedy, Warped
from sfp.bridges.graph import Graph, Ref, Value
from sfp.bridges.layers import executed, mlp, propose, shaken, warped
from sfp.bridges.mixture import Mixed, read_mixture
from sfp.bridges.onnx_file import check_onnx, packages, to_onnx
from sfp.bridges.plain import FIXED, Controller
from sfp.errors import SfpError
from sfp.files import atomic_folder
from sfp.nets.encoder import Flat
from sfp.priors.base import Prior
from sfp.priors.store import WEIGHTS, load_prior, shipped
from sfp.training.trained import Trained

FORMAT = 1
NONE = np.zeros(0, np.float32)


@dataclass
class Exported:
    """A graph and what its user must know.

    Attributes:
        graph: from inputs to `action`, in the environment's units.
        notes: sizes, bounds, origin; plain JSON.
        seeds: past actions from the data, to begin episodes with.
    """

    graph: Graph
    notes: dict[str, Any]
    seeds: np.ndarray = field(default_factory=lambda: np.zeros((1, 0, 1), np.float32))


def export(
    what: Prior | Trained | str | Path,
    out: str | Path,
    *,
    prior: Prior | str | Path | None = None,
    onnx: bool = False,
    force: bool = False,
) -> Path:
    """Write a folder that acts without sfp: `controller.npz`, `.py`, and `.onnx`.

    Args:
        what: a prior, a trained policy, or the folder of either; a run's folder works.
        out: the folder to make, whole or not at all.
        prior: with the folder of an SFP run, the prior that it was trained with: the
            mixture of policy and prior is exported, as it explored in the end.
        onnx: write `controller.onnx` too, checked against onnxruntime.
        force: replace what is there.
    """
    if onnx:
        packages()
    made = describe(what, prior)
    graph, notes = made.graph, made.notes
    if not isinstance(graph.outputs.get("action"), Ref):
        raise SfpError("this prior always proposes the same action: nothing to export.")
    notes |= {
        "format": FORMAT,
        "sfp": __version__,
        "inputs": graph.inputs,
        "outputs": {name: ref.name for name, ref in graph.outputs.items()},
        "nodes": [list(node) for node in graph.nodes],
    }
    with atomic_folder(Path(out), force=force) as draft:
        text = np.frombuffer(json.dumps(notes).encode(), np.uint8)
        arrays: dict[str, Any] = graph.constants | {"notes": text, "seeds": made.seeds}
        np.savez(draft / "controller.npz", **arrays)
        plain = resources.files("sfp.bridges") / "plain.py"
        (draft / "controller.py").write_bytes(plain.read_bytes())
        inputs = probe(graph)
        expected = Controller(draft / "controller.npz").run(**inputs)
        if not np.isfinite(expected["action"]).all():
            raise SfpError("it gives no finite action: do not trust it.")
        if onnx:
            about = {k: json.dumps(v) for k, v in notes.items() if k != "nodes"}
            content = to_onnx(graph, about)
            half = (np.array(notes["high"]) - np.array(notes["low"])) / 2
            check_onnx(content, inputs, expected, half)
            (draft / "controller.onnx").write_bytes(content)
    return Path(out)


def describe(
    what: Prior | Trained | str | Path, prior: Prior | str | Path | None = None
) -> Exported:
    """The graph of what a user means."""
    if prior is not None:
        if not isinstance(what, str | Path):
            raise SfpError(
                "a mixture needs the folder of a run: its λ is in the checkpoint."
            )
        return _of_mixture(read_mixture(Path(what), prior))
    held = _found(what) if isinstance(what, str | Path) else what
    return _of_prior(held) if isinstance(held, Prior) else _of_policy(held)


def probe(graph: Graph, count: int = 64) -> dict[str, np.ndarray]:
    """Inputs to compare runtimes by."""
    rng = np.random.default_rng(0)
    return {
        name: rng.random((count, width), np.float32)
        if name in FIXED
        else 0.5 * rng.standard_normal((count, width), np.float32)
        for name, width in graph.inputs.items()
    }


def _found(what: str | Path) -> Prior | Trained:
    path = Path(what)
    for folder in (path, path / "policy"):
        if (folder / "policy.safetensors").is_file():
            return Trained.load(path)
    if (path / WEIGHTS).is_file() or str(what) in shipped():
        return load_prior(what)
    raise SfpError(
        f"{what} holds neither a prior nor a trained policy: expected what `sfp fit` "
        "or a run of `sfp train` that has ended wrote."
    )


def _of_prior(prior: Prior) -> Exported:
    graph = Graph()
    low, high = (np.asarray(x) for x in (prior.frame.low, prior.frame.high))
    past = _past(graph, prior)
    size = len(prior.frame.state_mean)
    state = graph.input("observation", size) if size else NONE
    _output(graph, "action", propose(graph, prior, past, state))
    notes = _notes("prior", low, high, [prior.dims], "float32")
    notes |= {"past_actions": prior.conditioning.past_actions}
    notes |= {"observation": {"": [size]} if size else {}}
    return Exported(graph, notes, np.asarray(prior.seeds, np.float32))


def _of_policy(trained: Trained) -> Exported:
    spec, held, graph = trained.spec, trained.controller, Graph()
    if not isinstance(held, Greedy | Warped):
        raise SfpError(
            f"a {type(held).__name__} controller cannot be exported: expected a policy "
            "or prior of actions. Load it where sfp is installed, with "
            "`sfp.Trained.load`."
        )
    if not isinstance(held.encoder, Flat):
        raise SfpError(
            f"this policy of {spec.task} sees images: only policies of states and "
            "goals can be exported."
        )
    low, high = np.array(spec.low, np.float32), np.array(spec.high, np.float32)
    seen = graph.input("observation", spec.obs_size + spec.goal_size)
    noise = graph.input("noise", len(low))
    unit = shaken(graph, held.policy, seen, noise)
    notes = _notes("policy", low, high, spec.action_shape, spec.action_type)
    notes |= {"task": spec.task, "method": spec.method, "observation": spec.inputs}
    notes |= {"past_actions": 0}
    seeds = np.zeros((1, 0, len(low)), np.float32)
    if isinstance(held, Warped):
        flow = held.prior
        notes["past_actions"] = flow.conditioning.past_actions
        past = _past(graph, flow)
        if isinstance(past, Ref):  # the flow knows actions in [-1, 1]
            k = flow.conditioning.past_actions
            middle, half = np.tile((low + high) / 2, k), np.tile((high - low) / 2, k)
            past = graph.do("divide", graph.do("subtract", past, middle), half)
        size = len(flow.frame.state_mean)
        state = graph.slice(seen, 0, size) if size else NONE
        unit = warped(graph, flow, unit, past, state)
        seeds = low + (high - low) * (np.asarray(flow.seeds) + 1) / 2
    _output(graph, "action", _rounded(graph, executed(graph, unit, low, high), spec))
    return Exported(graph, notes, np.asarray(seeds, np.float32))


def _of_mixture(mixed: Mixed) -> Exported:
    trained, prior, graph = mixed.trained, mixed.prior, Graph()
    made = _of_policy(trained)
    spec = trained.spec
    low, high = np.array(spec.low, np.float32), np.array(spec.high, np.float32)
    seen = graph.input("observation", spec.obs_size + spec.goal_size)
    size = len(prior.frame.state_mean)
    state = graph.slice(seen, 0, size) if size else NONE
    proposal = propose(graph, prior, _past(graph, prior), state)
    unit = shaken(graph, trained.policy, seen, graph.input("policy_noise", len(low)))
    own = executed(graph, unit, low, high)
    if mixed.fixed is None:
        mixing = graph.do("sigmoid", mlp(graph, mixed.mixing, [seen]))
    else:
        none = graph.do("multiply", graph.slice(seen, 0, 1), np.array(0, np.float32))
        mixing = graph.do("add", none, np.array(mixed.fixed, np.float32))
    by_prior = graph.do("less", graph.input("coin", 1), mixing)
    action = graph.do("where", by_prior, proposal, own, width=len(low))
    _output(graph, "action", _rounded(graph, action, spec))
    _output(graph, "mixing", mixing)
    notes = made.notes | {"kind": "mixture", "commit": mixed.commit}
    notes |= {"past_actions": prior.conditioning.past_actions}
    return Exported(graph, notes, np.asarray(prior.seeds, np.float32))


def _past(graph: Graph, prior: Prior) -> Value:
    count = prior.conditioning.past_actions * prior.dims
    return graph.input("past", count) if count else NONE


def _rounded(graph: Graph, action: Value, spec: Any) -> Value:
    whole = np.issubdtype(np.dtype(spec.action_type), np.integer)
    return graph.do("round", action) if whole else action


def _output(graph: Graph, name: str, value: Value) -> None:
    if isinstance(value, Ref):
        graph.outputs[name] = value


def _notes(
    kind: str, low: np.ndarray, high: np.ndarray, shape: list[int], number: str
) -> dict[str, Any]:
    return {
        "kind": kind,
        "low": [float(x) for x in low],
        "high": [float(x) for x in high],
        "action_shape": shape,
        "action_type": number,
    }
