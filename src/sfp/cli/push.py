"""`sfp push` and `sfp pull`: share priors, policies and results."""

from __future__ import annotations

from pathlib import Path

import tyro

from sfp.cli.console import show
from sfp.errors import SfpError


def push(
    what: tyro.conf.Positional[str],
    *,
    to: str | None = None,
    folder: Path | None = None,
    public: bool = False,
    force: bool = False,
    json: bool = False,
) -> None:
    """Share a prior, a policy or results: a repository with a card and checksums.

    To a folder, which any file server or git repository can hold:
        sfp push priors/mine --folder shared/mine

    To the Hugging Face hub, after `hf auth login`:
        sfp push priors/mine --to owner/mine

    Args:
        what: a prior, a run that has ended, a policy, or results of `sfp report`.
        to: a repository of the hub, owner/name.
        folder: write the same layout here, without the network.
        public: let everybody see a new repository; by default only you can.
        force: replace an existing folder.
        json: print one JSON document.
    """
    from sfp.bridges.hub import push as upload
    from sfp.bridges.share import manifest_digest, pack

    if (to is None) == (folder is None):
        raise SfpError("expected one of --to OWNER/NAME and --folder PATH.")
    if folder is not None:
        made = pack(what, folder, force=force)
        where, said = str(folder), manifest_digest(folder)
    else:
        where = str(to)
        made, said = upload(what, where, private=not public)
    row = {"pushed": where, "kind": made.kind, "files": len(made.files), "digest": said}
    note = f"Fetch it: sfp pull {where} --out mine --digest {said}"
    show([row], json=json, notes=[note])


def pull(
    source: tyro.conf.Positional[str],
    *,
    out: Path,
    revision: str = "main",
    digest: str | None = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Fetch a shared prior, policy or results; every file is checked.

        sfp pull owner/mine --out priors/mine
        sfp pull shared/mine --out priors/mine

    Loading never runs code, whoever wrote the files.

    Args:
        source: a repository of the hub, owner/name, or a folder of `sfp push`.
        out: the folder to make.
        revision: branch, tag or commit of a repository.
        digest: that `sfp push` printed: refuse anything else.
        force: replace an existing folder.
        json: print one JSON document.
    """
    from sfp.bridges.hub import pull as fetch

    made = fetch(source, out, revision=revision, expected=digest, force=force)
    row = {"pulled": str(out), "kind": made.kind, "files": len(made.files)}
    show([row], json=json)
