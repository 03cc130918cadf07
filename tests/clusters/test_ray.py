"""A real Ray cluster of three nodes on loopback: same bits, whatever dies."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from grids import (
    GRID,
    JOBS,
    RUNS,
    begin,
    check_nothing_twice,
    check_same,
    end,
    finished,
    leases,
    run_locally,
    running,
    until,
)
from nodes import SOURCE, Nodes, descendants

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes():
    nodes = Nodes(3)
    yield nodes
    nodes.close()
    shutil.rmtree(nodes.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return run_locally(tmp_path_factory.mktemp("local") / "out")


def test_the_same_bits_as_on_this_machine(nodes, local, tmp_path):
    code, err = end(begin(nodes.env, tmp_path / "out", "--on", "ray"))
    assert code == 0, err
    assert len(check_same(tmp_path / "out", local)) == RUNS
    check_nothing_twice(tmp_path / "out")
    assert all(len(held) == 1 for held in leases(tmp_path / "out").values())
    assert (tmp_path / "out" / "datasets" / "sfp" / "room").is_dir()
    (run, *_) = (tmp_path / "out" / "runs").iterdir()
    assert json.loads((run / "versions.json").read_text())["cpu"]


def test_a_node_and_the_driver_are_killed(nodes, local, tmp_path):
    out = tmp_path / "out"
    runner = begin(nodes.env, out, "--on", "ray")
    until(lambda: running(out), runner)
    victim = nodes.processes[-1]
    until(lambda: any("train" in _words(p) for p in descendants(victim.pid)), runner)
    nodes.kill(victim)
    nodes.add()
    done = finished(out)
    until(lambda: finished(out) > done + 1, runner)
    until(lambda: running(out), runner)
    runner.kill()
    runner.communicate()
    assert finished(out) < RUNS
    code, err = end(begin(nodes.env, out, "--on", "ray"))
    assert code == 0, err
    check_same(out, local)
    check_nothing_twice(out)
    again = sum(len(held) for held in leases(out).values()) - JOBS
    assert 2 <= again <= 6  # one of the node, and those of the driver


def _words(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def test_ctrl_c_from_outside_saves_and_goes_on(nodes, tmp_path):
    out = tmp_path / "out"
    grid = [*GRID[:5], "room", "--seeds", "0", *GRID[GRID.index("--steps") :]]
    runner = begin(nodes.env, out, "--on", nodes.address, grid=grid)
    until(lambda: running(out), runner)
    runner.send_signal(signal.SIGINT)
    code, err = end(runner)
    assert code == 130
    assert err.splitlines()[-1].endswith("done; the same command goes on.")
    assert not any(
        "train" in _words(p) for n in nodes.processes for p in descendants(n.pid)
    )
    code, err = end(begin(nodes.env, out, "--on", "ray", grid=grid))
    assert code == 0, err
    assert "from step" in err


def refuse(env, out, *words):
    runner = begin(env, out, *words)
    code, err = end(runner)
    assert (code, len(err.splitlines())) == (2, 1), err
    return err


def test_what_users_get_wrong(nodes, tmp_path):
    out = tmp_path / "out"
    wrong = nodes.env | {"RAY_AUTH_TOKEN": "0" * 32}
    for words in (("--on", "ray"), ("--on", nodes.address)):
        err = refuse(wrong, out, *words)
        assert "cannot join the Ray cluster at" in err
        assert words[1] != "ray" or "its token is another" in err
        assert "is RAY_AUTH_TOKEN (or ~/.ray/auth_token) the cluster's" in err
    err = refuse(nodes.env, out, "--on", "ray://127.0.0.1:7")
    assert "no Ray cluster at ray://127.0.0.1:7" in err
    assert not (out / "runs").exists() or not list((out / "runs").iterdir())


def test_a_node_with_another_version_is_named(nodes, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(SOURCE, other, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "sfp" / "errors.py").open("a") as file:
        file.write("# another version\n")
    node = nodes.add(PYTHONPATH=str(other))
    try:
        err = refuse(nodes.env, tmp_path / "out", "--on", "ray")
    finally:
        nodes.kill(node)
    assert f"node 127.0.0.{nodes.processes.index(node) + 1} has sfp 0.1.0" in err
    assert "install the same version on all of them." in err


@pytest.mark.skipif(os.getuid() != 0, reason="only root can hide a folder from a node")
def test_a_node_that_does_not_share_the_folder_is_named(nodes, tmp_path):
    hide = f'mount -t tmpfs none {tmp_path} && exec "$0" "$@"'
    node = nodes.add(("unshare", "--mount", "sh", "-c", hide))
    try:
        err = refuse(nodes.env, tmp_path / "out", "--on", "ray")
    finally:
        nodes.kill(node)
    number = nodes.processes.index(node) + 1
    assert f"node 127.0.0.{number} does not share the folder {tmp_path}/out" in err


def test_two_drivers_on_one_folder(nodes, tmp_path):
    out = tmp_path / "out"
    long = ["200000" if word == "1500" else word for word in GRID]
    runner = begin(nodes.env, out, "--on", "ray", grid=long)
    until(lambda: (out / "leases" / "driver" / "0.json").exists(), runner)
    assert "another `sfp reproduce` drives" in refuse(nodes.env, out, "--on", "ray")
    assert "another `sfp reproduce` drives" in refuse(nodes.env, out)
    runner.send_signal(signal.SIGINT)
    assert end(runner)[0] == 130
