"""A prior's folder: what is saved comes back, what was touched is refused."""

import json
import os
import struct

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sfp.data.trajectories import Trajectories, assemble
from sfp.errors import SfpError
from sfp.files import CHECKSUMS, write_checksums
from sfp.priors.compatibility import check_names
from sfp.priors.fit import Fitter, Fitting
from sfp.priors.models import MODELS
from sfp.priors.session import fit_to
from sfp.priors.store import load_prior, make_card, open_prior, shipped

pytestmark = pytest.mark.slow

SHORT = Fitting(epochs=1, epoch_steps=2, batch=16)


def make(folder, model="realnvp", **kwargs):
    rng = np.random.default_rng(0)
    data = Trajectories(
        rng.uniform(-1, 1, (400, 2)).astype(np.float32),
        np.arange(1, 21) * 20,
        -np.ones(2, np.float32),
        np.ones(2, np.float32),
    )
    fitter = Fitter(data, model=model, fitting=SHORT)
    prior, *_ = fit_to(folder, data, fitter, preset="x", **kwargs)
    return prior


@pytest.fixture
def folder(tmp_path):
    make(tmp_path / "prior", model="gaussian")
    return tmp_path / "prior"


def resign(folder):
    """As a forger would: checksums that fit the changed files."""
    (folder / CHECKSUMS).unlink()
    write_checksums(folder)


def edit(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))
    resign(folder)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_comes_back_bit_for_bit(tmp_path, model):
    saved = make(tmp_path / "prior", model=model)
    loaded, card = open_prior(tmp_path / "prior")
    assert card.model == model
    assert card.data["episodes"] == 20
    assert jax.tree.structure(saved) == jax.tree.structure(loaded)
    for a, b in zip(jax.tree.leaves(saved), jax.tree.leaves(loaded), strict=True):
        np.testing.assert_array_equal(a, b)
    assert loaded.seeds.shape == (4096, 1, 2)


def test_any_flipped_bit_is_noticed(folder):
    rng = np.random.default_rng(0)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        original = path.read_bytes()
        for _ in range(4):
            at = int(rng.integers(len(original)))
            changed = bytearray(original)
            changed[at] ^= 1 << int(rng.integers(8))
            path.write_bytes(changed)
            with pytest.raises(SfpError):
                load_prior(folder)
        path.write_bytes(original)
    load_prior(folder)


@pytest.mark.parametrize("size", [0, 4, 100, -1])
def test_truncated_weights(folder, size):
    path = folder / "prior.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    resign(folder)
    with pytest.raises(SfpError, match="truncated or damaged"):
        load_prior(folder)


def test_forged_header(folder):
    path = folder / "prior.safetensors"
    path.write_bytes(struct.pack("<Q", 2**60) + path.read_bytes()[8:])
    resign(folder)
    with pytest.raises(SfpError, match="truncated or damaged"):
        load_prior(folder)


def test_nan_weights(folder):
    path = folder / "prior.safetensors"
    arrays = load_file(path)
    name = next(n for n in arrays if "weights" in n)
    arrays[name][0] = np.nan
    save_file(arrays, path)
    resign(folder)
    with pytest.raises(SfpError, match="NaN or infinite"):
        load_prior(folder)


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", ".model.other"])
def test_strange_array_names_are_refused_and_touch_nothing(folder, name):
    path = folder / "prior.safetensors"
    save_file({**load_file(path), name: np.zeros(3, np.float32)}, path)
    resign(folder)
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(SfpError, match="other arrays than expected"):
        load_prior(folder)
    assert sorted(folder.parent.rglob("*")) == before


def test_weights_that_give_no_action(tmp_path):
    make(tmp_path / "prior", model="realnvp")
    path = tmp_path / "prior" / "prior.safetensors"
    arrays = load_file(path)
    name = next(n for n in arrays if "variances" in n)
    save_file({**arrays, name: -np.ones_like(arrays[name])}, path)
    resign(tmp_path / "prior")
    with pytest.raises(SfpError, match="no finite action"):
        load_prior(tmp_path / "prior")


def test_checksums_that_point_elsewhere(folder):
    with (folder / CHECKSUMS).open("a") as file:
        file.write(f"{'0' * 64}  ../../etc/passwd\n")
    with pytest.raises(SfpError, match=r"damaged: \.\./\.\./etc/passwd"):
        load_prior(folder)


def test_a_folder_that_is_no_prior_is_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years of work")
    with pytest.raises(SfpError, match="is there and no prior"):
        make(tmp_path / "thesis", force=True)
    assert (tmp_path / "thesis" / "thesis.tex").exists()


def test_weights_can_be_read_by_others(folder):
    assert (folder / "prior.safetensors").stat().st_mode & 0o044


