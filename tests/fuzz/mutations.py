"""Damage and malice: what a file can be turned into, drawn from a seeded generator.

`mutate` changes one or a few things of a folder and says what. Damage is bits and
bytes, values of a JSON document, fields of a table, members of an archive; malice is
links, pipes, devices, storage outside the file, sizes that nobody can hold.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import stat
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np

SECRET = "SECRET-7391"
"""What lies beside the data, and may neither be changed nor found in a result."""

NUMBERS = (
    *("0", "-1", "1", "2", "255", "65536", "2147483647", "2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616"),
    *("1e308", "1e400", "-1e400", "NaN", "Infinity", "-Infinity", "0.5", "1e-320"),
    *("1" + "0" * 400, "1" * 5000, "²", "٣", "0x10", "1_000", "--1", "+5", "1,5", ""),
)
WORDS = (
    *("", " ", "\0", "\x1b[31mred\x1b[0m", "[/b]", "[bold]", "{}", "%s", "²", "\ud800"),
    *("../../canary/secret.txt", "/etc/passwd", "planted:Env", "planted", "null"),
    *("planted.inner:Env", "x" * 100_000, "\n", "<script>alert(1)</script>", "é", "-"),
    *("float64", "object", "O", "V8", "|O", "hdf5", "parquet", "arrow", "NaN", "../.."),
)
SIZES = (0, 1, 7, 127, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32)
SIZES += (10**9, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
LARGE = 10**8
TEXT = (".json", ".jsonl", ".csv", ".txt", ".tsv", ".md")


def mutate(rng, root):
    """Damage a folder; returns what was done, and whether it has to be refused."""
    done, forbidden, touched = [], False, set()
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        files = sorted(p for p in root.rglob("*") if _plain(p) and _small(p))
        if not files:
            break
        file = rng.choice(files)
        kinds = [flip, cut, weave, count] * 2 + [place]
        if file.suffix in TEXT or file.name == "SHA256SUMS":
            kinds += [words, lines] * 2
        if file not in touched:  # what is damaged already could hang whoever parses it
            kinds += PARSED.get(file.suffix, [])
        touched.add(file)
        kind = rng.choice(kinds)
        try:
            said = kind(rng, file)
        except Exception as error:
            said = f"no {kind.__name__} ({type(error).__name__})"  # damaged before
        forbidden |= said.startswith("outside")  # and it is read
        done.append(f"{file.relative_to(root)}: {said}")
    if rng.random() < 0.5 and reseal(root):
        done.append("sealed anew")
    return "; ".join(done), forbidden


def reseal(root):
    """Write checksums that fit, as somebody would who means harm."""
    files = {path for path in root.rglob("*") if _plain(path)}
    seals = [path for path in files if path.name == "SHA256SUMS"]
    for seal in sorted(seals, key=lambda path: (-len(path.parts), path)):  # inner first
        rows = seal.read_bytes().decode(errors="replace").splitlines()
        for at, row in enumerate(rows):
            path = seal.parent / row[66:].replace("\0", "")
            if len(row) > 66 and path in files:
                rows[at] = (
                    f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {row[66:]}"
                )
        seal.write_text("".join(f"{row}\n" for row in rows))
    return _relist(root, files) or bool(seals)


def _relist(root, files):
    """The same for the list of a shared repository."""
    path = root / "repo" / "sfp.json"
    if path not in files:
        return False
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        held = json.loads(path.read_text(errors="replace"))
        for name in held["files"]:
            file = path.parent / str(held["kind"]) / name.replace("\0", "")
            if file in files:
                held["files"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
        path.write_text(json.dumps(held))
    return True


def _plain(path):
    return stat.S_ISREG(path.lstat().st_mode)


def _small(path):
    return path.lstat().st_size < LARGE


def flip(rng, file):
    """One to three bits."""
    data = bytearray(file.read_bytes())
    if not data:
        return "empty already"
    places = [rng.randrange(len(data)) for _ in range(rng.choice((1, 1, 2, 3)))]
    for at in places:
        data[at] ^= 1 << rng.randrange(8)
    file.write_bytes(data)
    return f"bits at {places}"


def cut(rng, file):
    """Cut off, cut out, doubled, emptied, or with more behind it."""
    data = file.read_bytes()
    at, to = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    how = rng.choice(("short", "out", "double", "empty", "more", "zeros"))
    changed = {
        "short": data[:at],
        "out": data[:at] + data[to:],
        "double": data[:to] + data[at:],
        "empty": b"",
        "more": data + rng.randbytes(rng.choice((1, 100, 10_000))),
        "zeros": data[:at] + bytes(to - at) + data[to:],
    }
    file.write_bytes(changed[how])
    return f"{how} {at}:{to}"


def weave(rng, file):
    """Random bytes, or a piece of the same file, somewhere."""
    data = bytearray(file.read_bytes())
    if not data:
        return "empty already"
    size = rng.choice((1, 2, 4, 8, 64))
    at, other = rng.randrange(len(data)), rng.randrange(len(data))
    piece = rng.randbytes(size) if rng.random() < 0.5 else data[other : other + size]
    data[at : at + len(piece)] = piece
    file.write_bytes(data)
    return f"{len(piece)} bytes at {at}"


def count(rng, file):
    """A size, in two, four or eight bytes."""
    data = bytearray(file.read_bytes())
    width = rng.choice((2, 4, 8))
    if len(data) < width:
        return "too short"
    at, value = rng.randrange(len(data) - width + 1), rng.choice(SIZES)
    if rng.random() < 0.7:  # sizes are aligned
        at -= at % width
    data[at : at + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    file.write_bytes(data)
    return f"{value} in {width} bytes at {at}"


def words(rng, file):
    """A word or a number of a text becomes another."""
    import re

    text = file.read_bytes().decode(errors="replace")
    found = list(re.finditer(r"-?\d+\.?\d*(e-?\d+)?|\w+", text))
    if not found:
        return "no words"
    chosen = rng.choice(found)
    word = rng.choice(NUMBERS if rng.random() < 0.6 else WORDS)
    text = text[: chosen.start()] + word + text[chosen.end() :]
    file.write_bytes(text.encode(errors="surrogatepass"))
    return f"{chosen[0][:20]!r} -> {word[:20]!r}"


def lines(rng, file):
    """Lines lost, doubled, swapped, joined; other ends, other encodings."""
    rows = file.read_bytes().splitlines(keepends=True) or [b""]
    at, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    how = rng.randrange(8)
    if how == 0:
        del rows[at]
    elif how == 1:
        rows.insert(at, rows[other])
    elif how == 2:
        rows[at], rows[other] = rows[other], rows[at]
    elif how == 3:
        rows[at] = rows[at].rstrip()
    elif how == 4:
        rows = [row.replace(b"\n", b"\r\n") for row in rows]
    elif how == 5:
        rows = [b"".join(rows).decode(errors="replace").encode("utf-16")]
    elif how == 6:
        rows[at] = rows[at] * 3000
    else:
        rows[at] = b'"' + rows[at]
    file.write_bytes(b"".join(rows))
    return f"lines, way {how} at {at}"


def document(rng, file):
    """A value of a JSON document becomes another, goes, or gets another name."""
    held = json.loads(file.read_bytes())
    spots = list(_spots(held))
    if not spots or rng.random() < 0.03:
        deep = rng.choice((100, 5000, 100_000))
        file.write_text("[" * deep + "]" * deep)
        return f"nested {deep} deep"
    holder, key = rng.choice(spots)
    old, how = holder[key], rng.random()
    if how < 0.1:
        del holder[key]
        said = "gone"
    elif how < 0.2 and isinstance(holder, dict):
        holder[rng.choice(WORDS)] = holder.pop(key)
        said = "renamed"
    else:
        holder[key] = _odd(rng, old)
        said = f"-> {str(holder[key])[:30]!r}"
    text = json.dumps(held).replace('"@', "").replace('@"', "")
    file.write_bytes(text.encode(errors="surrogatepass"))
    return f"{key!r} {str(old)[:30]!r} {said}"


def _spots(value):
    if isinstance(value, dict | list):
        for key in range(len(value)) if isinstance(value, list) else list(value):
            yield value, key
            yield from _spots(value[key])


def _odd(rng, old):
    """Something else; `@...@` is written without quotes."""
    if isinstance(old, int | float) and rng.random() < 0.5:
        return f"@{rng.choice([n for n in NUMBERS if n and n[0] in '-0123456789NI'])}@"
    if isinstance(old, str) and rng.random() < 0.4:
        return rng.choice(WORDS)
    if isinstance(old, str) and old.startswith("{") and rng.random() < 0.8:
        inner = json.loads(old)  # Minari keeps spaces as JSON within JSON
        spots = list(_spots(inner))
        if spots:
            holder, key = rng.choice(spots)
            holder[key] = _odd(rng, None)
            return json.dumps(inner).replace('"@', "").replace('@"', "")
    if isinstance(old, list) and old and rng.random() < 0.4:
        return rng.choice((old * 2, old[:-1], old[::-1], [old], old * 5000))
    deep = "@" + "[" * 5000 + "]" * 5000 + "@"
    large = ("@NaN@", "@1e400@", "@-Infinity@", f"@1{'0' * 400}@", deep)
    plain = (None, True, False, [], {}, "", 0, -1, 0.5, [[]], {"": None})
    return rng.choice((*plain, *SIZES, *large, *WORDS))


def place(rng, file):
    """Something else where the file was: nothing, a folder, a pipe, a link."""
    how = rng.choice(
        (
            "gone",
            "folder",
            "pipe",
            "dangling",
            "loop",
            "zero",
            "secret",
            "moved",
            "huge",
        )
    )
    content = file.read_bytes()
    file.unlink()
    if how == "folder":
        file.mkdir()
    elif how == "pipe":
        os.mkfifo(file)
    elif how == "huge":  # sparse
        file.write_bytes(content)
        os.truncate(file, 2**26)
    elif how != "gone":
        canary = _canary(file)
        (canary / "moved").write_bytes(content)
        target = {
            "dangling": "nowhere",
            "loop": file.name,
            "zero": "/dev/zero",
            "secret": str(canary / "secret.txt"),
            "moved": str(canary / "moved"),
        }
        file.symlink_to(target[how])
    return how


def _canary(file):
    """The folder beside the case, whose content is nobody's business."""
    for above in file.parents:
        if (above / "canary").is_dir():
            return above / "canary"
    raise ValueError("no canary")


