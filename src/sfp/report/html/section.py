"""A section of the report: one experiment, from its claim to its replays."""

from __future__ import annotations

import json
from html import escape

from sfp.errors import SfpError
from sfp.report.comparison import Comparison
from sfp.report.experiment import Attachment, Section
from sfp.report.html.book import Book, still
from sfp.report.html.markup import data_link, embedded, file_table, notes, picture
from sfp.report.html.panels import Replays, panels, watch
from sfp.report.html.standings import key, standings


def render(
    section: Section,
    found: Comparison,
    replays: Replays,
    book: Book,
    warnings: list[str],
) -> str:
    """A section as HTML; `warnings` grows by what cannot be shown."""
    stem = section.name
    body = ""
    if found.panels:
        curves, phases = panels(found, stem, book)
        body = legend(found) + curves + standings(found, stem) + phases
        body += watch(found, replays, stem, book)
    elif not (section.tables or section.figures):
        body = (
            '<p class="empty">No evaluation has been made yet. Write the report again '
            "when a run has got further.</p>"
        )
    body += _attached(section, warnings)
    labels = escape(json.dumps(found.labels))
    return (
        f'<section id="{stem}" data-labels="{labels}">{_head(section, found)}{body}'
        "</section>"
    )


def legend(found: Comparison) -> str:
    methods = "".join(
        f'<label><input type="checkbox" checked data-m="{i}">{key(i)}'
        f"{escape(label)}</label>"
        for i, label in enumerate(found.labels)
    )
    runs = (run for group in found.groups for run in (*group.runs, *group.unfinished))
    single = "".join(
        f'<label><input type="checkbox" data-s="{seed}">{seed}</label>'
        for seed in sorted({run.seed for run in runs})
    )
    return (
        f'<form class="legend"><fieldset><legend>Methods</legend>{methods}</fieldset>'
        '<fieldset class="seeds"><legend>Seeds</legend><label><input type="checkbox" '
        f'data-s="all">all</label>{single}</fieldset></form>'
    )


def _head(section: Section, found: Comparison) -> str:
    head = f"<h2>{escape(section.title)}</h2>"
    if section.claim:
        head += f'<p class="claim">The paper: {escape(section.claim)}</p>'
    if section.command:
        head += f"<pre>{escape(section.command)}</pre>"
    if section.missing:
        names = ", ".join(section.missing[:6])
        more = ", …" if len(section.missing) > 6 else ""
        head += (
            f'<p class="notes">Not run yet: {len(section.missing)} '
            f"({escape(names + more)}).</p>"
        )
    return head + notes("To know", found.notes)


def _beside(figure: Attachment) -> str:
    """A link to the table of the same name, if there is one."""
    table = figure.path.with_suffix(".csv")
    try:
        return data_link(embedded(table).decode(), table.name)
    except (SfpError, OSError, ValueError):
        return ""


def _attached(section: Section, warnings: list[str]) -> str:
    parts = []
    for one in section.figures:
        try:
            image = picture(one.path, one.title)
            parts.append(still(image, one.title, _beside(one)))
        except (SfpError, OSError) as error:
            warnings.append(f"left out a figure of {section.name}: {error}")
    tables = ""
    drawn = {one.path.stem for one in section.figures}
    for one in section.tables:
        if one.path.stem.endswith("-psd") and one.path.stem in drawn:
            continue  # thousands of points: the figure has them as its CSV
        try:
            content, link = file_table(one.path)
            tables += f"<h3>{escape(one.title)} {link}</h3>{content}"
        except SfpError as error:
            warnings.append(f"left out a table of {section.name}: {error}")
    return (f'<div class="pictures">{"".join(parts)}</div>' if parts else "") + tables
