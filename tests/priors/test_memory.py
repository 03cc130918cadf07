"""The prior with memory: against a convolution written as a loop, and in NumPy."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.priors.memory import Memory
from sfp.priors.protocols import partition


def make(dims=2, past=5, **sizes):
    sizes = {"width": 6, "products": 2, "kernels": 2} | sizes
    return Memory(dims, dims * past, key=jax.random.key(0), **sizes)


def slowly(model, context):
    """All outputs of every dilated causal convolution; the last one counts."""
    actions = np.asarray(context).reshape(-1, model.dims)
    length = 2 ** len(model.joins)
    x = np.concatenate([np.zeros((length - len(actions), model.dims)), actions])
    for level, join in enumerate(model.joins):
        weight, bias = np.asarray(join.weights[0]), np.asarray(join.biases[0])
        out = np.zeros((length, weight.shape[1]))
        for t in range(2**level, length):
            both = np.concatenate([x[t - 2**level], x[t]])
            out[t] = np.maximum(both @ weight + bias, 0.0) + (x[t] if level else 0.0)
        x = out
    return np.concatenate([x[-1], np.asarray(context)[-2 * model.dims :]])


@pytest.mark.slow
@pytest.mark.parametrize("past", [1, 2, 5, 16, 33])
def test_it_remembers_as_a_dilated_convolution_does(past):
    model = make(past=past)
    context = np.random.default_rng(past).uniform(-1, 1, 2 * past).astype(np.float32)
    plain = jax.tree.map(np.asarray, model).remember(context)
    np.testing.assert_allclose(plain, slowly(model, context), atol=1e-5)
    np.testing.assert_allclose(model.remember(jnp.asarray(context)), plain, atol=1e-5)


@pytest.mark.slow
def test_every_past_action_counts_and_a_batch_is_many_contexts():
    model = make(past=16, width=32)
    contexts = jax.random.uniform(jax.random.key(1), (3, 32), minval=-1.0)
    actions = jax.random.uniform(jax.random.key(2), (3, 2), minval=-1.0)
    each = jax.jit(jax.vmap(model.log_prob))(actions, contexts)
    loss = jax.jit(lambda *pair: model.loss(jax.random.key(0), *pair))(
        actions, contexts
    )
    assert float(loss) == pytest.approx(-float(each.mean()), abs=1e-4)
    moved = jax.jit(jax.grad(lambda c: model.remember(c).sum()))(contexts[0])
    assert (np.abs(moved).reshape(16, 2).sum(axis=1) > 0).all()


@pytest.mark.slow
def test_numpy_draws_what_jax_draws_and_quickly():
    model = Memory(6, 6 * 32, key=jax.random.key(0))
    rng = np.random.default_rng(0)
    uniform = rng.random((20, model.numbers), np.float32)
    contexts = rng.uniform(-1, 1, (20, 6 * 32)).astype(np.float32)
    draw = model.in_numpy()
    ours = np.array([draw(*pair) for pair in zip(uniform, contexts, strict=True)])
    theirs = jax.jit(jax.vmap(model.draw))(uniform, contexts)
    np.testing.assert_allclose(ours, theirs, atol=2e-4)
    took = []
    for pair in zip(uniform, contexts, strict=True):
        began = time.perf_counter()
        draw(*pair)
        took.append(time.perf_counter() - began)
    assert min(took) < 1e-3  # a tenth of that on a quiet core


def test_its_temperature_is_not_learned():
    model = make()
    learned, rest = partition(model)
    assert learned.head.temperature is None
    assert float(rest.head.temperature) == 1.0
    assert float(model.temper(0.5).temperature) == 0.5