def hdf5(rng, file):
    """What only HDF5 can do: storage elsewhere, loops, sizes without content."""
    secret = _canary(file) / "secret.txt"
    with h5py.File(file, "r+") as held:
        names = []
        held.visititems(
            lambda name, node: (
                names.append(name) if isinstance(node, h5py.Dataset) else None
            )
        )
        name = rng.choice(sorted(names))
        shape, kind = held[name].shape, held[name].dtype
        old = held[name][()]
        del held[name]
        # Actions are always read; of the others a loader need not know.
        outside = "outside" if name.endswith("actions") else "moved"
        how = rng.randrange(9)
        if how == 0:
            size = max(1, int(np.prod(shape)) * kind.itemsize)
            held.create_dataset(name, shape, kind, external=[(str(secret), 0, size)])
            return f"{outside}: {name} in external storage"
        if how == 1:
            with h5py.File(secret.with_name("other.h5"), "w") as other:
                other["x"] = old
            held[name] = h5py.ExternalLink(str(secret.with_name("other.h5")), "x")
            return f"{outside}: {name} is an external link"
        if how == 2:
            with h5py.File(secret.with_name("other.h5"), "w") as other:
                other["x"] = old
            layout = h5py.VirtualLayout(shape, kind)
            layout[...] = h5py.VirtualSource(
                str(secret.with_name("other.h5")), "x", shape
            )
            held.create_virtual_dataset(name, layout)
            return f"{outside}: {name} is virtual"
        if how == 3:
            held[name] = h5py.SoftLink(f"/{name}")
        elif how == 4:
            wide = (rng.choice((10**6, 10**9, 10**12)), *shape[1:])
            held.create_dataset(name, wide, kind, chunks=(1, *shape[1:]))
        elif how == 5:
            held.create_dataset(name, (shape or (1,))[:1], h5py.string_dtype())
        elif how == 6:
            held.create_dataset(name, shape, [("a", "f4"), ("b", "i8")])
        elif how == 7:
            held.create_dataset(name, shape, h5py.ref_dtype)
        else:
            held.create_group(name)
        return f"{name}, way {how}"


