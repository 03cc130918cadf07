"""Arrays on disk: safetensors with a digest of themselves, nothing that runs."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from sfp.documents import parse_json
from sfp.errors import SfpError
from sfp.files import regular

SEAL = "seal"
"""The metadata that holds the digest and the notes; one key, as their order varies."""


def save_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], notes: Any = None
) -> None:
    held = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    seal = json.dumps([_digest(held, notes), notes])
    # Not save_file: its errors are no OSErrors.
    path.write_bytes(save(held, metadata={SEAL: seal}))


def load_arrays(
    path: Path, *, sealed: bool = False
) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays and the notes of a file whose digest, if it has one, is right.

    A file without a digest is refused if it should be `sealed`.
    """
    try:
        content = regular(path).read_bytes()
        arrays = load(content)
        size = int.from_bytes(content[:8], "little")
        header = parse_json(content[8 : 8 + size].decode())
        held = header.get("__metadata__", {})
        told, notes = parse_json(held[SEAL]) if held else (None, None)
    except (SafetensorError, OSError, ValueError, LookupError, TypeError) as error:
        reason = (str(error).splitlines() or ["it is empty"])[0]
        raise SfpError(
            f"cannot read {path}: {reason}. The file is truncated or damaged."
        ) from error
    if sealed and not held:
        raise SfpError(f"{path} has no checksum: an earlier version wrote it.")
    if held and told != _digest(arrays, notes):
        raise SfpError(f"{path} is damaged: it is not what was written.")
    return arrays, notes


def _digest(arrays: Mapping[str, np.ndarray], notes: Any) -> str:
    names = sorted(arrays)
    about = [[name, arrays[name].dtype.str, arrays[name].shape] for name in names]
    digest = hashlib.sha256(json.dumps([about, notes]).encode())
    for name in names:
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
