"""What users add from outside the package: names they register, code they wrote."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from sfp.errors import SfpError, reason


def register(table: dict[str, Any], kind: str, name: str, entry: Any) -> None:
    """Add a line to a table of the package; no name can be given twice.

    Args:
        table: to add to.
        kind: what messages call an entry, for example `model`.
        name: letters, digits, dots, dashes and underscores, as it is typed in a shell.
        entry: what the name stands for.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise SfpError(
            f"{name!r} cannot name a {kind}: expected a letter, then letters, digits, "
            "dots, dashes or underscores."
        )
    if name in table:
        raise SfpError(
            f"the {kind} {name!r} is there already: register yours under another name."
        )
    table[name] = entry


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
