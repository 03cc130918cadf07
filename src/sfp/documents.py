"""JSON documents that anybody may have written: read, and checked against a type."""

import json
import math
import os
from collections.abc import Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sfp.errors import LONG, SfpError
from sfp.files import regular

DEEPEST = 32
"""Levels of a document; more would exhaust the stack of who walks through them."""

Record = TypeVar("Record")


def read_json(path: Path, remedy: str = "Copy it again, or make it anew.") -> Any:
    """The object in a JSON file; an error of one line ends with the remedy."""
    try:
        value = parse_json(regular(path).read_text(encoding="utf-8"))
        if isinstance(value, dict):
            return value
        reason = f"expected a JSON object, received a {type(value).__name__}"
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SfpError(f"cannot read {path}: {reason}. {remedy}") from error
    except ValueError as error:
        reason = str(error)
    raise SfpError(f"{path} is damaged: {reason}. {remedy}")


def parse_json(text: str) -> Any:
    """The value of a JSON text, safe to print, to count with and to walk through.

    Raises:
        ValueError: it is no JSON, nested too deep, or holds numbers beyond 64 bit or
            halves of characters, all of which JSON allows.
    """
    try:
        value = json.loads(text, parse_float=_decimal, parse_int=_whole)
    except RecursionError:
        raise ValueError("nested too deep") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [part for held in level for part in _parts(held)]
        if not level:
            return value
    raise ValueError("nested too deep")


def as_record(kind: type[Record], held: dict[str, Any]) -> Record:
    """A dataclass made of a document's values, each of the type of its field.

    Raises:
        ValueError: a field is missing, unknown, or of another type.
    """
    hints = get_type_hints(kind)
    known: Any = fields(kind)  # pyright: ignore[reportArgumentType]
    needed = [f for f in known if f.default is f.default_factory is MISSING]
    missing = sorted({f.name for f in needed} - held.keys())
    if missing or held.keys() - hints.keys():
        names = [*missing, *sorted(held.keys() - hints.keys())]
        raise ValueError(f"missing or unknown: {', '.join(names)[:200]}")
    for name, value in held.items():
        if not _is(hints[name], value):
            raise ValueError(f"{name} is {str(value)[:80]!r}")
    return kind(**held)


def _is(hint: Any, value: Any) -> bool:
    """Whether a value is of a type; a whole number is a float too, a bool is none."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_is(choice, value) for choice in args)
    if origin is list:
        return isinstance(value, list) and all(_is(args[0], held) for held in value)
    if origin is dict:
        return isinstance(value, dict) and _is(list[args[1]], [*value.values()])
    if hint is float:
        return type(value) in (int, float)
    return hint is Any or type(value) is hint


def _parts(held: Any) -> Iterable[Any]:
    if isinstance(held, dict):
        return [*held, *held.values()]
    if isinstance(held, str):
        held.encode()  # refuses halves of characters
    return held if isinstance(held, list) else ()


def _whole(digits: str) -> int:
    value = int(digits)
    if abs(value) >= LONG:
        raise ValueError("a whole number beyond 64 bit")
    return value


def _decimal(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number beyond all floats")
    return value
