"""The real huggingface_hub pushes to and pulls from a fake of the hub on loopback."""

import filecmp
import json
import os
import subprocess
import sys

import pytest
from fake_hub import Hub

from sfp.priors.store import find_shipped

TOKEN = "hf_not_a_real_one"


@pytest.fixture
def hub():
    server = Hub(TOKEN)
    yield server
    server.shutdown()
    server.server_close()


def run(hub, tmp_path, *words, token=TOKEN):
    env = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    env |= {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "home")}
    env |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    env |= {"HF_TOKEN": token} if token else {}
    return subprocess.run(
        [sys.executable, "-m", "sfp", *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )


def test_there_and_back(hub, tmp_path):
    done = run(hub, tmp_path, "push", "room", "--to", "me/room", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    held = hub.repos["me/room"]
    assert {"README.md", "sfp.json", "prior/prior.safetensors"} <= held.keys()
    assert held["README.md"].startswith(b"---\nlibrary_name:")
    words = ["pull", "me/room", "--out", "got", "--digest", row["digest"]]
    done = run(hub, tmp_path, *words, token=None)
    assert done.returncode == 0, done.stderr
    for name in ("config.json", "prior.safetensors"):
        assert filecmp.cmp(find_shipped("room") / name, tmp_path / "got" / name)

    weights = bytearray(held["prior/prior.safetensors"])
    weights[-1] ^= 1
    held["prior/prior.safetensors"] = bytes(weights)
    done = run(hub, tmp_path, "pull", "me/room", "--out", "bad", token=None)
    assert done.returncode == 2
    assert "tampered with: prior.safetensors" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "bad").exists()

    held["evil.pkl"] = b"code"
    done = run(hub, tmp_path, "pull", "me/room", "--out", "bad", token=None)
    assert "'evil.pkl' is not in sfp.json" in done.stderr

    done = run(hub, tmp_path, "push", "room", "--to", "me/room", "--json")
    assert done.returncode == 0, done.stderr
    assert "evil.pkl" not in hub.repos["me/room"]


def test_one_line_without_repository_or_token(hub, tmp_path):
    done = run(hub, tmp_path, "pull", "me/none", "--out", "x", token=None)
    assert done.returncode == 2
    assert "the hub did not serve me/none" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = run(hub, tmp_path, "push", "room", "--to", "me/room", token="hf_wrong")
    assert done.returncode == 2
    assert "hf auth whoami" in done.stderr
