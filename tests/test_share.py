"""What is shared is checked file by file, without a network."""

import json
import sys

import pytest

import sfp
from exported import make_trained
from sfp.bridges.hub import pull, push
from sfp.bridges.share import check, manifest_digest, pack, unpack
from sfp.cli import main
from sfp.errors import SfpError


@pytest.fixture
def policy(tmp_path):
    make_trained().save(tmp_path / "policy")
    return tmp_path / "policy"


def test_a_policy_goes_there_and_back(policy, tmp_path, capsys):
    main(["push", str(policy), "--folder", str(tmp_path / "repo"), "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["kind"] == "policy"
    card = (tmp_path / "repo" / "README.md").read_text()
    head = card.split("---")[1].strip().splitlines()
    assert head[0] == 'library_name: "sfp"'
    assert all(json.loads(line.partition(": ")[2]) for line in head)
    out = tmp_path / "got"
    words = ["pull", str(tmp_path / "repo"), "--out", str(out)]
    main([*words, "--digest", row["digest"]])
    assert sfp.Trained.load(out).spec == sfp.Trained.load(policy).spec
    with pytest.raises(SystemExit):
        main([*words, "--digest", "0" * 64, "--force"])
    assert "this is not what was pushed" in capsys.readouterr().err


def test_results_are_shared_as_they_are(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "summary.csv").write_text("a,b\n1,2\n")
    pack(folder, tmp_path / "repo")
    unpack(tmp_path / "repo", tmp_path / "got")
    assert (tmp_path / "got" / "summary.csv").read_text() == "a,b\n1,2\n"
    (folder / "model.pkl").write_bytes(b"code")
    with pytest.raises(SfpError, match=r"model.pkl cannot be shared"):
        pack(folder, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def _changed(repo):
    (repo / "policy" / "config.json").write_text("{}")


def _added(repo):
    (repo / "policy" / "more.json").write_text("{}")


def _removed(repo):
    (repo / "policy" / "config.json").unlink()


def _linked(repo):
    (repo / "policy" / "config.json").unlink()
    (repo / "policy" / "config.json").symlink_to("/etc/hostname")


def _escaping(repo):
    held = json.loads((repo / "sfp.json").read_text())
    held["files"]["../../evil.json"] = "0"
    (repo / "sfp.json").write_text(json.dumps(held))


def _strange(repo):
    held = json.loads((repo / "sfp.json").read_text())
    (repo / "sfp.json").write_text(json.dumps(held | {"kind": "../.."}))


def _gone(repo):
    (repo / "sfp.json").unlink()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_changed, "tampered with: config.json is not what"),
        (_added, "'policy/more.json' is not in sfp.json"),
        (_removed, "config.json is missing"),
        (_linked, "config.json is missing"),
        (_escaping, "names '../../evil.json'"),
        (_strange, "is none of sfp's"),
        (_gone, "holds nothing of sfp's"),
    ],
)
def test_a_folder_that_was_tampered_with(policy, tmp_path, damage, says):
    repo = tmp_path / "repo"
    pack(policy, repo)
    check(repo, manifest_digest(repo))
    damage(repo)
    with pytest.raises(SfpError, match=says):
        unpack(repo, tmp_path / "got")
    assert not (tmp_path / "got").exists()
    assert not (tmp_path / "evil.json").exists()


def test_one_line_for_what_cannot_be(policy, tmp_path, monkeypatch, capsys):
    with pytest.raises(SfpError, match="neither a folder nor a repository"):
        pull("not a name", tmp_path / "x")
    with pytest.raises(SfpError, match="cannot be shared"):
        push(tmp_path / "nothing", "me/it")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SfpError, match="pip install"):
        push(policy, "me/it")
    with pytest.raises(SystemExit):
        main(["push", str(policy)])
    assert "expected one of --to" in capsys.readouterr().err
