"""The figures of a page, and what its script needs to know of each."""

from __future__ import annotations

from html import escape
from typing import Any

from sfp.report.html.chart import Chart

PNG = '<button type="button" class="png">PNG</button>'
PLAYER = (
    '<div class="player"><button type="button">Play</button>'
    '<input type="range" min="0" step="any" aria-label="step of the episode">'
    "<output></output></div>"
)


class Book:
    """Collects charts under numbers that the script finds them by."""

    def __init__(self):
        self.data: dict[str, Any] = {}

    def chart(self, chart: Chart, title: str, link: str) -> str:
        return self._keep(chart, "chart", caption(title, link + PNG))

    def replay(self, chart: Chart, title: str, link: str, more: str, look: str) -> str:
        return self._keep(chart, f"replay {look}", caption(title, link, more), PLAYER)

    def _keep(self, chart: Chart, look: str, above: str, below: str = "") -> str:
        key = str(len(self.data))
        self.data[key] = chart.data
        head = f'<figure class="{look}" data-chart="{key}">'
        return f"{head}{above}{chart.svg}{below}</figure>"


def still(content: str, title: str, link: str = "", more: str = "") -> str:
    return f"<figure>{caption(title, link, more)}{content}</figure>"


def caption(title: str, link: str = "", more: str = "") -> str:
    small = f"<small>{escape(more)}</small>" if more else ""
    tools = f'<span class="tools-of">{link}</span>' if link else ""
    return f"<figcaption><span>{escape(title)}{small}</span>{tools}</figcaption>"
