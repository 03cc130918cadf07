"""Tidy tables on disk."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfp.files import atomic_file


def save_csv(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    """Write rows with the same keys as CSV, whole or not at all."""
    with atomic_file(path) as draft:
        draft.write_bytes(csv_text(rows).encode())
    return path


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    file = io.StringIO()
    table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()
