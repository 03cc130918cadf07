"""Executed notebooks as pages: what their cells say, run and show, in Markdown."""

import json
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser


class NotebookParser(MystParser):
    """Reads `.ipynb` files as they were saved; nothing is executed."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Called by Sphinx."""
        super().parse(to_markdown(json.loads(inputstring)), document)


def to_markdown(book: dict[str, Any]) -> str:
    """The cells of a notebook one after the other."""
    parts = []
    for cell in book["cells"]:
        source = _text(cell["source"])
        if cell["cell_type"] == "code":
            shown = [_output(output) for output in cell["outputs"]]
            parts += [_fence(source, "python"), *filter(None, shown)]
        else:
            parts.append(source)
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    """Text, or a picture that the page holds itself."""
    held = output.get("data", {})
    if "image/png" in held:
        return (
            f"![what the cell drew](data:image/png;base64,{_text(held['image/png'])})"
        )
    said = output["text"] if "text" in output else held.get("text/plain", "")
    return _fence(_text(said).rstrip("\n"), "text") if said else ""


def _fence(text: str, language: str) -> str:
    return f"````{language}\n{text}\n````"


def _text(source: str | list[str]) -> str:
    """Notebooks keep a text whole or as a list of its lines."""
    return (source if isinstance(source, str) else "".join(source)).strip("\n")
