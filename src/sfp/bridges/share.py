"""Sharing: the layout of a repository that holds a prior, a policy or results.

README.md   a card for people, with the metadata that the Hugging Face hub reads
sfp.json    what it holds, and the digest of every file
prior/      the folder itself, bit for bit; or policy/, or results/
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

from sfp import __version__
from sfp.documents import as_record, read_json
from sfp.errors import SfpError
from sfp.files import CHECKSUMS, atomic_folder, digest, regular
from sfp.priors.store import WEIGHTS, find_prior, open_prior, read_card, shipped
from sfp.training.trained import Trained

FORMAT = 1
CARD, MANIFEST = "README.md", "sfp.json"
BESIDE = {CARD, MANIFEST, ".gitattributes", CHECKSUMS}
"""What a repository may hold besides the listed files."""

SUFFIXES = {"", ".csv", ".html", ".json", ".md", ".png", ".safetensors", ".svg", ".txt"}
"""Of files that are shared: nothing that runs when it is loaded."""

LARGEST = 2**30
Kind = Literal["prior", "policy", "results"]


@dataclass(frozen=True)
class Manifest:
    """What a repository holds.

    Attributes:
        kind: of the folder inside.
        files: the digest of every file, by its path below that folder.
        sfp: the version that packed it.
        format: of this document.
    """

    kind: str
    files: dict[str, str]
    sfp: str
    format: int = FORMAT


@dataclass(frozen=True)
class Shared:
    """A folder that can be shared: its files and what a card says of it."""

    kind: Kind
    files: dict[str, Path]
    facts: dict[str, Any]


def find(what: str | Path) -> Shared:
    """What a user means: a prior, a policy (also of a run), or a folder of results."""
    path = Path(what)
    for folder in (path, path / "policy"):
        if (folder / "policy.safetensors").is_file():
            spec = Trained.load(folder).spec
            facts = {"task": spec.task, "method": spec.method}
            facts |= {"observation": spec.obs_size, "goal": spec.goal_size}
            facts |= {"action bounds": _bounds(spec.low, spec.high)}
            return Shared("policy", _files(folder), facts)
    if (path / WEIGHTS).is_file() or str(what) in shipped():
        _, card = open_prior(what)
        facts = {"model": card.model, "sees": str(card.conditioning)}
        facts |= {"action bounds": _bounds(card.low, card.high)}
        facts |= {"learned from": card.data.get("source")}
        facts |= {"held-out score": card.score, "actions": ", ".join(card.names)}
        return Shared("prior", _files(find_prior(what)), facts)
    if any((path / name).is_file() for name in ("section.json", "summary.csv")):
        return Shared("results", _files(path), {})
    raise SfpError(
        f"{what} cannot be shared: expected a prior, a run that has ended or its "
        "policy, or a folder of results that `sfp report --figures` wrote."
    )


def pack(what: str | Path, folder: str | Path, *, force: bool = False) -> Manifest:
    """Write the layout of a repository, whole or not at all.

    Args:
        what: the prior, policy, run or results to share.
        folder: to make.
        force: replace what is there.
    """
    found = find(what)
    name = Path(folder).name
    with atomic_folder(Path(folder), force=force) as draft:
        sums = {}
        for relative, path in found.files.items():
            target = draft / found.kind / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes()
            target.write_bytes(content)
            sums[relative] = digest(content)
        manifest = Manifest(found.kind, sums, __version__)
        (draft / MANIFEST).write_text(_json(manifest), encoding="utf-8")
        (draft / CARD).write_text(_card(name, found), encoding="utf-8")
    return manifest


def unpack(
    folder: Path,
    out: str | Path,
    *,
    expected: str | None = None,
    called: str | None = None,
    force: bool = False,
) -> Manifest:
    """Check a repository's files and write the folder inside, whole or not at all.

    Args:
        folder: in the layout that `pack` writes.
        out: the folder to make.
        expected: the digest of `sfp.json`, if it is known; `sfp push` prints it.
        called: what errors call the repository; by default the folder.
        force: replace what is there.
    """
    manifest = check(folder, expected, called)
    inner = folder / manifest.kind
    with atomic_folder(Path(out), force=force) as draft:
        for relative in manifest.files:
            target = draft / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(inner / relative, target)
        _check_loads(manifest.kind, draft)
        (draft / CHECKSUMS).unlink(missing_ok=True)  # it is written anew, for all files
    return manifest


def check(
    folder: Path, expected: str | None = None, called: str | None = None
) -> Manifest:
    """The manifest of a repository, if every file is what it says."""
    path, called = folder / MANIFEST, called or str(folder)
    if not path.is_file():
        raise SfpError(
            f"{called} holds nothing of sfp's: expected {MANIFEST}, as `sfp push` "
            "writes it."
        )
    said = manifest_digest(folder)
    if expected is not None and said != expected:
        raise SfpError(
            f"{called} has the digest {said}, expected {expected}: this is not what "
            "was pushed. Do not use it."
        )
    try:
        manifest = as_record(Manifest, read_json(path))
        known = manifest.kind in ("prior", "policy", "results")
        if manifest.format != FORMAT or not known or not manifest.files:
            raise ValueError(f"kind {manifest.kind!r}, format {manifest.format!r}")
    except (TypeError, ValueError, AttributeError) as error:
        raise SfpError(f"{MANIFEST} of {called} is none of sfp's: {error}.") from None
    for name in manifest.files:
        _check_name(name)
    _check_files(folder, manifest, called)
    return manifest


def manifest_digest(folder: Path) -> str:
    """What identifies a repository's content."""
    return digest(regular(folder / MANIFEST).read_bytes())


