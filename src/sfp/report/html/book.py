"""The figures of a page, and what its script needs to know of each."""

from __future__ import annotations

from html import escape
from typing import Any

from sfp.report.html.chart import Chart

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
        """A figure that answers the pointer.

        Args:
            chart: what is drawn.
            title: above it.
            link: to its numbers, HTML.
        """
        key = self._keep(chart)
        head = caption(title, link)
        return f'<figure class="chart" data-chart="{key}">{head}{chart.svg}</figure>'

    def replay(self, chart: Chart, title: str, link: str, more: str, look: str) -> str:
        """A figure that can be played.

        Args:
            chart: what is drawn.
            title: above it.
            link: to its numbers, HTML.
            more: a smaller line below the title.
            look: the classes that give it a colour.
        """
        key, head = self._keep(chart), caption(title, link, more)
        return (
            f'<figure class="replay {look}" data-chart="{key}">{head}{chart.svg}'
            f"{PLAYER}</figure>"
        )

    def _keep(self, chart: Chart) -> str:
        key = str(len(self.data))
        self.data[key] = chart.data
        return key


def still(content: str, title: str, link: str = "") -> str:
    """A figure that does not move: an SVG or an image, HTML."""
    return f"<figure>{caption(title, link)}{content}</figure>"


def caption(title: str, link: str = "", more: str = "") -> str:
    """A figure's title, a smaller line and the link to its numbers."""
    small = f"<small>{escape(more)}</small>" if more else ""
    return f"<figcaption><span>{escape(title)}{small}</span>{link}</figcaption>"
