"""Whether the links of a built site lead somewhere: files and anchors, offline."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors that a page has, and what it links to."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = {""}
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids and targets; elements that only the browser loads count too."""
        given = dict(attrs)
        self.anchors |= {given.get(key) or "" for key in ("id", "name")}
        target = given.get("href" if tag in ("a", "link") else "src")
        if target:
            self.targets.append(target)


def broken(site: Path) -> list[str]:
    """A line for every internal link without a file or an anchor behind it."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(goal)
            lost = known is not None and unquote(parts.fragment) not in known.anchors
            if not goal.is_file() or lost:
                found.append(f"{path.relative_to(site)}: {target}")
    return found