def _check_files(folder: Path, manifest: Manifest, called: str) -> None:
    listed = {str(PurePosixPath(manifest.kind) / name) for name in manifest.files}
    held = {str(p.relative_to(folder)): p for p in folder.rglob("*") if not p.is_dir()}
    held = {k: p for k, p in held.items() if not k.startswith(".cache/")}
    strange = sorted(held.keys() - listed - BESIDE)
    if strange:
        raise SfpError(
            f"{called} was tampered with: {strange[0]!r} is not in {MANIFEST}. Do not "
            "use it, or ask its owner to push it again."
        )
    for name, said in manifest.files.items():
        path = folder / manifest.kind / name
        if path.is_symlink() or not path.is_file():
            raise SfpError(f"{called} is not whole: {name} is missing. Pull it again.")
        if digest(path.read_bytes()) != said:
            raise SfpError(
                f"{called} was tampered with: {name} is not what {MANIFEST} says. Do "
                "not use it, or ask its owner to push it again."
            )


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    inside = not path.is_absolute() and ".." not in path.parts and "\\" not in name
    if not inside or not _is_plain(path) or not path.name:
        raise SfpError(
            f"{MANIFEST} names {name!r}, which sfp does not share: do not use this."
        )


def _is_plain(path: PurePath) -> bool:
    """Whether a file's name is one of those that sfp writes."""
    return path.suffix in SUFFIXES or path.name.startswith("events.out.tfevents.")


def _check_loads(kind: str, folder: Path) -> None:
    """Raise unless the folder is what it is said to be."""
    if kind == "prior":
        read_card(folder / "config.json")
        open_prior(folder)
    elif kind == "policy":
        Trained.load(folder)


def _files(folder: Path) -> dict[str, Path]:
    """What is shared of a folder: all but hidden files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_dir() or hidden:
            continue
        if path.is_symlink() or not _is_plain(path):
            raise SfpError(
                f"{path} cannot be shared: expected only files of the kinds "
                f"{', '.join(sorted(SUFFIXES - {''}))}."
            )
        if path.stat().st_size > LARGEST:
            raise SfpError(f"{path} is too large to share: over {LARGEST:,} bytes.")
        found[relative.as_posix()] = path
    return found


def _card(name: str, shared: Shared) -> str:
    """The card: YAML for the hub, then what people want to know."""
    tags = ["reinforcement-learning", "sfp", f"sfp-{shared.kind}"]
    tags += ["state-free-prior"] if shared.kind == "prior" else []
    head = {"library_name": "sfp", "tags": tags}
    if shared.kind != "results":
        head["pipeline_tag"] = "reinforcement-learning"
    rows = [f"| {key} | {_cell(value)} |" for key, value in shared.facts.items()]
    use = {
        "prior": 'prior = sfp.load_prior("mine")',
        "policy": 'policy = sfp.Trained.load("mine")',
        "results": "# tables and figures, to be read",
    }[shared.kind]
    lines = [
        "---",
        *(f"{key}: {json.dumps(value)}" for key, value in head.items()),
        "---",
        "",
        f"# {_cell(name)}",
        "",
        f"A {shared.kind} of [sfp](https://openreview.net/forum?id=qYNfwFCX9a): "
        "state-free priors for exploration in off-policy reinforcement learning."
        if shared.kind != "results"
        else "Results of sfp: state-free priors for exploration.",
        "",
        *(["| | |", "|---|---|", *rows, ""] if rows else []),
        "```",
        "sfp pull OWNER/NAME --out mine     # checks every file",
        "```",
        "",
        "```python",
        "import sfp",
        "",
        use,
        "```",
        "",
    ]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    """A value inside a table of Markdown, as text."""
    if value is None or value == "":
        return "not known"
    said = f"{value:.4g}" if isinstance(value, float) else str(value)
    for mark in "\\`*_[]<>|":
        said = said.replace(mark, f"\\{mark}" if mark not in "<>" else "")
    return " ".join(said.split())[:200]


def _bounds(low: Any, high: Any) -> str:
    pairs = list(zip(low, high, strict=True))
    said = ", ".join(f"{a:g} to {b:g}" for a, b in pairs[:8])
    return said + (" and so on" if len(pairs) > 8 else "")


def _json(manifest: Manifest) -> str:
    held: Mapping[str, Any] = vars(manifest)
    return json.dumps(held, indent=2, sort_keys=True) + "\n"
