"""Where numbers come from: every run, its configuration and its versions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import Any

from sfp.report.html.markup import csv_link, table, text
from sfp.report.records import RunRecord


def provenance(root: Path, runs: Sequence[RunRecord]) -> str:
    """A table of all runs, their distinct configurations, their distinct versions."""
    if not runs:
        return ""
    configs = _distinct([_nested(run.config) for run in runs])
    versions = _distinct([run.versions for run in runs])
    rows = []
    for run in runs:
        config = configs.index(_nested(run.config))
        end = run.end or {}
        rows.append(
            {
                "folder": str(run.folder.relative_to(root)),
                "task": run.task,
                "method": run.method,
                "seed": run.seed,
                "state": run.state,
                "steps": run.steps,
                "wall time": duration(run.seconds),
                "solved at": run.solved_at,
                "bit-exact": end.get("exact"),
                "verified": run.verified,
                "configuration": f"#{config + 1}",
                "versions": f"#{versions.index(run.versions) + 1}",
            }
        )
    linked = [
        row
        | {
            "folder": f"<code>{escape(row['folder'])}</code>",
            "state": _state(row["state"]),
            "configuration": f'<a href="#_config-{row["configuration"][1:]}">'
            f"{row['configuration']}</a>",
        }
        for row in rows
    ]
    raw = ("folder", "state", "configuration")
    return (
        '<section id="_runs"><h2>Runs</h2>'
        f'<p class="tools">{csv_link(rows, "runs")}</p>'
        f"{table(linked, raw=raw)}"
        f"<h3>Configurations</h3>{_configurations(configs)}"
        f"<h3>Versions</h3>{_versions(versions, [run.versions for run in runs])}"
        "</section>"
    )


def duration(seconds: float | None) -> str | None:
    """Hours, minutes and seconds; None if they are not known."""
    if seconds is None or not 0 <= seconds < 1e9:
        return None
    return str(timedelta(seconds=round(seconds)))


def _state(word: str) -> str:
    return f'<span class="{"good" if word == "finished" else "open"}">{word}</span>'


def _configurations(configs: Sequence[dict[str, Any]]) -> str:
    """What all share once, then what each adds to it."""
    flat = [_flat(config) for config in configs]
    common = {
        name: value
        for name, value in flat[0].items()
        if all(name in other and other[name] == value for other in flat)
    }
    parts = [
        f"<p>A run's configuration is its own settings together with the "
        f"{len(common)} that all runs share; the seed stands in the table.</p>",
        f'<details id="_config-common"><summary>Shared by all runs</summary>'
        f"{_settings(common)}</details>",
    ]
    for i, config in enumerate(flat):
        own = {name: value for name, value in config.items() if name not in common}
        title = ", ".join(str(config.get(key, "?")) for key in ("task", "method"))
        parts.append(
            f'<details id="_config-{i + 1}"><summary>#{i + 1} <span>{escape(title)}'
            f"</span></summary>{_settings(own)}</details>"
        )
    return "".join(parts)


def _settings(held: dict[str, Any]) -> str:
    if not held:
        return "<p>Nothing.</p>"
    entries = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(json.dumps(value, ensure_ascii=False))}"
        "</dd>"
        for name, value in held.items()
    )
    return f'<dl class="settings">{entries}</dl>'


def _versions(
    versions: Sequence[dict[str, str]], every: Sequence[dict[str, str]]
) -> str:
    names = list(dict.fromkeys(name for held in versions for name in held))
    rows = [
        {"": f"#{i + 1}", "runs": every.count(held)}
        | {name: held.get(name) for name in names}
        for i, held in enumerate(versions)
    ]
    return table(rows) if names else f"<p>{text('')} not recorded.</p>"


def _nested(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != "seed"}


def _flat(config: dict[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{above}{name}"
        flat |= _flat(value, f"{key}.") if isinstance(value, dict) else {key: value}
    return flat


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
