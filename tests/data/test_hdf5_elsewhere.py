"""HDF5 files whose numbers lie in other files, or are promised and not there."""

import os

import h5py
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from sfp.data import load, writer
from sfp.data.sources import minari
from sfp.envs.registry import get_task
from sfp.errors import SfpError

ACTIONS = np.linspace(-1.0, 1.0, 40, dtype=np.float32).reshape(20, 2)


def external_link(file, name, secret):
    file[name] = h5py.ExternalLink(secret.name, "actions")


def soft_link_to_external(file, name, secret):
    file["inner"] = h5py.ExternalLink(secret.name, "/")
    file[name] = h5py.SoftLink("/inner/actions")


def virtual(file, name, secret):
    layout = h5py.VirtualLayout(ACTIONS.shape, np.float32)
    layout[:] = h5py.VirtualSource(str(secret), "actions", ACTIONS.shape)
    file.create_virtual_dataset(name, layout)


def external_storage(file, name, secret):
    external = [(str(secret), 0, ACTIONS.nbytes)]
    file.create_dataset(name, ACTIONS.shape, np.float32, external=external)


KINDS = {
    external_link: "an external link to 'secret.h5'",
    soft_link_to_external: "an external link to 'secret.h5'",
    virtual: "a virtual dataset",
    external_storage: "external storage",
}


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["actions"] = ACTIONS
    return path


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """A Minari dataset as somebody else would write it: without checksums."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    steps = len(ACTIONS)
    goal = np.zeros((steps + 1, 2), np.float32)
    names = ("observation", "achieved_goal", "desired_goal")
    episode = EpisodeBuffer(
        observations=dict.fromkeys(names, goal),
        actions=ACTIONS,
        rewards=np.zeros(steps),
        terminations=np.zeros(steps, bool),
        truncations=np.zeros(steps, bool),
    )
    env = get_task("room").make()
    writer.write("sfp/links-v0", [episode], env, description="", algorithm="")
    folder = minari.root() / "sfp/links-v0"
    (folder / "SHA256SUMS").unlink()
    return folder


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("layout", ["d4rl", "robomimic", "minari"])
def test_what_lies_elsewhere_is_refused_by_name(
    tmp_path, secret, dataset, make, layout
):
    path = source = tmp_path / "given.hdf5"
    name = {"d4rl": "actions", "robomimic": "data/demo_0/actions"}.get(layout)
    if layout == "minari":
        source, path = dataset, dataset / "data" / "main_data.hdf5"
        name = "episode_0/actions"
        os.link(secret, path.with_name("secret.h5"))
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        make(file, name, secret)
    with pytest.raises(SfpError, match=f"{KINDS[make]}, expected the numbers in this"):
        load(source)


def test_an_external_link_is_not_even_opened(tmp_path):
    """A pipe would be waited for for ever."""
    os.mkfifo(tmp_path / "secret.h5")
    with h5py.File(tmp_path / "given.h5", "w") as file:
        file["actions"] = h5py.ExternalLink("secret.h5", "actions")
    with pytest.raises(SfpError, match="an external link"):
        load(tmp_path / "given.h5")


def test_links_within_the_file_are_followed(tmp_path):
    with h5py.File(tmp_path / "given.h5", "w") as file:
        file["inner/kept"] = ACTIONS
        file["inner/link"] = h5py.SoftLink("kept")
        file["actions"] = h5py.SoftLink("/inner/link")
        file["timeouts"] = np.arange(len(ACTIONS)) == len(ACTIONS) - 1
    np.testing.assert_array_equal(load(tmp_path / "given.h5").actions, ACTIONS)
    with h5py.File(tmp_path / "loop.h5", "w") as file:
        file["actions"] = h5py.SoftLink("/actions")
    with pytest.raises(SfpError, match="cannot read"):
        load(tmp_path / "loop.h5")


@pytest.mark.parametrize("options", [{}, {"chunks": True}, {"compression": "gzip"}])
def test_numbers_that_are_promised_and_not_there_take_no_memory(tmp_path, options):
    path = tmp_path / "given.h5"
    with h5py.File(path, "w") as file:
        shape = (2**36, 2)
        made = file.create_dataset("actions", shape, np.float32, **options)
        if options:
            made[:10] = 1.0
        file["timeouts"] = np.ones(3, bool)
    assert path.stat().st_size < 2e6
    with pytest.raises(SfpError, match=r"'/actions' promises 549,755,813,888 bytes"):
        load(path)


def test_a_flipped_bit_in_a_shape_takes_no_memory(dataset):
    """In every place where the file holds the number of steps."""
    path = dataset / "data" / "main_data.hdf5"
    right, told = path.read_bytes(), 0
    number = len(ACTIONS).to_bytes(8, "little")
    places = [i for i in range(len(right)) if right.startswith(number, i)]
    assert places
    for place in places:
        wrong = bytearray(right)
        wrong[place + 3] ^= 64  # 2**30 rows more
        path.write_bytes(wrong)
        try:
            load(dataset, columns=("actions", "observations", "goals"))
        except SfpError as error:
            told += "promises" in str(error)
    assert told


@pytest.mark.parametrize("packed", [None, "gzip"])
def test_what_packs_well_is_read(tmp_path, packed):
    zeros = np.zeros((100_000, 4), np.float32)
    with h5py.File(tmp_path / "given.h5", "w") as file:
        file.create_dataset("actions", data=zeros, compression=packed, chunks=True)
        file["timeouts"] = np.arange(len(zeros)) % 1000 == 999
    assert len(load(tmp_path / "given.h5").actions) == len(zeros)
