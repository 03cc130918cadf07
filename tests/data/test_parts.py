"""Recording in parts: whatever dies, nothing is lost, doubled or different."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from sfp.data.parts import make_parts, read_part
from sfp.errors import SfpError


@dataclass(frozen=True)
class Piece:
    """Writes down its process, then dies, fails or works."""

    number: int
    diary: str
    deaths: int = 0
    size: int = 2

    @property
    def name(self):
        return f"piece-{self.number}"

    def make(self):
        diary = Path(self.diary) / self.name
        with diary.open("a") as file:
            file.write("x")
        if len(diary.read_text()) <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"number": np.full((self.size, 3), self.number)}


def pieces(folder, **deaths):
    folder.mkdir()
    return [
        Piece(i, str(folder), deaths=deaths.get(f"p{i}", 0), size=2 - (i == 4))
        for i in range(5)
    ]


def tries(folder):
    return [len((folder / f"piece-{i}").read_text()) for i in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_every_part_is_made_once(tmp_path, workers):
    parts, seen = pieces(tmp_path / "diary"), []
    make_parts(tmp_path, parts, workers, seen.append)
    assert seen[0] == 0
    assert seen[-1] == 9
    assert seen == sorted(seen)
    assert tries(tmp_path / "diary") == [1] * 5
    for part in parts:
        np.testing.assert_array_equal(
            read_part(tmp_path, part)["number"], part.make()["number"]
        )
    make_parts(tmp_path, parts, workers, seen.append)  # nothing is left to do
    assert seen[-1] == 9


@pytest.mark.slow
def test_a_killed_worker_costs_its_part_only(tmp_path):
    parts = pieces(tmp_path / "diary", p1=1)
    make_parts(tmp_path, parts, 2)
    assert all((tmp_path / f"{part.name}.safetensors").is_file() for part in parts)
    counts = tries(tmp_path / "diary")
    assert counts[1] >= 2
    assert sum(counts) <= 5 + 2  # at most what the two workers were at


@pytest.mark.slow
def test_workers_that_only_die_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("sfp.data.parts.PATIENCE", 1)
    parts = pieces(tmp_path / "diary", p0=99, p1=99, p2=99, p3=99, p4=99)
    with pytest.raises(SfpError, match="the workers died 1 times"):
        make_parts(tmp_path, parts, 2)


def test_an_interruption_keeps_what_is_done(tmp_path):
    parts = pieces(tmp_path / "diary")

    def stop(ready):
        if ready == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_parts(tmp_path, parts, 1, stop)
    make_parts(tmp_path, parts, 1)
    assert tries(tmp_path / "diary") == [1] * 5


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "import test_parts\n"
        "if __name__ == '__main__':\n"
        "    test_parts.make_parts(Path(sys.argv[1]), "
        "[test_parts.Slow(i, sys.argv[1]) for i in range(2)], 2)\n"
    )
    script = tmp_path / "main.py"
    script.write_text(program)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    pids = [tmp_path / f"pid-{i}" for i in range(2)]
    until = time.time() + 60
    while not all(p.exists() and p.read_text() for p in pids) and time.time() < until:
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    alive = [int(path.read_text()) for path in pids]
    while any(_runs(pid) for pid in alive) and time.time() < until:
        time.sleep(0.05)
    assert not any(_runs(pid) for pid in alive)


def _runs(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@dataclass(frozen=True)
class Slow(Piece):
    def make(self):
        (Path(self.diary) / f"pid-{self.number}").write_text(str(os.getpid()))
        time.sleep(120)
        return {}


def test_a_damaged_part_is_named_and_made_anew(tmp_path):
    parts = pieces(tmp_path / "diary")
    make_parts(tmp_path, parts, 1)
    path = tmp_path / "piece-1.safetensors"
    right = path.read_bytes()
    flipped = bytearray(right)
    flipped[-1] ^= 1
    # Damaged, of an earlier version, cut, flipped.
    old = save({"number": np.full((2, 3), 1)})
    for wrong in (b"\x08\0\0\0\0\0\0\0{}", old, right[:-1], flipped):
        path.write_bytes(wrong)
        with pytest.raises(SfpError, match=r"piece-1.*makes that part anew"):
            read_part(tmp_path, parts[1])
        with pytest.warns(UserWarning, match=r"piece-1.*\(1 parts\).*made anew"):
            make_parts(tmp_path, parts, 1)
        assert path.read_bytes() == right
    assert tries(tmp_path / "diary") == [1, 5, 1, 1, 1]