def archive(rng, file):
    """A member of an archive is damaged, and the archive's own sums fit."""
    with zipfile.ZipFile(file) as held:
        members = {name: held.read(name) for name in held.namelist()}
    name = rng.choice(sorted(members))
    if rng.random() < 0.2:
        value, how = members.pop(name), rng.randrange(3)
        if how == 1:
            members[f"../{name}"] = value
        if how == 2:
            members[
                rng.choice(("a\0b.npy", "x" * 5000, "é.npy", "../../canary/secret.txt"))
            ] = value
        said = f"{name} gone, way {how}"
    else:
        members[name], said = _header(rng, members[name])
    with zipfile.ZipFile(file, "w", rng.choice((0, 8))) as held:
        for member, value in members.items():
            held.writestr(member, value)
    return f"{name}: {said}"


def header(rng, file):
    """The same for a single array."""
    data, said = _header(rng, file.read_bytes())
    file.write_bytes(data)
    return said


PICKLE = b"cplanted\nEnv\n(tR."


def _header(rng, data):
    """The header of a NumPy array says something else."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    how = rng.randrange(6)
    shape, kind, fortran = array.shape, array.dtype.str, False
    if how == 0:
        shape = rng.choice(((10**9,), (10**6, 10**6), (2**62, 4), (-1,), (0,), (0, 2)))
    elif how == 1:
        kind = rng.choice(
            ("|O", "<U9", "<c16", ">f8", "<M8[s]", "|V8", "<f2", "|b1", "<i8")
        )
    elif how == 2:
        shape = (*shape, 1) if rng.random() < 0.5 else (1, *shape)
    elif how == 3:
        fortran = True
    elif how == 4:
        text = rng.choice(
            ("{" * 500, "(" * 9000, "__import__('planted')", "{'descr': 5}")
        )
        return _npy(text, array.tobytes()), "a header that is none"
    else:
        odd = rng.choice((np.nan, np.inf, 1e308, -0.0))
        flat = array.astype(np.float64).ravel()
        if flat.size:
            flat[rng.randrange(flat.size)] = odd
        out = io.BytesIO()
        np.save(out, flat.reshape(array.shape))
        return out.getvalue(), f"{odd} in it"
    text = repr({"descr": kind, "fortran_order": fortran, "shape": shape})
    body = PICKLE if kind == "|O" else array.tobytes()
    return _npy(text, body), f"{kind} {shape}"


def _npy(text, body):
    text = text.encode() + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + body


def tensors(rng, file):
    """The header of a safetensors file says something else; or its numbers are odd."""
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    held, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    if rng.random() < 0.4 and len(body) >= 4:
        at = rng.randrange(len(body) // 4) * 4
        odd = rng.choice((np.nan, np.inf, 1e38, 0.0, -1e38))
        body[at : at + 4] = np.float32(odd).tobytes()
        said = f"{odd} at {at}"
    else:
        spots = list(_spots(held))
        holder, key = rng.choice(spots)
        holder[key] = _odd(rng, holder[key])
        said = f"{key!r} -> {str(holder[key])[:30]!r}"
    sealed = held.pop("__metadata__", None) if rng.random() < 0.5 else None
    text = json.dumps(held).replace('"@', "").replace('@"', "").encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + body)
    if isinstance(sealed, dict):
        said += _sealed(file, sealed)
    return said


def _sealed(file, sealed):
    """Give the arrays of a file a digest that fits, if they can still be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    from sfp.tensors import SEAL, save_arrays

    try:
        arrays, (_, notes) = load(file.read_bytes()), json.loads(sealed[SEAL])
    except (SafetensorError, ValueError, LookupError, TypeError):
        return ""
    save_arrays(file, arrays, notes)
    return ", sealed"


PARSED = {
    ".json": [document] * 8,
    ".hdf5": [hdf5] * 4,
    ".h5": [hdf5] * 4,
    ".npz": [archive] * 6,
    ".npy": [header] * 6,
    ".safetensors": [tensors] * 6,
}


def snapshot(root):
    """Every name below a folder with what it is, to be compared later."""
    found = {}
    for path in sorted(Path(root).rglob("*")):
        info = path.lstat()
        small = stat.S_ISREG(info.st_mode) and info.st_size < LARGE
        content = path.read_bytes() if small else b""
        found[str(path)] = info.st_mode, info.st_size, info.st_mtime_ns, content
    return found


def make_canary(folder):
    """What lies beside a case."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "secret.txt").write_text(SECRET * 100)
