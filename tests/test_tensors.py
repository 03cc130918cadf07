"""Arrays on disk carry a digest: every flipped bit is refused."""

import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from sfp.errors import SfpError
from sfp.tensors import load_arrays, save_arrays

ARRAYS = {
    "matrix": np.arange(6.0, dtype=np.float32).reshape(2, 3),
    "empty": np.zeros((0, 3)),
    "number": np.array(3, np.int64),
    "flags": np.array([True, False]),
}
NOTES = {"rows": [{"epoch": 1, "loss": 0.1}], "request": {"seed": 0}}


def test_arrays_and_notes_come_back(tmp_path):
    save_arrays(tmp_path / "one", ARRAYS, NOTES)
    save_arrays(tmp_path / "two", ARRAYS, NOTES)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    arrays, notes = load_arrays(tmp_path / "one", sealed=True)
    assert notes == NOTES
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.slow
def test_every_flipped_bit_and_every_cut_is_refused(tmp_path):
    path = tmp_path / "file"
    save_arrays(path, ARRAYS, NOTES)
    right = path.read_bytes()
    for position in range(len(right)):
        for bit in range(8):
            wrong = bytearray(right)
            wrong[position] ^= 1 << bit
            path.write_bytes(wrong)
            with pytest.raises(SfpError, match="damaged"):
                load_arrays(path)
        path.write_bytes(right[:position])
        with pytest.raises(SfpError, match="damaged"):
            load_arrays(path)


def test_files_without_a_digest_are_read_unless_one_is_needed(tmp_path):
    save_file(ARRAYS, tmp_path / "old")
    arrays, notes = load_arrays(tmp_path / "old")
    assert arrays.keys() == ARRAYS.keys()
    assert notes is None
    with pytest.raises(SfpError, match="has no checksum"):
        load_arrays(tmp_path / "old", sealed=True)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SfpError, match="expected a regular file"):
        load_arrays(tmp_path / "pipe")
