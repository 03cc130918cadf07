"""Documents and text files: one reader, one line, one encoding."""

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sfp.documents import as_record, parse_json, read_json
from sfp.errors import SfpError

SOURCES = sorted((Path(__file__).parent.parent / "src").rglob("*.py"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"\xff\xfe{}", "codec can't decode"),
        (b"[]", "expected a JSON object, received a list"),
        (b"5", "expected a JSON object, received a int"),
        (b'{"a": ' * 100_000, "nested too deep"),
        (b'{"a": ' * 40 + b"1" + b"}" * 40, "nested too deep"),
        (b'{"a": ' + b"[" * 800 + b"]" * 800 + b"}", "nested too deep"),
        (b'{"a": 1' + b"0" * 400 + b"}", "a whole number beyond 64 bit"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "Exceeds the limit"),
        (b'{"a": 9223372036854775808}', "a whole number beyond 64 bit"),
        (b'{"a": -1e400}', "a number beyond all floats"),
        (b'{"a": "\\ud800"}', "surrogates not allowed"),
        (b'{"\\ud800": 1}', "surrogates not allowed"),
    ],
)
def test_a_damaged_document_is_one_line(tmp_path, content, reason):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(SfpError, match=f"x.json is damaged: .*{reason}.*Try it.$") as e:
        read_json(path, "Try it.")
    assert "\n" not in str(e.value)


def test_a_document_that_cannot_be_read(tmp_path):
    with pytest.raises(SfpError, match=r"cannot read .*nowhere: No such file"):
        read_json(tmp_path / "nowhere")
    with pytest.raises(SfpError, match=r"cannot read .*: Is a directory"):
        read_json(tmp_path)


def test_a_sound_document_is_what_json_says():
    held = {"λ": [1, -(2**63) + 1, 1e308, True, None, {"deep": [[["x"]]]}]}
    assert parse_json(json.dumps(held)) == held


@dataclass
class Record:
    name: str
    count: int
    share: float
    sizes: dict[str, list[int]]
    note: str | None = None
    words: list[str] = field(default_factory=list)


GOOD = {"name": "a", "count": 1, "share": 1, "sizes": {"": [2]}}


def test_a_record_of_the_right_types():
    assert as_record(Record, GOOD) == Record("a", 1, 1, {"": [2]})
    assert as_record(Record, GOOD | {"note": "b", "words": ["c"]}).words == ["c"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5},
        {"name": None},
        {"count": True},
        {"count": 1.0},
        {"count": "1"},
        {"share": "1"},
        {"share": False},
        {"sizes": [2]},
        {"sizes": {"": 2}},
        {"sizes": {"": ["2"]}},
        {"note": 3},
        {"words": "c"},
        {"other": 1},
    ],
)
def test_a_record_of_other_types(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        as_record(Record, GOOD | change)
    name = next(iter(change))
    if name in ("name", "count", "share", "sizes"):
        rest = {key: value for key, value in GOOD.items() if key != name}
        with pytest.raises(ValueError, match=f"missing or unknown: {name}"):
            as_record(Record, rest)


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            yield node, name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_text_files_have_an_encoding_and_digits_are_decimal(path):
    """Otherwise the locale decides, and `²` is a digit that is no number."""
    for node, name in calls(path):
        where = f"{path}:{node.lineno}"
        if name in ("read_text", "write_text"):
            assert any(key.arg == "encoding" for key in node.keywords), where
        if name == "open" and getattr(node.func, "value", None) is not None:
            owner = ast.unparse(node.func.value)
            if owner in ("os", "log", "Image"):
                continue
        if name == "open":
            modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            binary = any("b" in str(mode) for mode in modes)
            assert binary or any(key.arg == "encoding" for key in node.keywords), where
        assert name != "isdigit", where


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_json_is_read_in_one_place(path):
    """`json.loads(json.dumps(...))`, makes plain values of ours: no reading.

    plain.py goes with what is exported and stands without the package.
    """
    for node, name in calls(path):
        if name in ("loads", "load") and ast.unparse(node.func).startswith("json"):
            ours = ast.unparse(node.args[0]).startswith("json.dumps")
            here = path.name in ("documents.py", "plain.py")
            assert ours or here, f"{path}:{node.lineno}"
