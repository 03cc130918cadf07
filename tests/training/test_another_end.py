"""A run that goes on beyond its end is the run that had the new end all along."""

import json
import shutil

import equinox as eqx
import jax.numpy as jnp
import pytest

import sfp
from environments import SMALL, make_prior, maze
from faults import Faults, outcome, whole
from sfp.agents.sfp import SFP
from sfp.errors import Interrupted, SfpError
from sfp.files import read_sums
from sfp.training.folder import CONFIG, FINISHED, NEXT, check_config, check_run
from sfp.training.trained import Trained

pytestmark = pytest.mark.slow


def train(out, **kwargs):
    settings = SMALL | dict(method="sfp", prior=make_prior()) | kwargs
    return sfp.train(maze(), out=out, **settings)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long") / "run"
    train(folder)
    return folder


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Its end, 250, is no step of a checkpoint or an evaluation."""
    folder = tmp_path_factory.mktemp("short") / "run"
    train(folder, steps=250)
    return folder


@pytest.fixture
def run(tmp_path, short):
    return shutil.copytree(short, tmp_path / "run")


def asked(folder, **end):
    """The settings of a folder's run with another end."""
    config = json.loads((folder / CONFIG).read_text())
    return config | {"schedule": config["schedule"] | end}


def test_more_steps(run, long):
    train(run, steps=400, extend=True)
    assert outcome(run) == outcome(long)
    assert (run / CONFIG).read_bytes() == (long / CONFIG).read_bytes()
    assert NEXT not in (run / "SHA256SUMS").read_text()
    whole(run)


def stop_at(last):
    def stop(step):
        if step == last:
            raise Interrupted("here")

    return stop


def test_more_steps_for_a_run_that_has_not_ended(run, long):
    with pytest.raises(Interrupted):
        train(run, steps=1000, extend=True, progress=stop_at(350))
    assert not (run / FINISHED).exists()
    with pytest.raises(SfpError, match="ended"):
        Trained.load(run)
    train(run, steps=400, extend=True)
    assert outcome(run) == outcome(long)


def test_no_longer_until_solved(tmp_path, long, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        name = "sfp.training.loop.solved_at"
        patch.setattr(name, lambda rows, rule: 100 if rows else None)
        train(run, until_solved=True)
    assert json.loads((run / FINISHED).read_text())["step"] == 100
    train(run, extend=True)
    assert outcome(run) == outcome(long)


def test_what_is_refused(run):
    before = {path: path.read_bytes() for path in run.rglob("*.json")}
    with pytest.raises(SfpError, match=r"another end \(steps 250 -> 400\): add --ext"):
        train(run, steps=400)
    with pytest.raises(SfpError, match=r"at step 250 already: expected --steps 250 or"):
        train(run, steps=200, extend=True)
    with pytest.raises(SfpError, match=r"other settings \(until_solved False -> True"):
        train(run, steps=250, until_solved=True, extend=True)
    with pytest.raises(SfpError, match=r"another end \(steps 250 -> 400\): add --ext"):
        train(run, steps=400, resume=True)
    with pytest.raises(SfpError, match=r"other settings \(gamma 0.99 -> 0.9; steps 25"):
        train(run, steps=400, gamma=0.9, extend=True)
    assert {path: path.read_bytes() for path in run.rglob("*.json")} == before


@pytest.mark.parametrize("steps", [250, 100])
@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_without_a_checkpoint_a_finished_run_stays_as_it_is(tmp_path, steps, damage):
    run = tmp_path / "run"
    train(run, steps=steps)
    for path in (run / "checkpoint").glob("step-*/state.safetensors"):
        path.write_bytes(path.read_bytes()[:100])
    if damage == "gone":
        shutil.rmtree(run / "checkpoint")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(SfpError, match="without a checkpoint that is whole"):
        train(run, extend=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == (
        before
    )


def less(net):
    return eqx.tree_at(lambda net: net.weights, net, net.weights[:1])


def wider(net):
    last = jnp.concatenate([net.weights[-1]] * 2, axis=1)
    return eqx.tree_at(lambda net: net.weights[-1], net, last)


@pytest.mark.parametrize("other", [less, wider])
@pytest.mark.parametrize("ended", [True, False])
def test_a_run_of_other_networks_stays_as_it_is(run, monkeypatch, other, ended):
    """As one of a version whose Λ was another."""
    if not ended:
        with pytest.raises(Interrupted):
            train(run, steps=1000, extend=True, progress=stop_at(350))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    made = SFP.init

    def init(agent, key):
        state = made(agent, key)
        return state._replace(mixing=other(state.mixing))

    monkeypatch.setattr(SFP, "init", init)
    with pytest.raises(SfpError, match="that is whole and of this version"):
        train(run, extend=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == (
        before
    )


def test_a_run_without_digests_goes_on_too(run, long):
    (run / "SHA256SUMS").unlink()
    with pytest.warns(UserWarning, match="SHA256SUMS"):
        train(run, extend=True)
    assert outcome(run)["policy"] == outcome(long)["policy"]


class Death(BaseException):
    """As if the process had ended."""


def die():
    raise Death


def test_a_fault_in_any_write_of_the_new_end(tmp_path, short, long):
    """The run is never damaged, and the same command goes on to the same bits."""
    counted = shutil.copytree(short, tmp_path / "counted")
    with Faults(counted)() as faults:
        check_config(counted, asked(counted, steps=400), extend=True)
    assert faults.count > 6
    for at in range(1, faults.count + 1):
        run = shutil.copytree(short, tmp_path / str(at))
        with pytest.raises(Death), Faults(run, at, die)():
            check_config(run, asked(run, steps=400), extend=True)
        assert check_run(run)
        check_config(run, asked(run, steps=400), extend=True)
        assert check_run(run)
        sums = read_sums(run)
        assert sums is not None
        if at in (faults.count // 3, faults.count // 2, faults.count):
            train(run, extend=True)
            assert outcome(run) == outcome(long)
            assert (run / CONFIG).read_bytes() == (long / CONFIG).read_bytes()
            whole(run)
