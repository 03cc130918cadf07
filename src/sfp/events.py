"""TensorBoard event files: scalars only, no dependency."""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path


class EventFile:
    """Appends scalars to a new event file in a folder; TensorBoard merges files."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        stamp = f"{time.time_ns():020d}"
        self._file = (folder / f"events.out.tfevents.{stamp}.{os.getpid()}").open("ab")
        self._write(b"\x1a" + _sized(b"brain.Event:2"))

    def scalars(self, step: int, values: Mapping[str, int | float]) -> None:
        summary = b"".join(
            b"\x0a" + _sized(b"\x0a" + _sized(name.encode()) + b"\x15" + _float(value))
            for name, value in values.items()
        )
        self._write(b"\x10" + _varint(step) + b"\x2a" + _sized(summary))
        self._file.flush()

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _write(self, event: bytes) -> None:
        """One record: length, its checksum, the event, its checksum."""
        event = b"\x09" + struct.pack("<d", time.time()) + event
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))


def _float(value: int | float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # beyond single precision
        return struct.pack("<f", math.copysign(math.inf, value))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _sized(payload: bytes) -> bytes:
    return _varint(len(payload)) + payload


def _table() -> list[int]:
    """CRC-32C (Castagnoli), one byte at a time."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _table()


def _masked(payload: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in payload:
        crc = _CRC[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
