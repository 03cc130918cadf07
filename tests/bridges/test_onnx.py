"""The real onnxruntime says the same as sfp, and both act fast enough for a robot."""

import time

import numpy as np
import onnxruntime
import pytest

import sfp
from exported import CASES, by_jax, make_prior, make_trained, observations
from sfp.bridges.export import describe, probe
from sfp.bridges.plain import Controller
from sfp.priors.base import unit_prior


def session(folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    path = folder / "controller.onnx"
    return onnxruntime.InferenceSession(path, options)


@pytest.mark.parametrize(("model", "past", "state", "dims"), CASES)
def test_priors_agree_with_jax(model, past, state, dims, tmp_path):
    prior = make_prior(model, past=past, state=state, dims=dims)
    sfp.export(prior, tmp_path / "out", onnx=True)
    given = probe(describe(prior).graph)
    (made,) = session(tmp_path / "out").run(["action"], given)
    half = np.asarray(prior.frame.scale.half)
    np.testing.assert_allclose(made / half, by_jax(prior, given) / half, atol=1e-5)


@pytest.mark.parametrize("flow", [None, "past", "state"])
def test_policies_agree_with_predict(flow, tmp_path):
    past, state = (2, 0) if flow == "past" else (0, 3)
    prior = unit_prior(make_prior("realnvp", past=past, state=state, dims=2))
    trained = make_trained(prior if flow else None)
    sfp.export(trained, tmp_path / "out", onnx=True)
    run = session(tmp_path / "out")
    trained.reset()
    seen = observations(1)[0]
    flat = np.concatenate([seen["observation"], seen["desired_goal"]])
    given = {"observation": flat[None].astype(np.float32)}
    given["noise"] = np.zeros((1, 2), np.float32)
    if flow == "past":
        low, high = (np.array(b) for b in (trained.spec.low, trained.spec.high))
        given["past"] = (low + (high - low) * (trained._memory + 1) / 2).reshape(1, -1)
        given["past"] = given["past"].astype(np.float32)
    (made,) = run.run(["action"], given)
    np.testing.assert_allclose(made[0], trained.predict(seen), atol=1e-5)
    about = run.get_modelmeta().custom_metadata_map
    assert about["kind"] == '"policy"'


def test_a_mixture_from_a_run(tmp_path):
    sfp.train(
        "room",
        prior="room",
        out=tmp_path / "run",
        steps=300,
        warmup=100,
        update_after=100,
        batch=8,
        width=16,
        mixing_width=8,
        eval_every=300,
        eval_episodes=1,
    )
    sfp.export(tmp_path / "run", tmp_path / "out", prior="room", onnx=True)
    given = probe(describe(tmp_path / "run", "room").graph)
    action, mixing = session(tmp_path / "out").run(["action", "mixing"], given)
    controller = Controller(tmp_path / "out" / "controller.npz")
    plain = controller.run(**given)
    np.testing.assert_allclose(action, plain["action"], atol=1e-5)
    np.testing.assert_allclose(mixing, plain["mixing"], atol=1e-5)
    assert 0.9 < mixing.mean() < 0.99
    by_prior = {k: v for k, v in given.items() if k in ("past", "noise")}
    prior = sfp.load_prior("room")
    taken = (given["coin"] < mixing)[:, 0]
    assert 0.7 < taken.mean() < 1
    np.testing.assert_allclose(action[taken], by_jax(prior, by_prior)[taken], atol=1e-5)
    with pytest.raises(sfp.SfpError, match="trained with another prior"):
        sfp.export(tmp_path / "run", tmp_path / "no", prior=make_prior("realnvp"))


def test_a_thousand_actions_a_second(tmp_path):
    """On one core, with a bar of a millisecond each: the median, for machines vary."""
    sfp.export("room", tmp_path / "out", onnx=True)
    controller = Controller(tmp_path / "out" / "controller.npz")
    taken = []
    for _ in range(500):
        begin = time.perf_counter()
        controller.act()
        taken.append(time.perf_counter() - begin)
    assert np.median(taken) < 1e-3
