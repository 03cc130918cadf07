"""Looks at nodes before anything runs on them: folder, package, datasets, CPU."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sfp
from sfp.compute import cpu_kind
from sfp.documents import read_json
from sfp.errors import SfpError
from sfp.files import check_writable, disk_errors
from sfp.versions import version

PACKAGES = ("sfp", "jax", "jaxlib", "numpy")
CPU = "cpu.json"
"""In the folder of the results: the kind of CPU that its runs are from."""


@dataclass(frozen=True)
class Question:
    """What a node is asked: whether it sees these files, and the sign with its word."""

    sign: str
    word: str
    files: tuple[str, ...]


@contextmanager
def asking(out: Path, datasets: Path, markers: Sequence[Path]) -> Iterator[Question]:
    """Put up a sign in both folders, for nodes to find."""
    word = secrets.token_hex(8)
    for folder in (out, datasets):
        check_writable(folder)
    signs = [folder / f".probe-{word}" for folder in {out, datasets}]
    try:
        for sign in signs:
            sign.write_text(word, encoding="utf-8")
        seen = [*signs, *(path for path in markers if path.is_file())]
        yield Question(str(out / f".probe-{word}"), word, tuple(map(str, seen)))
    finally:
        for sign in [*signs, *out.glob(f".probe-{word}-*")]:
            sign.unlink(missing_ok=True)


def examine(question: dict[str, Any]) -> dict[str, Any]:
    """Answer on a node: its package, its CPU, what it does not see or cannot write."""
    asked = Question(**question)
    sign, wrong = Path(asked.sign), ""
    try:
        if sign.read_text(encoding="utf-8") != asked.word:
            wrong = f"sees another {sign.parent}"
        mine = sign.with_name(f"{sign.name}-{secrets.token_hex(4)}")
        mine.write_text(asked.word, encoding="utf-8")
    except OSError as error:
        cannot = os.strerror(error.errno or 0)
        wrong = f"does not share the folder {sign.parent} ({cannot})"
    missing = [file for file in asked.files if not os.path.isfile(file)]
    if missing and not wrong:
        wrong = f"does not see {missing[0]}"
    return {"source": source(), "cpu": cpu_kind(), "wrong": wrong}


def judge(answers: Mapping[str, dict[str, Any]], out: Path, *, any_cpu: bool) -> None:
    """Refuse a cluster of which a node is unfit, by its name.

    Its CPU must be of the kind that `out` has runs of, else of the most frequent one.
    """
    for node, found in answers.items():
        if found["wrong"]:
            raise SfpError(
                f"node {node} {found['wrong']}: give it a folder that all nodes share "
                "with --out, or take the node out of the cluster."
            )
        if found["source"] != source():
            raise SfpError(
                f"node {node} has {found['source']}, this machine {source()}: install "
                "the same version on all of them."
            )
    if any_cpu:
        return
    kinds = Counter(str(found["cpu"]) for found in answers.values())
    held = read_cpu(out)
    wanted = held or kinds.most_common(1)[0][0]
    for node, found in answers.items():
        if found["cpu"] != wanted:
            of = "runs in it are from" if held else "others have"
            raise SfpError(
                f"node {node} has another CPU ({found['cpu']}) than {of} ({wanted}), "
                "and bits may differ: take it out, or add --any-cpu, which uses all "
                "of them; every run tells its CPU in versions.json."
            )
    settle_cpu(out, wanted)


def check_node(out: str, datasets: str, wanted: str, *, any_cpu: bool) -> None:
    """Refuse this node if it is not what an order needs."""
    name = platform.node()
    for folder in (out, datasets):
        if not os.path.isdir(folder):
            raise SfpError(f"node {name} does not share the folder {folder}")
    if source() != wanted:
        raise SfpError(f"node {name} has {source()}, the driver {wanted}")
    if not any_cpu and cpu_kind() != (held := settle_cpu(Path(out), cpu_kind())):
        raise SfpError(
            f"node {name} has another CPU ({cpu_kind()}) than runs in {out} are from "
            f"({held}), and --any-cpu was not given"
        )


def read_cpu(out: Path) -> str | None:
    path = out / CPU
    return str(read_json(path).get("cpu")) if path.is_file() else None


def settle_cpu(out: Path, mine: str) -> str:
    """The kind of CPU that runs in `out` are from: the first one decides."""
    if (held := read_cpu(out)) is not None:
        return held
    with disk_errors(out / CPU):
        draft = out / f".draft-{secrets.token_hex(8)}.json"
        draft.write_text(json.dumps({"cpu": mine}) + "\n", encoding="utf-8")
        try:
            os.link(draft, out / CPU)  # only one can, and all of it is there at once
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return read_cpu(out) or mine


@functools.cache
def source() -> str:
    """The package, to the bit: versions, and a digest of its own source."""
    home, digest = Path(sfp.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(str(path.relative_to(home)).encode() + path.read_bytes())
    found = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = platform.python_version()
    return f"{found}, source {digest.hexdigest()[:8]}, Python {python}"
