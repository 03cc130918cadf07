"""Folders and files are whole or absent, and a flipped bit is noticed."""

import os
import subprocess
import sys

import pytest

from sfp import files
from sfp.errors import SfpError
from sfp.files import atomic_file, atomic_folder, verify_checksums


def content(folder):
    """Every file below a folder, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def fill(folder, text="new"):
    (folder / "a.txt").write_text(text)
    (folder / "inner").mkdir()
    (folder / "inner" / "b.bin").write_bytes(bytes(range(32)))


@pytest.fixture
def target(tmp_path):
    """A finished folder with its checksums."""
    target = tmp_path / "out" / "target"
    with atomic_folder(target) as draft:
        fill(draft, "old")
    return target


@pytest.fixture
def dead():
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_folder_appears_whole_with_checksums_that_sha256sum_reads(tmp_path):
    target = tmp_path / "deep" / "er" / "target"
    with atomic_folder(target) as draft:
        fill(draft)
        assert not target.exists()
        assert draft.parent == target.parent
    assert set(content(target.parent)) == {
        "target/a.txt",
        "target/inner/b.bin",
        "target/SHA256SUMS",
    }
    assert target.stat().st_mode & 0o777 == 0o755
    verify_checksums(target)
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    subprocess.run(command, cwd=target, check=True, capture_output=True)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("mine"), SystemExit])
@pytest.mark.parametrize("force", [False, True])
def test_a_failure_leaves_nothing_and_keeps_the_old(tmp_path, target, error, force):
    before = content(tmp_path)
    goal = target if force else target.with_name("other")

    def fail():
        with atomic_folder(goal, force=force) as draft:
            fill(draft)
            raise error

    with pytest.raises((KeyboardInterrupt, ValueError, SystemExit)):
        fail()
    assert content(tmp_path) == before


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_cannot_be_synced_does_not_take_the_name(
    tmp_path, target, monkeypatch, kind
):
    before = content(tmp_path)

    def full(fd):
        raise OSError(28, "No space left on device")

    def write():
        if kind == "folder":
            with atomic_folder(target, force=True) as draft:
                fill(draft)
        else:
            with atomic_file(target / "a.txt") as draft:
                draft.write_text("new")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SfpError, match=r"cannot write .*: No space left on device\."):
        write()
    assert content(tmp_path) == before


def test_existing_is_refused_before_the_block_runs(target):
    before = content(target.parent)
    with (
        pytest.raises(SfpError, match="target exists already: add --force"),
        atomic_folder(target),
    ):
        pytest.fail("the block ran")
    assert content(target.parent) == before


def test_who_comes_second_does_not_replace_without_force(tmp_path):
    target = tmp_path / "target"

    def write_during_another():
        with atomic_folder(target) as slow:
            fill(slow, "slow")
            with atomic_folder(target) as fast:
                fill(fast, "fast")

    with pytest.raises(SfpError, match="cannot write"):
        write_during_another()
    assert content(tmp_path)["target/a.txt"] == b"fast"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.fixture(params=["exchange", "rename"])
def way(request, monkeypatch):
    """With and without Linux's atomic exchange."""
    if request.param == "rename":
        monkeypatch.setattr(files.ctypes, "CDLL", lambda name: object())
    elif sys.platform != "linux":
        pytest.skip("only Linux exchanges two names in one step")
    return request.param


def test_force_replaces(target, way):
    with atomic_folder(target, force=True) as draft:
        (draft / "c.txt").write_text("new")
    assert set(content(target.parent)) == {"target/c.txt", "target/SHA256SUMS"}
    verify_checksums(target)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_force_replaces_what_is_no_folder(tmp_path, way, kind):
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    target.write_text("x") if kind == "file" else target.symlink_to(elsewhere)
    with atomic_folder(target, force=True) as draft:
        (draft / "c.txt").write_text("new")
    assert set(content(tmp_path)) == {
        "elsewhere/kept",
        "target/c.txt",
        "target/SHA256SUMS",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "target"]


def test_the_old_comes_back_if_the_new_cannot_take_its_name(target, monkeypatch):
    before = content(target.parent)
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    rename = type(target).rename

    def refuse(path, to):
        if to == target and not path.name.endswith("-old"):
            raise OSError(5, "Input/output error")
        return rename(path, to)

    monkeypatch.setattr(type(target), "rename", refuse)
    with (
        pytest.raises(SfpError, match="Input/output error"),
        atomic_folder(target, force=True) as draft,
    ):
        fill(draft)
    assert content(target.parent) == before


