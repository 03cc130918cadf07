"""A prior model from outside the package: fitted, saved, loaded, or refused."""

from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sfp
from sfp.data.trajectories import assemble
from sfp.priors import models
from sfp.priors.batches import DevicePairs, Samples
from sfp.priors.fit import Fitter, Fitting
from sfp.priors.gaussian import Gaussian
from sfp.priors.protocols import Traits
from sfp.priors.store import open_prior

pytestmark = pytest.mark.slow

QUICK = dict(epochs=2, epoch_steps=5, batch=16)


class Linear(eqx.Module):
    weights: jax.Array
    log_deviation: jax.Array
    count: jax.Array  # whole numbers are not learned

    def __init__(self, dims, context, *, key, spread=0.5):
        self.weights = 0.1 * jax.random.normal(key, (dims, context))
        self.log_deviation = jnp.full(dims, jnp.log(spread))
        self.count = jnp.zeros((), jnp.int32)

    def sample(self, key, context):
        noise = jax.random.normal(key, self.log_deviation.shape)
        return self.weights @ context + jnp.exp(self.log_deviation) * noise

    def log_prob(self, action, context):
        z = (action - self.weights @ context) * jnp.exp(-self.log_deviation)
        return (-0.5 * z**2 - self.log_deviation - 0.5 * jnp.log(2 * jnp.pi)).sum()


class Everything(Linear):
    """Has each optional capability but `solve`."""

    traits: ClassVar[Traits] = Traits(frozen=("log_deviation",), edge=0.5)

    def loss(self, key, actions, contexts):
        gap = actions - contexts @ self.weights.T
        return (gap * gap).sum(axis=1).mean()

    def settle(self, actions, contexts):
        return eqx.tree_at(lambda m: m.count, self, jnp.int32(len(actions)))


class Solved(Linear):
    def solve(self, actions, contexts, rng):
        weights = np.linalg.lstsq(contexts, actions, rcond=None)[0].T
        return eqx.tree_at(lambda m: m.weights, self, jnp.asarray(weights))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    walks = np.tanh(np.cumsum(0.3 * rng.standard_normal((20, 50, 2)), axis=1))
    walks = walks.astype(np.float32)
    return assemble([{"actions": walk} for walk in walks], source="test")


