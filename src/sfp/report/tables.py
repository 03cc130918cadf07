"""Tidy tables on disk."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfp.files import atomic_file


def save_csv(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    """Write rows as CSV, whole or not at all; what a row has not is empty."""
    with atomic_file(path) as draft:
        draft.write_bytes(csv_text(rows).encode())
    return path


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    file, names = io.StringIO(), {name: None for row in rows for name in row}
    table = csv.DictWriter(file, list(names), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
