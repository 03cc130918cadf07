"""The network part of sharing: repositories on the Hugging Face hub, or one like it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfp.bridges.share import Manifest, manifest_digest, pack, unpack
from sfp.errors import SfpError, reason

NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
"""Of a repository: owner/name."""


def push(what: str | Path, to: str, *, private: bool = True) -> tuple[Manifest, str]:
    """Pack a prior, policy, run or results, and upload it; also returns its digest.

    Whoever uploads must have logged in with `hf auth login`.
    """
    check_name(to)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / to.partition("/")[2]
        manifest = pack(what, packed)
        api = _api()
        with _errors(to):
            api.create_repo(to, private=private, exist_ok=True)
            said = f"sfp push: a {manifest.kind}"
            api.upload_folder(
                repo_id=to,
                folder_path=packed,
                commit_message=said,
                delete_patterns="*",
            )
        return manifest, manifest_digest(packed)


def pull(
    source: str,
    out: str | Path,
    *,
    revision: str = "main",
    expected: str | None = None,
    force: bool = False,
) -> Manifest:
    """Fetch a repository, or take a local folder of its layout; check and unpack it.

    Args:
        source: owner/name, or the path of a folder.
        out: the folder to make.
        revision: branch, tag or commit.
        expected: the digest of its `sfp.json`, if it is known.
        force: replace what is there.
    """
    if Path(source).is_dir():
        return unpack(Path(source), out, expected=expected, force=force)
    check_name(source)
    api = _api()
    with tempfile.TemporaryDirectory() as folder:
        with _errors(source):
            api.snapshot_download(source, revision=revision, local_dir=folder)
        return unpack(Path(folder), out, expected=expected, called=source, force=force)


def check_name(name: str) -> None:
    """Refuse what is no repository's name."""
    if not NAME.fullmatch(name):
        raise SfpError(
            f"{name} is neither a folder nor a repository: expected owner/name."
        )


def _api() -> Any:
    try:
        from huggingface_hub import HfApi  # pyright: ignore[reportMissingImports]
        from huggingface_hub.utils import (  # pyright: ignore[reportMissingImports]
            disable_progress_bars,
        )
    except ImportError:
        raise SfpError(
            "the hub needs the package huggingface_hub: pip install "
            "'state-free-priors[hub]', or share a folder (--folder)."
        ) from None
    disable_progress_bars()
    return HfApi(library_name="sfp")


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """What the hub or the network says, in one line."""
    try:
        yield
    except SfpError:
        raise
    except Exception as error:
        raise SfpError(
            f"the hub did not serve {name} ({type(error).__name__}: {reason(error)}): "
            "check the name, the network and `hf auth whoami`."
        ) from error
