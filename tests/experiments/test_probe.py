"""Nodes that are unfit are named before anything runs on them."""

from dataclasses import asdict

import pytest

from sfp.compute import cpu_kind
from sfp.errors import SfpError
from sfp.experiments import probe
from sfp.experiments.probe import asking, check_node, examine, judge, source


def answer(**found):
    return {"source": source(), "cpu": "new", "wrong": ""} | found


def test_a_node_that_shares_the_folders_is_fit(tmp_path):
    data = tmp_path / "datasets"
    marker = data / "metadata.json"
    data.mkdir()
    marker.touch()
    missing = data / "not-recorded-yet.json"
    with asking(tmp_path, data, [marker, missing]) as question:
        found = examine(asdict(question))
        assert found == {"source": source(), "cpu": cpu_kind(), "wrong": ""}
        marker.unlink()
        assert examine(asdict(question))["wrong"] == f"does not see {marker}"
    assert [path.name for path in tmp_path.iterdir()] == ["datasets"]
    wrong = examine(asdict(question))["wrong"]
    assert wrong.startswith(f"does not share the folder {tmp_path} (No such file")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (answer(wrong="does not share the folder /out"), "node b does not share the"),
        (answer(wrong="does not see /out/x"), "node b does not see /out/x: give it a"),
        (answer(source="sfp 0.0.1"), "node b has sfp 0.0.1, this machine sfp 0.1"),
        (answer(cpu="old"), r"node b has another CPU \(old\) than others have \(new\)"),
    ],
)
def test_an_unfit_node_is_named(tmp_path, other, words):
    answers = {"a": answer(), "b": other, "c": answer()}
    with pytest.raises(SfpError, match=words):
        judge(answers, tmp_path, any_cpu=False)
    assert not (tmp_path / "cpu.json").exists()


def test_a_folder_remembers_its_kind_of_cpu(tmp_path):
    judge({"a": answer(), "b": answer(cpu="old")}, tmp_path, any_cpu=True)
    assert probe.read_cpu(tmp_path) is None
    judge({"a": answer()}, tmp_path, any_cpu=False)
    assert probe.read_cpu(tmp_path) == "new"
    with pytest.raises(SfpError, match=r"another CPU \(old\) than runs in it are from"):
        judge({"b": answer(cpu="old")}, tmp_path, any_cpu=False)
    judge({"b": answer(cpu="old")}, tmp_path, any_cpu=True)


def test_a_node_looks_at_itself(tmp_path, monkeypatch):
    out = str(tmp_path)
    check_node(out, out, source(), any_cpu=False)
    check_node(out, out, source(), any_cpu=False)
    with pytest.raises(SfpError, match="does not share the folder /nowhere"):
        check_node("/nowhere", out, source(), any_cpu=False)
    with pytest.raises(SfpError, match="the driver sfp 9"):
        check_node(out, out, "sfp 9", any_cpu=False)
    monkeypatch.setattr(probe, "cpu_kind", lambda: "old")
    with pytest.raises(SfpError, match=r"another CPU \(old\)"):
        check_node(out, out, source(), any_cpu=False)
    check_node(out, out, source(), any_cpu=True)
