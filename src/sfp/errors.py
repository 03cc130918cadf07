"""The one exception that users meet: a line that says what to do."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

LONG = 2**63
"""Whole numbers from here on fit in no array."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but tabs and ends of lines; also what turns the direction of writing."""


class SfpError(Exception):
    """A mistake the user can mend: what was expected, what came, what to do.

    The message is a single line. The command line prints it and exits with code 2.
    """

    def __init__(self, message: str):
        super().__init__(plain(" ".join(message.split())))


class Interrupted(SfpError):
    """A signal came; all is saved and can go on later."""


class Busy(SfpError):
    """Another process is at it: the command line exits with `Busy.code`."""

    code = 75


class Lost(SfpError):
    """The machine that was at it is gone, which says nothing against the job."""


class MissingColumn(SfpError):
    """The data does not hold what was asked for."""


class Empty(SfpError):
    """There is no episode in the data."""


def plain(text: str) -> str:
    """The text without what would steer a terminal: control characters are spelt."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def unknown(kind: str, name: str, known: Iterable[str], remedy: str) -> SfpError:
    """The error for a name that is in no table, with the nearest ones that are."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif known:
        hint = f"known: {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}."
    else:
        hint = "there are none yet."
    return SfpError(f"unknown {kind} {name!r}: {hint} {remedy}")


def reason(error: Exception) -> str:
    """The beginning of what a library says, which may be pages."""
    line = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return line if len(line) < 300 else f"{line[:300]} ..."


def at_least(least: int, **counts: int) -> None:
    """Refuse a number that is too small, or beyond 64 bit, by its name."""
    for name, count in counts.items():
        if count < least:
            raise SfpError(f"expected {name} of at least {least}, received {count}.")
        check_size(name, count)


def check_size(name: str, count: Any) -> None:
    if isinstance(count, int) and abs(count) >= LONG:
        bits = count.bit_length()
        raise SfpError(f"expected {name} within 64 bit, received one of {bits} bit.")
