"""What users add from outside the package: names they register, code they wrote."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Callable, Container, Iterator
from typing import Any

from sfp.errors import SfpError, reason

PLUGINS = "SFP_PLUGINS"
"""An environment variable: modules, separated by commas."""

OWN_METRIC = r"own/[\w./-]+"
"""What the numbers are called that an agent of one's own logs."""


def register(table: dict[str, Any], kind: str, name: str, entry: Any) -> None:
    """Add a line to a table of the package; no name can be given twice.

    Args:
        table: to add to.
        kind: what messages call an entry, for example `model`.
        name: letters, digits, dots, dashes and underscores, as it is typed in a shell.
        entry: what the name stands for.
    """
    check_name(table, kind, name)
    table[name] = entry


def check_name(table: Container[str], kind: str, name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise SfpError(
            f"{name!r} cannot name a {kind}: expected a letter, then letters, digits, "
            "dots, dashes or underscores."
        )
    if name in table:
        raise SfpError(
            f"the {kind} {name!r} is there already: register yours under another name."
        )


def check_callable(what: str, value: Any, signature: str) -> None:
    """Refuse what cannot be called.

    Args:
        what: names it in the message.
        value: what the user passed.
        signature: how sfp will call it.
    """
    if not callable(value):
        raise SfpError(
            f"{what} is a {type(value).__name__}: expected a callable {signature}."
        )


@contextlib.contextmanager
def calling(what: str) -> Iterator[None]:
    """Whatever a user's code raises becomes one line that names the code."""
    try:
        yield
    except SfpError:
        raise
    except Exception as error:  # it is not our code: it may raise anything
        raise SfpError(
            f"{what} raised {type(error).__name__}: {reason(error)}."
        ) from error


def call(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a user's function; see `calling`."""
    with calling(what):
        return function(*args, **kwargs)


def import_plugins() -> None:
    """Import the modules that `SFP_PLUGINS` names, which register parts of one's own.

    Commands do this first, and so do those that they start. It is the user's own
    environment that says so: no file that is loaded can.
    """
    for module in filter(None, os.environ.get(PLUGINS, "").split(",")):
        call(f"{PLUGINS}: the import of {module!r}", importlib.import_module, module)
