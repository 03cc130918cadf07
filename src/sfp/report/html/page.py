"""The page around the sections: summary, warnings, provenance, how to read it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from sfp.report.comparison import Comparison
from sfp.report.experiment import Section
from sfp.report.html.book import Book
from sfp.report.html.markup import document, notes, script_json
from sfp.report.html.panels import Replays
from sfp.report.html.provenance import duration, provenance
from sfp.report.html.section import render
from sfp.report.html.standings import glance
from sfp.report.records import RunRecord
from sfp.report.results import Results
from sfp.report.stats import Protocol

Compared = Sequence[tuple[Section, Comparison, Replays]]
"""Every section, what it shows, and episodes to watch."""


def page(
    results: Results, compared: Compared, warnings: list[str], protocol: Protocol
) -> str:
    """One HTML document that needs no other file.

    `warnings` grows by what cannot be shown.
    """
    book = Book()
    sections = "".join(render(*one, book, warnings) for one in compared)
    runs = {run.folder: run for section, *_ in compared for run in section.runs}
    name = results.root.resolve().name or "results"
    origin = provenance(results.root, list(runs.values()))
    asset = files("sfp.report.html")
    reading = (asset / "reading.html").read_text(encoding="utf-8")
    reading = reading.replace("{window}", str(protocol.window))
    reading = reading.replace("{kind}", protocol.kind)
    body = f"""<header>
<p class="kicker">sfp report</p>
<h1>{escape(name)}</h1>
{_lead(compared)}
{_tiles(compared, list(runs.values()))}
</header>
{_navigation(compared, runs=bool(runs))}
<main>
{notes("Warnings", warnings, ' id="_warnings"')}
{_summary(compared)}
{sections}
{origin}
</main>
<footer>{reading}</footer>
<script type="application/json" id="_chart-data">{script_json(book.data)}</script>
<script>{(asset / "report.js").read_text(encoding="utf-8")}</script>"""
    return document(name, "report", body)


def _lead(compared: Compared) -> str:
    """The conclusion: who solved how much, and whether so few runs decide it.

    It is about the section with the most runs.
    """
    section, found, _ = max(compared, key=lambda one: len(one[0].runs))
    shares = []
    for label in found.labels:
        finals = [final for final in found.finals if final.label == label]
        solved, n = sum(f.solved for f in finals), sum(f.n for f in finals)
        shares += [(-solved / n, f"{label} {solved} of {n}")] if n else []
    if not shares:
        return ""
    shares.sort(key=lambda share: share[0])
    words = ", ".join(words for _, words in shares[:6])
    words += " and others" if len(shares) > 6 else ""
    where = f" ({section.title})" if len(compared) > 1 else ""
    said = f"Runs that solved their task{where}: {words}.{_decided(found)}"
    return f'<p class="lead">{escape(said)}</p>'


def _decided(found: Comparison) -> str:
    """Which methods the reference beats by the tests, in a sentence or two."""
    words = {"holds": "more return than", "does not": "less return than"}
    said = []
    for verdict, than in words.items():
        others = [o for o, one in found.against.items() if one.verdict == verdict]
        if others:
            said.append(f" {found.reference} ends with {than} {', '.join(others)}.")
    left = [o for o, one in found.against.items() if one.verdict not in words]
    if left:
        named = ", ".join(left[:6]) + (" and others" if len(left) > 6 else "")
        said.append(f" These runs do not decide {found.reference} against {named}.")
    return "".join(said)


def _tiles(compared: Compared, found: list[RunRecord]) -> str:
    states = [run.state for run in found]
    counts = {
        "run": len(found),
        "task": len({run.task for run in found}),
        "method": len({label for _, c, _ in compared for label in c.labels}),
        "seed": len({run.seed for run in found}),
        "environment step": sum(run.steps for run in found),
    }
    tiles = [(n, word + ("" if n == 1 else "s")) for word, n in counts.items()]
    for state, words in (("is running", "running"), ("was stopped", "stopped")):
        if state in states:
            tiles.insert(1, (states.count(state), words))
    shown = [(_short(n), words) for n, words in tiles]
    took = duration(math.fsum(run.seconds or 0.0 for run in found))
    shown += [(took, "of training")] if took and any(r.seconds for r in found) else []
    items = "".join(f"<li><b>{n}</b>{words}</li>" for n, words in shown)
    return f'<ul class="tiles">{items}</ul>'


def _short(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.3g}M"
    return f"{count / 1e3:.3g}k" if count >= 10_000 else f"{count:,}"


def _navigation(compared: Compared, *, runs: bool) -> str:
    links = [("_summary", "Summary")]
    links += [(section.name, section.title) for section, *_ in compared]
    links += [("_runs", "All runs")] if runs else []
    links += [("_reading", "How to read this")]
    items = "".join(f'<a href="#{to}">{escape(words)}</a>' for to, words in links)
    return f"<nav><div>{items}</div></nav>"


def _summary(compared: Compared) -> str:
    parts = []
    for section, found, _ in compared:
        shown = glance(found)
        if shown:
            link = f'<a href="#{section.name}">{escape(section.title)}</a>'
            title = f"<h3>{link}</h3>" if len(compared) > 1 else ""
            parts.append(f"<div>{title}{shown}</div>")
    body = "".join(parts)
    if not parts:
        body = '<p class="empty">There is nothing to compare yet.</p>'
    return (
        '<section id="_summary"><h2>Summary</h2><p>A dot is a run, filled if it solved '
        "the task; below it the mean return of the last evaluation.</p>"
        f"{body}</section>"
    )