def test_drafts_of_the_dead_are_swept_and_all_others_kept(tmp_path, dead):
    alive, mine = os.getppid(), os.getpid()
    swept = f".draft-target-{dead}-abcd_123"
    beyond = f".draft-target-{10**30}-abcd_123"
    kept = (
        f".draft-target-{alive}-abcd_123",
        f".draft-target-{mine}-abcd_123",
        f".draft-target-v1-{alive}-abcd_123",  # of another target, target-v1
        f".draft-other-{dead}-abcd_123",
        f".draft-target-{dead}-abcd_123-old",  # may be the only copy
        ".draft-target-notes-of-mine",
        f"target-{dead}-abcd_123",
    )
    for name in (swept, beyond, *kept):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    with atomic_folder(tmp_path / "target") as draft:
        fill(draft)
    assert {path.name for path in tmp_path.iterdir()} == {"target", *kept}


def test_somebody_elses_process_counts_as_alive(monkeypatch):
    def forbidden(pid, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", forbidden)
    assert files._is_alive(1)


def test_names_with_wildcards_are_taken_literally(tmp_path, dead):
    (tmp_path / f".draft-x-{dead}-abcd_123").mkdir()
    with atomic_folder(tmp_path / "[xyz]") as draft:
        fill(draft)
    assert (tmp_path / f".draft-x-{dead}-abcd_123").exists()


def test_file_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "new" / "figure.png"
    with atomic_file(target) as draft:
        assert draft.suffix == ".png"
        draft.write_text("one")
        assert not target.exists()
    assert target.read_text() == "one"
    with atomic_file(target) as draft:
        draft.write_text("two")
        assert target.read_text() == "one"
    assert target.read_text() == "two"

    def fail():
        with atomic_file(target) as draft:
            draft.write_text("three")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert content(tmp_path) == {"new/figure.png": b"two"}


@pytest.mark.parametrize("maker", [atomic_folder, atomic_file])
@pytest.mark.parametrize(
    ("name", "reason"),
    [("file/target", "File exists|Not a directory"), ("x" * 300, "File name too long")],
)
def testdisk_errors_are_one_line(tmp_path, maker, name, reason):
    (tmp_path / "file").write_text("in the way")
    before = content(tmp_path)
    with pytest.raises(SfpError, match=reason) as caught, maker(tmp_path / name) as new:
        new.write_text("x") if maker is atomic_file else fill(new)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"cannot write {tmp_path / name}: ")
    assert content(tmp_path) == before


def test_a_folder_in_the_way_of_a_file_is_one_line(tmp_path):
    (tmp_path / "target").mkdir()
    with (
        pytest.raises(SfpError, match="is a folder: expected the name of a file"),
        atomic_file(tmp_path / "target") as draft,
    ):
        draft.write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_long_reasons_of_libraries_become_the_systems_word(tmp_path):
    with (
        pytest.raises(SfpError, match=r"target: No space left on device\. Nothing"),
        atomic_folder(tmp_path / "target"),
    ):
        raise OSError(28, "Can't write\ndata (a page of HDF5's stack)")
    with (
        pytest.raises(SfpError, match=r"target: without a number\. Nothing"),
        atomic_folder(tmp_path / "target"),
    ):
        raise OSError("without\na number")


def test_a_flipped_bit_in_any_byte_is_noticed(target):
    verify_checksums(target)
    for name, original in content(target).items():
        path = target / name
        for position, byte in enumerate(original):
            for bit in range(8) if chr(byte).isspace() else [position % 8]:
                damaged = bytearray(original)
                damaged[position] ^= 1 << bit
                path.write_bytes(damaged)
                with pytest.raises(SfpError, match=r"damaged|truncated|missing"):
                    verify_checksums(target)
        path.write_bytes(original)
    verify_checksums(target)


def test_every_truncation_is_noticed(target):
    for name, original in content(target).items():
        path = target / name
        for length in range(len(original)):
            path.write_bytes(original[:length])
            if name == "SHA256SUMS" and original[length - 1 : length] == b"\n":
                continue  # what is loaded must be named: see below
            with pytest.raises(SfpError, match=r"damaged|truncated"):
                verify_checksums(target)
        path.write_bytes(original)


def test_missing_file_changed_file_and_no_list(target):
    (target / "a.txt").write_text("changed")
    with pytest.raises(SfpError, match=r"a\.txt is not what was written\. Make it"):
        verify_checksums(target)
    (target / "a.txt").unlink()
    with pytest.raises(SfpError, match=r"a\.txt is missing\. Make it anew"):
        verify_checksums(target)
    (target / "SHA256SUMS").unlink()
    with pytest.warns(UserWarning, match="target has no SHA256SUMS: it is unverified"):
        assert not verify_checksums(target)