def same(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_class_is_fitted_by_its_likelihood(data):
    rows = []
    prior = sfp.fit(data, model=Linear, progress=rows.append, **QUICK)
    assert rows[1]["held_out"] > rows[0]["held_out"]
    assert prior.model.weights.shape == (2, 2)
    assert int(prior.model.count) == 0


def test_loss_settle_and_traits_are_used(data):
    built = Everything(2, 2, key=jax.random.key(3))
    fitter = Fitter(data, model=built, fitting=Fitting(**QUICK))
    same(fitter.begin().model, built)
    assert np.abs(fitter.batches.held.actions).max() == 0.5
    *_, (_, state) = fitter.epochs(fitter.begin())
    assert int(state.model.count) == len(fitter.batches.settling.actions)
    np.testing.assert_array_equal(state.model.log_deviation, built.log_deviation)
    assert (state.model.weights != built.weights).all()


def test_solve_replaces_gradient_steps(data):
    rows = []
    prior = sfp.fit(data, model=Solved, progress=rows.append, **QUICK)
    assert [row["steps"] for row in rows] == [0]
    assert float(prior.model.weights[0, 0]) == pytest.approx(1.0, abs=0.1)


def test_a_prior_comes_back_by_its_name_and_arguments(data, tmp_path):
    model = partial(Linear, spread=0.25)
    prior = sfp.fit(data, model=model, **QUICK)
    with pytest.raises(sfp.SfpError, match=r"Linear is none .* sfp.register_model"):
        sfp.save_prior(prior, tmp_path / "prior")
    sfp.register_model("linear", Linear)
    sfp.save_prior(prior, tmp_path / "prior")
    loaded, card = open_prior(tmp_path / "prior")
    assert (card.model, card.arguments) == ("linear", {"spread": 0.25})
    same(prior, loaded)
    sfp.save_prior(loaded, tmp_path / "copy")
    assert (tmp_path / "copy" / "config.json").read_bytes() == (
        tmp_path / "prior" / "config.json"
    ).read_bytes()
    models.MODELS.pop("linear")
    with pytest.raises(sfp.SfpError) as refused:
        sfp.load_prior(tmp_path / "prior")
    assert "sfp.register_model('linear', ...) before you load it" in str(refused.value)


def test_a_shipped_model_takes_arguments_too(data, tmp_path):
    prior = sfp.fit(data, model=partial(Gaussian, width=8), **QUICK)
    sfp.save_prior(prior, tmp_path / "prior")
    loaded, card = open_prior(tmp_path / "prior")
    assert (card.model, card.arguments) == ("gaussian", {"width": 8})
    same(prior, loaded)


def test_an_instance_is_saved_as_what_it_looks_like(data, tmp_path):
    sfp.register_model("linear", Linear)
    prior = sfp.fit(data, model=Linear(2, 2, key=jax.random.key(1)), **QUICK)
    sfp.save_prior(prior, tmp_path / "prior")
    same(sfp.load_prior(tmp_path / "prior").model, prior.model)


def test_arguments_that_are_no_json_can_be_registered(data, tmp_path):
    odd = partial(Linear, spread=np.float32(0.3))
    prior = sfp.fit(data, model=odd, **QUICK)
    with pytest.raises(sfp.SfpError, match="must be plain JSON"):
        sfp.save_prior(prior, tmp_path / "prior")
    sfp.register_model("odd", odd)
    sfp.save_prior(prior, tmp_path / "prior")
    assert open_prior(tmp_path / "prior")[1].model == "odd"


def test_the_command_line_knows_a_registered_model(tmp_path, capsys):
    from sfp.cli.fit import fit
    from sfp.cli.list import list_known

    sfp.register_model("linear", Linear, summary="mine, all mine")
    list_known("models")
    assert "mine, all mine" in capsys.readouterr().out
    walk = np.random.default_rng(0).uniform(-1, 1, (20, 30, 2)).astype(np.float32)
    np.save(tmp_path / "walk.npy", walk)
    given = dict(epochs=1, epoch_steps=2, batch=16)
    fit(str(tmp_path / "walk.npy"), out=tmp_path / "p", model="linear", **given)
    assert open_prior(tmp_path / "p")[1].model == "linear"


def test_names_are_given_once():
    sfp.register_model("linear", Linear)
    for taken in ("linear", "realnvp"):
        with pytest.raises(sfp.SfpError, match=f"the model '{taken}' is there"):
            sfp.register_model(taken, Linear)
    with pytest.raises(sfp.SfpError, match="cannot name a model"):
        sfp.register_model("../linear", Linear)
    with pytest.raises(sfp.SfpError, match="is a int: expected a callable"):
        sfp.register_model("three", 3)  # pyright: ignore[reportArgumentType]


class NoDensity(eqx.Module):
    def __init__(self, dims, context, *, key):
        pass

    def sample(self, key, context):
        return context[:2]


class Raises(Linear):
    def sample(self, key, context):
        raise RuntimeError("first line\nsecond line")


class WrongShape(Linear):
    def sample(self, key, context):
        return jnp.zeros(3)


class Whole(Linear):
    def sample(self, key, context):
        return jnp.zeros(2, jnp.int32)


class Pair(Linear):
    def log_prob(self, action, context):
        return action.sum(), context.sum()


class PerDimension(Linear):
    def log_prob(self, action, context):
        return -action * action


class Infinite(Linear):
    def log_prob(self, action, context):
        return jnp.log(jnp.zeros(())) * (action.sum() ** 2 + 1)


class BadGradient(Linear):
    def loss(self, key, actions, contexts):
        return jnp.sqrt(0.0 * self.weights).sum()


class Vector(Linear):
    def loss(self, key, actions, contexts):
        return (contexts @ self.weights.T).sum(axis=1)


class NumbersInside(Linear):
    scale: float

    def __init__(self, dims, context, *, key):
        super().__init__(dims, context, key=key)
        self.scale = 2.0


class FreezesNothing(Linear):
    traits: ClassVar[Traits] = Traits(frozen=("bias",))


class OwnTraits(Linear):
    traits: ClassVar[dict] = {"edge": 0.5}


class NoLoss(Linear):
    traits: ClassVar[Traits] = Traits(is_density=False)


class SettlesElsewhere(Linear):
    def settle(self, actions, contexts):
        return actions.mean(axis=0)


class SolvesElsewhere(Linear):
    def solve(self, actions, contexts, rng):
        return eqx.tree_at(lambda m: m.weights, self, jnp.zeros((5, 5)))


def no_sizes(key):
    raise AssertionError("never reached")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NoDensity, r"NoDensity is no model: it lacks log_prob\(action, context\)"),
        (3, r"int is no model: it lacks sample\(key, context\)"),
        (dict, "the model dict, built from .* raised TypeError"),
        (no_sizes, "the model no_sizes, built from .* raised TypeError"),
        (Linear(3, 7, key=jax.random.key(0)), "Linear.sample raised TypeError"),
        (Raises, r"Raises.sample raised RuntimeError: first line\.$"),
        (WrongShape, r"WrongShape.sample returned shape \(3,\): expected \(2,\)"),
        (Whole, "Whole.sample returned int32 numbers: expected floats"),
        (Pair, "Pair.log_prob returned tuple: expected floats"),
        (PerDimension, r"log_prob returned shape \(2,\): expected \(\)"),
        (Infinite, "Infinite.log_prob returned -inf on the data"),
        (BadGradient, "the gradient of BadGradient.loss returned nan"),
        (Vector, r"Vector.loss returned shape \(8,\): expected \(\)"),
        (NumbersInside, "NumbersInside holds a float where expected are arrays"),
        (FreezesNothing, "FreezesNothing has no field 'bias'"),
        (OwnTraits, "traits of OwnTraits are a dict"),
        (NoLoss, "NoLoss is no density: expected a loss"),
        (SettlesElsewhere, "SettlesElsewhere.settle returned a .* of other arrays"),
        (SolvesElsewhere, "SolvesElsewhere.solve returned a .* of other arrays"),
    ],
)
def test_a_bad_model_is_refused_in_one_line(data, model, message):
    rows = []
    with pytest.raises(sfp.SfpError, match=message) as refused:
        sfp.fit(data, model=model, progress=rows.append, **QUICK)
    assert rows == []
    assert "\n" not in str(refused.value)


class HostPairs(DevicePairs):
    """The same samples, but contexts come from the host, block by block."""

    def load(self, items):
        rows = super().load(items)
        flat = self._conditioning.gather(
            rows.ravel(), *(None if x is None else np.asarray(x) for x in self.resident)
        )
        return rows, flat.reshape(*rows.shape, -1)

    def make(self, key, resident, loaded):
        if not isinstance(loaded, tuple):
            return super().make(key, resident, loaded)
        rows, contexts = loaded
        return Samples(super().make(key, resident, rows).actions, contexts)


def test_batches_may_come_from_the_host(data):
    fits = []
    for source in (DevicePairs, HostPairs):
        fitter = Fitter(data, model=Linear, fitting=Fitting(**QUICK), batches=source)
        *_, (_, state) = fitter.epochs(fitter.begin())
        fits.append(state.model.weights)
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-6)
