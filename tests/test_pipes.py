"""A pipe in place of any file is refused at once: nobody waits for its other end."""

import json
import os
import shutil
import signal

import pytest

import sfp
from sfp.data import load
from sfp.envs import Layout
from sfp.errors import SfpError
from sfp.files import write_checksums
from sfp.priors.store import find_shipped
from sfp.report.records import read_run
from sfp.report.results import read_results


@pytest.fixture(autouse=True)
def limit():
    """Ten seconds."""

    def waited(*_):
        raise TimeoutError("it waits for the other end of a pipe")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["config.json", "prior.safetensors", "SHA256SUMS"])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.filterwarnings("ignore:.*it is unverified")
def test_priors(tmp_path, name, summed):
    folder = tmp_path / "prior"
    shutil.copytree(find_shipped("room"), folder)
    pipe(folder / name)
    if not summed and name != "SHA256SUMS":
        (folder / "SHA256SUMS").unlink()
    with pytest.raises(SfpError):
        sfp.load_prior(folder)


@pytest.mark.parametrize(
    "name", ["a.npz", "a.npy", "a.csv", "a.hdf5", "bounds.json", "meta/info.json"]
)
def test_recordings(tmp_path, name):
    if name == "bounds.json":
        (tmp_path / "a.csv").write_text("0.1,0.2\n" * 5)
    pipe(tmp_path / name)
    with pytest.raises(SfpError):
        load(tmp_path)
    if name != "bounds.json":
        with pytest.raises(SfpError):
            load(tmp_path / name)


@pytest.mark.parametrize("name", ["metadata.json", "main_data.hdf5", "0/part.arrow"])
@pytest.mark.parametrize("summed", [False, True])
def test_minari(tmp_path, name, summed):
    data = tmp_path / "data"
    data.mkdir()
    kind = "arrow" if name.startswith("0") else "hdf5"
    about = {"data_format": kind, "total_episodes": 1}
    (data / "metadata.json").write_text(json.dumps(about))
    if summed:
        write_checksums(tmp_path)
    pipe(data / name)
    with pytest.raises(SfpError):
        load(tmp_path)


RUN = ("config.json", "versions.json", "finished.json", "eval.csv", "SHA256SUMS")


@pytest.mark.parametrize("name", RUN)
def test_runs(tmp_path, name):
    run = tmp_path / "run"
    run.mkdir()
    config = {"task": "maze", "method": "sac", "seed": 0}
    (run / "config.json").write_text(json.dumps(config))
    (run / "versions.json").write_text("{}")
    pipe(run / name)
    with pytest.raises(SfpError):
        read_run(run)
    with pytest.raises(SfpError):
        read_results(tmp_path)


def test_maps_and_experiments(tmp_path):
    pipe(tmp_path / "map.txt")
    with pytest.raises(SfpError, match="cannot read the map"):
        Layout.from_file(tmp_path / "map.txt")
    pipe(tmp_path / "experiment.json")
    with pytest.raises(SfpError, match="there is no run"):
        read_results(tmp_path)