def test_every_file_that_is_loaded_must_be_named(target):
    sums = target / "SHA256SUMS"
    assert verify_checksums(target, "a.txt", "inner")
    whole = sums.read_text().splitlines(keepends=True)
    assert len(whole) == 2
    for i, name in enumerate(("a.txt", "inner/b.bin")):
        sums.write_text(whole[1 - i])
        for loaded in (name, name.partition("/")[0]):
            with pytest.raises(SfpError, match=f"truncated: it lacks {name}"):
                verify_checksums(target, loaded)
    sums.write_text("".join(whole))
    (target / "inner" / "added").touch()
    assert verify_checksums(target, "a.txt")
    with pytest.raises(SfpError, match="it lacks inner/added"):
        verify_checksums(target, "inner")


@pytest.mark.parametrize("what", ["nowhere", "a loop", "a pipe", "a folder"])
def test_what_is_no_list_of_checksums_does_not_pass(target, what):
    sums = target / "SHA256SUMS"
    sums.unlink()
    if what == "a pipe":
        os.mkfifo(sums)
    elif what == "a folder":
        sums.mkdir()
    else:
        sums.symlink_to("SHA256SUMS" if what == "a loop" else "nowhere")
    with pytest.raises(SfpError, match="SHA256SUMS is damaged"):
        verify_checksums(target)


# Links that somebody has planted are not written through, and pipes are not opened.


@pytest.fixture
def precious(tmp_path):
    path = tmp_path / "precious"
    path.write_text("years of work")
    return path


def test_drafts_are_new_files_of_unforeseeable_names(tmp_path, precious, monkeypatch):
    seen = []
    for _ in range(2):
        with atomic_file(tmp_path / "out.csv") as draft:
            assert draft.is_file()
            assert draft.suffix == ".csv"
            assert draft.stat().st_mode & 0o777 == 0o666 & ~_umask()
            seen.append(draft.name)
    assert seen[0] != seen[1]
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "guessed")
    (tmp_path / ".draft-guessed.csv").symlink_to(precious)
    with (
        pytest.raises(SfpError, match="File exists"),
        atomic_file(tmp_path / "out.csv"),
    ):
        pytest.fail("the block ran")
    assert precious.read_text() == "years of work"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_link_in_place_of_a_file_is_replaced_not_followed(tmp_path, precious):
    (tmp_path / "out.csv").symlink_to(precious)
    with atomic_file(tmp_path / "out.csv") as draft:
        draft.write_text("new")
    assert precious.read_text() == "years of work"
    assert not (tmp_path / "out.csv").is_symlink()


def test_a_planted_lock_is_refused(tmp_path, precious):
    (tmp_path / "lock").symlink_to(precious)
    assert not files.is_locked(tmp_path)
    with (
        pytest.raises(SfpError, match="lock is a link, expected a file: delete it"),
        files.locked(tmp_path, "training in"),
    ):
        pytest.fail("the block ran")
    assert precious.read_text() == "years of work"
    (tmp_path / "lock").unlink()
    os.mkfifo(tmp_path / "lock")
    assert not files.is_locked(tmp_path)
    with pytest.raises(SfpError, match="cannot write"), files.locked(tmp_path, "x"):
        pytest.fail("the block ran")


def test_appending_follows_no_link(tmp_path, precious):
    for _ in range(2):
        with files.append_to(tmp_path / "log") as file:
            file.write(b"x")
    assert (tmp_path / "log").read_bytes() == b"xx"
    (tmp_path / "link").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        files.append_to(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        files.append_to(tmp_path / "pipe")
    assert precious.read_text() == "years of work"


@pytest.mark.parametrize(
    "garbage", [b"", b"\n", b"nonsense\n", b"\xff\xfe\x00", b"0" * 64 + b"  a.txt"]
)
def test_garbage_in_place_of_checksums(target, garbage):
    (target / "SHA256SUMS").write_bytes(garbage)
    with pytest.raises(SfpError, match=r"SHA256SUMS is (damaged|truncated)"):
        verify_checksums(target)


@pytest.mark.slow
def test_stale_draft_of_a_killed_process_is_gone_at_the_next_try(tmp_path):
    """A real process, killed in the middle of writing."""
    script = (
        "import sys, pathlib; from sfp.files import atomic_folder\n"
        "with atomic_folder(pathlib.Path(sys.argv[1])) as draft:\n"
        "    (draft / 'half').write_text('x'); print('ready', flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "target")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        process.wait()
    assert [path.name[:14] for path in tmp_path.iterdir()] == [".draft-target-"]
    with atomic_folder(tmp_path / "target") as draft:
        fill(draft)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
