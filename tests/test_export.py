"""What is exported acts as sfp does, with NumPy alone."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest

import sfp
from exported import CASES, by_jax, make_prior, make_trained, observations
from sfp.bridges.export import describe, probe
from sfp.bridges.graph import Graph
from sfp.bridges.layers import normal_quantile
from sfp.bridges.plain import Controller
from sfp.priors.base import Prior, unit_prior


def run(graph, given, tmp_path):
    notes = {"inputs": graph.inputs, "nodes": [list(node) for node in graph.nodes]}
    notes |= {"outputs": {k: v.name for k, v in graph.outputs.items()}}
    text = np.frombuffer(json.dumps(notes).encode(), np.uint8)
    path = tmp_path / "c.npz"
    np.savez(path, notes=text, seeds=np.zeros((1, 0, 1)), **graph.constants)
    bare = Controller.__new__(Controller)  # no whole controller: it only computes
    bare._load(path)
    return bare.run(**given)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "past", "state", "dims"), CASES)
def test_priors_propose_the_same(model, past, state, dims, tmp_path):
    prior = make_prior(model, past=past, state=state, dims=dims)
    made = describe(prior)
    given = probe(made.graph)
    actions = run(made.graph, given, tmp_path)["action"]
    expected = by_jax(prior, given)
    assert np.ptp(expected, axis=0).min() > 0.01
    np.testing.assert_allclose(actions, expected, atol=2e-5)
    one = {name: values[7] for name, values in given.items()}
    alone = run(made.graph, one, tmp_path)["action"]
    np.testing.assert_allclose(alone, expected[7], atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("flow", [None, "past", "state"])
def test_a_folder_acts_like_predict(flow, tmp_path):
    prior = None
    if flow:
        past, state = (2, 0) if flow == "past" else (0, 3)
        prior = unit_prior(make_prior("realnvp", past=past, state=state, dims=2))
    trained = make_trained(prior)
    sfp.export(trained, tmp_path / "out")
    controller = Controller(tmp_path / "out" / "controller.npz")
    trained.reset()
    if flow == "past":
        low, high = (np.array(b) for b in (trained.spec.low, trained.spec.high))
        controller.past = low + (high - low) * (trained._memory + 1) / 2
    for seen in observations():
        np.testing.assert_allclose(
            controller.act(seen), trained.predict(seen), atol=2e-5
        )


def test_whole_numbers_are_rounded(tmp_path):
    trained = make_trained(action_type="int32")
    sfp.export(trained, tmp_path / "out")
    controller = Controller(tmp_path / "out" / "controller.npz")
    for seen in observations():
        action = controller.act(seen)
        assert action.dtype == np.int32
        np.testing.assert_array_equal(action, trained.predict(seen))


def test_the_file_needs_numpy_only(tmp_path):
    sfp.export(make_trained(), tmp_path / "out")
    seen = {k: v.tolist() for k, v in observations(1)[0].items()}
    code = (
        "import sys; sys.path.insert(0, 'out'); from controller import Controller; "
        f"print(Controller().act({seen!r}).tolist()); "
        "print([m for m in ('sfp', 'jax', 'gymnasium') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    action, loaded = done.stdout.splitlines()
    np.testing.assert_allclose(
        json.loads(action), make_trained().predict(observations(1)[0]), atol=2e-5
    )
    assert loaded == "[]"


@pytest.mark.slow
def test_a_prior_remembers_what_was_executed(tmp_path):
    prior = make_prior("deterministic", dims=2)
    sfp.export(prior, tmp_path / "out")
    controller = Controller(tmp_path / "out" / "controller.npz")
    controller.reset(seed=3)
    first = controller.past.copy()
    assert any(np.array_equal(first, seed) for seed in np.asarray(prior.seeds))
    action = controller.act()
    np.testing.assert_array_equal(controller.past, [first[1], action])
    controller.remember([0.5, 0.25])
    np.testing.assert_array_equal(controller.past, [first[1], [0.5, 0.25]])
    expected = prior.sample(jax.random.key(0), controller.past.ravel())
    np.testing.assert_allclose(controller.act(), expected, atol=2e-5)


@pytest.mark.slow
def test_the_normal_quantile(tmp_path):
    graph = Graph()
    p = graph.input("p", 1)
    graph.outputs["z"] = normal_quantile(graph, p)  # pyright: ignore
    given = np.linspace(0.021, 0.979, 401, dtype=np.float32)[:, None]
    made = run(graph, {"p": given}, tmp_path)["z"]
    np.testing.assert_allclose(made, jax.scipy.special.ndtri(given), atol=3e-6)


class Strange:
    def sample(self, key, context):
        return context

    def log_prob(self, action, context):
        return action


@pytest.mark.slow
def test_one_line_for_what_cannot_be_exported(tmp_path, monkeypatch):
    prior = make_prior("gaussian")
    strange = Prior(Strange(), prior.frame, prior.seeds, prior.conditioning)
    with pytest.raises(sfp.SfpError, match="the model Strange cannot be exported"):
        sfp.export(strange, tmp_path / "out")
    with pytest.raises(sfp.SfpError, match="neither a prior nor a trained policy"):
        sfp.export(tmp_path, tmp_path / "out")
    with pytest.raises(sfp.SfpError, match="needs the folder of a run"):
        sfp.export(prior, tmp_path / "out", prior=prior)
    constant = make_prior("deterministic", past=0)
    with pytest.raises(sfp.SfpError, match="always proposes the same action"):
        sfp.export(constant, tmp_path / "out")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(sfp.SfpError, match="pip install"):
        sfp.export(prior, tmp_path / "out", onnx=True)
    assert not (tmp_path / "out").exists()
