"""Pieces of HTML: everything that comes from outside is escaped here."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfp import __version__
from sfp.errors import LONG, SfpError
from sfp.report.stats import shown
from sfp.report.tables import csv_text

Rows = Sequence[dict[str, Any]]

KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
LARGEST = 4_000_000
"""Bytes of a file that is embedded."""

LONGEST = 60
"""Rows of a table that are shown; the CSV holds all."""


def document(name: str, what: str, body: str, style: str = "") -> str:
    """A whole page that needs no other file; `body` is HTML already."""
    css = (files("sfp.report.html") / "report.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="sfp {__version__}">
<title>{escape(name)}: {what}</title>
<link rel="icon" href="data:,">
<style>{css}{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def text(value: Any) -> str:
    """A value as people read it, escaped; a dash for nothing."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,d}" if abs(value) < 10**30 else escape(str(value)[:30] + "…")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return escape(shown(value) if isinstance(value, float) else str(value))


def table(rows: Rows, *, raw: Sequence[str] = (), by: str | None = None) -> str:
    """Rows with the same keys; numbers stand on the right.

    The columns in `raw` hold HTML already; the column `by` becomes a line above the
    rows that share it.
    """
    names = [name for name in rows[0] if name != by]
    numbers = {
        name
        for name in names
        if name not in raw
        and all(isinstance(row[name], int | float | None) for row in rows)
    }

    def cell(tag: str, name: str, content: str) -> str:
        kind = ' class="number"' if name in numbers else ""
        return f"<{tag}{kind}>{content}</{tag}>"

    head = "".join(cell("th", name, escape(name)) for name in names)
    body, above = [], None
    for row in rows:
        if by is not None and row[by] != above:
            above = row[by]
            line = f'<th colspan="{len(names)}" scope="rowgroup">{text(above)}</th>'
            body.append(f'<tr class="group">{line}</tr>')
        cells = [(k, str(row[k]) if k in raw else text(row[k])) for k in names]
        body.append(f"<tr>{''.join(cell('td', *one) for one in cells)}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def notes(title: str, lines: Sequence[str], attributes: str = "") -> str:
    """A box with a line each; nothing if there are none."""
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="warnings"{attributes}><p>{title}</p><ul>{items}</ul></div>'


def csv_link(rows: Rows, name: str) -> str:
    """A link that saves the rows, numbers to six digits: it holds them itself."""
    short = [{key: _digits(value) for key, value in row.items()} for row in rows]
    return data_link(csv_text(short), f"{name}.csv")


def data_link(content: str, name: str) -> str:
    address = "data:text/csv;charset=utf-8," + quote(
        content, safe=",.;:/ +-_()=", errors="replace"
    )
    return (
        f'<a class="csv" download="{escape(name)}" href="{escape(address)}" '
        f'title="the numbers behind this: {escape(name)}">CSV</a>'
    )


def picture(path: Path, title: str) -> str:
    """A PNG or SVG file, embedded; scripts in it cannot run."""
    content = embedded(path)
    if path.suffix == ".png" and not content.startswith(b"\x89PNG"):
        raise SfpError(f"{path.name} is no PNG picture.")
    source = f"data:{KINDS[path.suffix]};base64,{base64.b64encode(content).decode()}"
    return f'<img alt="{escape(title)}" src="{source}">'


def embedded(path: Path) -> bytes:
    """The content of a file of the results; links are not followed."""
    if path.is_symlink() or not path.is_file():
        raise SfpError(f"{path.name} is no file: links and pipes are not followed.")
    if path.stat().st_size > LARGEST:
        size = path.stat().st_size
        raise SfpError(f"{path.name} is too large to embed: {size:,} bytes.")
    return path.read_bytes()


def file_table(path: Path) -> tuple[str, str]:
    """A CSV file as a table, and a link that saves it."""
    try:
        content = embedded(path).decode()
        first, *rows = csv.reader(io.StringIO(content))
        if not rows or any(len(row) != len(first) for row in rows):
            raise ValueError
    except (OSError, ValueError, csv.Error):
        raise SfpError(f"{path.name} is no CSV table.") from None
    named = [_joined(dict(zip(first, map(_number, row), strict=True))) for row in rows]
    more = len(named) - LONGEST
    note = f"<p>{more:,} more rows are in the CSV.</p>" if more > 0 else ""
    return table(named[:LONGEST]) + note, data_link(content, path.name)


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    content = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return content.replace("<", "\\u003c").replace("&", "\\u0026")


def _joined(row: dict[str, Any]) -> dict[str, Any]:
    """A row in which a value and its spread, `x` and `x_std`, are one."""
    made = {}
    for name, value in row.items():
        spread = row.get(f"{name}_std")
        if isinstance(value, int | float) and isinstance(spread, int | float):
            made[name] = f"{value:.3g} ± {spread:.2g}"
        elif name.removesuffix("_std") == name or name.removesuffix("_std") not in row:
            made[name] = value
    return made


def _number(word: str) -> str | int | float:
    for kind in (int, float):
        try:
            value = kind(word)
        except ValueError:
            continue
        return value if abs(value) < LONG else word
    return word


def _digits(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