def test_wrong_shape_and_type(folder):
    path = folder / "prior.safetensors"
    arrays = load_file(path)
    name = next(n for n in arrays if "seeds" in n)
    save_file({**arrays, name: arrays[name][:5]}, path)
    resign(folder)
    with pytest.raises(SfpError, match=r"seeds is float32\[5, 1, 2\], expected"):
        load_prior(folder)
    save_file({**arrays, name: arrays[name].astype(np.float64)}, path)
    resign(folder)
    with pytest.raises(SfpError, match="expected float32"):
        load_prior(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, "has format 1, this version of sfp reads 2"),
        ({"model": "__import__('os')"}, "unknown model"),
        ({"model": "../../x"}, "unknown model"),
        ({"past_actions": 10**12}, "not whole numbers"),
        ({"dims": -1}, "not whole numbers"),
        ({"dims": 2.0}, "cannot read"),
        ({"dims": 3}, "expected 3 action bounds"),
        ({"state": True}, "contradict"),
        ({"low": [-2.0, -2.0]}, "disagree on the bounds"),
        ({"model": "realnvp"}, "other arrays than expected"),
        ({"extra": 1}, "cannot read"),
        ({"low": ["a", "b"]}, "cannot read"),
        ({"low": [1.0, 1.0], "high": [1.0, 1.0]}, "not low < high"),
        ({"data": [1]}, "cannot read"),
        ({"seeds": 0}, "no seed contexts"),
    ],
)
def test_forged_configs(folder, changes, message):
    edit(folder, **changes)
    with pytest.raises(SfpError, match=message):
        load_prior(folder)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"format": 2}', "\xff", "[" * 200_000]
)
def test_configs_that_are_none(folder, text):
    (folder / "config.json").write_text(text, encoding="latin-1")
    resign(folder)
    with pytest.raises(SfpError):
        load_prior(folder)


def test_unknown_and_wrong_places(tmp_path):
    with pytest.raises(SfpError, match="unknown prior 'rom'"):
        load_prior("rom")
    with pytest.raises(SfpError, match="is no prior: expected a folder"):
        load_prior(tmp_path)


def test_out_of_disk_while_saving_keeps_the_previous_prior(tmp_path, monkeypatch):
    make(tmp_path / "prior", model="gaussian")
    before = (tmp_path / "prior" / "prior.safetensors").read_bytes()

    def full(folder, prior, card):
        raise OSError(28, os.strerror(28))

    with pytest.raises(SfpError, match="No space left on device"):
        make(tmp_path / "prior", model="vae", force=True, extras=full)
    assert (tmp_path / "prior" / "prior.safetensors").read_bytes() == before
    load_prior(tmp_path / "prior")
    assert not list(tmp_path.glob(".draft*"))


def test_existing_folder_needs_force(folder):
    with pytest.raises(SfpError, match="exists already: add --force"):
        make(folder, model="gaussian")


def test_every_shipped_prior_loads():
    for name in shipped():
        prior, card = open_prior(name)
        assert card.dims == prior.dims


def test_names_of_actions_travel_and_are_compared(tmp_path):
    rng = np.random.default_rng(0)
    data = assemble(
        [{"actions": rng.uniform(-1, 1, (20, 2)).astype(np.float32)}] * 20,
        source="here",
        names=["x", "y"],
    )
    fitter = Fitter(data, model="gaussian", fitting=SHORT)
    fit_to(tmp_path / "named", data, fitter, preset="x")
    prior, card = open_prior(tmp_path / "named")
    assert prior.names == ("x", "y")
    assert make_card(prior).names == card.names == ["x", "y"]
    check_names(prior, ("x", "y"), "it")
    check_names(prior, (), "it")
    with pytest.raises(SfpError, match=r"it is for the actions x, y.*takes y, x"):
        check_names(prior, ("y", "x"), "it")
    few = assemble([{"actions": data.actions}], source="here", names=["of one only"])
    assert few.names == ()


def test_a_checkpoint_that_is_moved_away_meanwhile(tmp_path):
    """The fit ends with a line, and resumes once its folder is back."""
    work, elsewhere = tmp_path / ".prior.fit", tmp_path / "elsewhere"

    def move(done, row):
        if done and not elsewhere.exists():
            work.rename(elsewhere)

    with pytest.raises(SfpError, match="moved or deleted while it was written"):
        make(tmp_path / "prior", model="gaussian", progress=move)
    assert not (tmp_path / "prior").exists()
    assert not work.exists()
    elsewhere.rename(work)
    make(tmp_path / "prior", model="gaussian")
    assert load_prior(tmp_path / "prior").dims == 2
