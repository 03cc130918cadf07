"""Writing that is whole or absent, and checksums that catch a flipped bit."""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from sfp.errors import Busy, SfpError

CHECKSUMS = "SHA256SUMS"
REMEDY = f"Make it anew, or delete {CHECKSUMS} if you changed it on purpose."
GLANCE = 0.2
"""Seconds for which whoever only looks whether a folder is locked may hold its lock."""


@contextlib.contextmanager
def atomic_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a hidden folder that becomes `target` when the block succeeds.

    The content is synced to disk and gets a `SHA256SUMS` (readable by `sha256sum -c`)
    before it takes the name. If the block fails nothing is left behind, and a folder
    that stood at `target` stays untouched.
    """
    with disk_errors(target):
        if target.exists() and not force:
            raise SfpError(f"{target} exists already: add --force to replace it.")
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        prefix = f".draft-{target.name}-{os.getpid()}-"
        draft = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        try:
            draft.chmod(0o755)
            yield draft
            write_checksums(draft)
            _swap(draft, target) if force else draft.rename(target)
            _sync_name(target)
        finally:
            remove(draft)


@contextlib.contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a new hidden file, same suffix, that becomes `target` on success."""
    with disk_errors(target):
        if not target.name or target.is_dir():
            raise SfpError(f"{str(target)!r} is a folder: expected the name of a file.")
        draft = target.with_name(f".draft-{secrets.token_hex(8)}{target.suffix}")
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(_open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            yield draft
            _sync(draft)
            draft.replace(target)
            _sync_name(target)
        finally:
            draft.unlink(missing_ok=True)


def write_json(target: Path, value: Any) -> Path:
    with atomic_file(target) as draft:
        draft.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    return target


def regular(path: Path) -> Path:
    """The same path; an `OSError` if it is there and no file.

    Whoever opens a pipe waits for ever, and a device has no end.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected a file", str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "expected a regular file", str(path))
    return path


def append_to(path: Path) -> IO[bytes]:
    return os.fdopen(_open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")


def _open(path: Path, flags: int) -> int:
    """Open a regular file; an `OSError` if it is a link, a pipe or a device."""
    never = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(path, flags | never, 0o666)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
    return file


def write_checksums(folder: Path) -> None:
    """Write SHA256SUMS over every file below `folder`, and sync all of it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {str(path.relative_to(folder)): _digest(path) for path in files}
    (folder / CHECKSUMS).write_text(_listed(sums), encoding="utf-8")
    for path in [*files, folder / CHECKSUMS]:
        _sync(path)


def write_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Write SHA256SUMS from digests by name: of files that may come after it."""
    with atomic_file(folder / CHECKSUMS) as draft:
        draft.write_text(_listed(sums), encoding="utf-8")


def read_sums(folder: Path) -> dict[str, str] | None:
    """The digests by name in a folder's SHA256SUMS; None if it has none."""
    path = folder / CHECKSUMS
    if not os.path.lexists(path):
        return None
    try:
        *rows, rest = regular(path).read_bytes().decode().split("\n")
        sums = {name: digest for digest, name in (r.split("  ", 1) for r in rows)}
    except (OSError, ValueError):  # not there, not text, or not in two columns
        raise SfpError(f"{path} is damaged. {REMEDY}") from None
    if rest or not sums:
        raise SfpError(f"{path} is truncated. {REMEDY}")
    return sums


def check_sums(folder: Path, sums: Mapping[str, str], names: Iterable[str]) -> None:
    """Raise unless every one of these files is there, bit for bit."""
    for name in names:
        if name not in sums:
            raise SfpError(
                f"{folder / CHECKSUMS} is truncated: it lacks {name}. {REMEDY}"
            )
        if not os.path.isfile(folder / name):  # False too for a name that cannot be
            raise SfpError(f"{folder} is damaged: {name} is missing. {REMEDY}")
        if _digest(folder / name) != sums[name]:
            raise SfpError(
                f"{folder} is damaged: {name} is not what was written. {REMEDY}"
            )


def verify_checksums(folder: Path, *loaded: str) -> bool:
    """Raise unless every file named in SHA256SUMS is there, bit for bit.

    Files, and files in folders, that are `loaded` must be named. Without any checksums
    (somebody deleted them) there is a warning, and the result is False.
    """
    sums = read_sums(folder)
    if sums is None:
        warn_unverified(folder)
        return False
    below = [p for name in loaded for p in (folder / name).rglob("*") if p.is_file()]
    files = [name for name in loaded if (folder / name).is_file()]
    files += [str(path.relative_to(folder)) for path in below]
    check_sums(folder, sums, [*sums, *(name for name in files if name not in sums)])
    return True


def warn_unverified(folder: Path) -> None:
    warnings.warn(f"{folder} has no {CHECKSUMS}: it is unverified.", stacklevel=3)


def digest(content: str | bytes) -> str:
    content = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(content).hexdigest()


def _listed(sums: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_name(path: Path) -> None:
    """Let a name survive a loss of power, where the file system can."""
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sweep_all(folder: Path) -> None:
    """Remove every draft in a folder that is locked: their writers are dead."""
    for draft in folder.glob(".draft-*"):
        remove(draft)


def _sweep(target: Path) -> None:
    """Remove drafts of `target` whose writer was killed."""
    ours = re.compile(rf"\.draft-{re.escape(target.name)}-(\d+)-\w+")
    for draft in target.parent.iterdir():
        name = ours.fullmatch(draft.name)
        if name and not _is_alive(int(name[1])):
            remove(draft)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _swap(draft: Path, target: Path) -> None:
    """Give `draft` the name `target`; an old `target` takes the draft's."""
    if not target.exists():
        draft.rename(target)
    elif not _exchange(draft, target):
        old = draft.with_name(f"{draft.name}-old")
        target.rename(old)
        try:
            draft.rename(target)
        except OSError:
            old.rename(target)
            raise
        old.rename(draft)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step, so that neither is ever missing (Linux only)."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return renameat2(here, bytes(one), here, bytes(other), exchange) == 0


@contextlib.contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Turn a full, read-only or forbidden disk into one line."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SfpError(
            f"cannot write {target}: {reason}. Nothing was left behind; "
            "free some space or choose a folder that you may write to."
        ) from error


@contextlib.contextmanager
def locked(folder: Path, doing: str) -> Iterator[Callable[[], None]]:
    """Make a folder and let nobody else write to it meanwhile.

    Yields a function that raises once the folder has been moved or deleted: from then
    on, open files and new files would lie in two places. `doing` says in the message
    what another process does there.
    """
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "lock").is_symlink():
            raise SfpError(f"{folder / 'lock'} is a link, expected a file: delete it.")
        lock = os.fdopen(_open(folder / "lock", os.O_RDWR | os.O_CREAT), "rb+")
    with lock as file:
        deadline = time.monotonic() + GLANCE
        while not _taken(file):
            if time.monotonic() > deadline:
                raise Busy(
                    f"another process is {doing} {folder}: wait for it or choose "
                    "another --out."
                )
            time.sleep(0.02)

        def check() -> None:
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(folder / "lock")):
                    return
            raise SfpError(
                f"{folder} was moved or deleted while it was written: put it back, "
                "and go on with what it holds."
            )

        yield check


def _taken(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(folder: Path) -> bool:
    try:
        with os.fdopen(_open(folder / "lock", os.O_RDONLY), "rb") as file:
            return not _taken(file)
    except OSError:  # there is none
        return False


def check_writable(folder: Path) -> None:
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"?")
