"""From words on a command line to a call; a mistake in them is one line too."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import tyro

from sfp.errors import SfpError, check_size, unknown

Command = Callable[..., None]
Call = Callable[[], None]

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
RULE = re.compile(r"^(?:[╭╰].*|[│ ] *[─-]+ *[│ ]?)$", re.MULTILINE)
SIDE = re.compile(r"^│|│$", re.MULTILINE)
"""The parser's frame; where there is no Unicode its rules are dashes."""

MEANT = "Perhaps you meant:"
SHOWN = ("Unrecognized", "Missing", "invalid", "Error", "Argument", "Ambiguous")
"""How those parts of a parser's complaint begin that say what is wrong."""

SHORT = {
    r"missing from sfp [\w ]+:": "expected",
    r"\.? \(required\)(?= )": ", and",
    r"\.? \(required\)": "",
    r"argument helptext: ": "",
}
"""What is long in them."""


PLAIN: dict[Any, str] = {int: "INT", float: "FLOAT", str: "NAME", Path: "PATH"}
WORDS = tyro.constructors.ConstructorRegistry()
"""How `--help` names values: an option that may be left out is no `{None}|INT`."""


@WORDS.primitive_rule
def _plain_value(
    info: tyro.constructors.PrimitiveTypeInfo,
) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    """A number, a word or a path; where None is the default, it can be typed too."""
    optional = type(None) in get_args(info.type)
    kinds = [k for k in get_args(info.type) if k is not type(None)] if optional else []
    named = [k for k in kinds if get_origin(k) is Literal]
    if optional and len(kinds) == 2 and len(named) == 1:
        return _number_or_word(next(k for k in kinds if k not in named), named[0])
    (kind,) = kinds if len(kinds) == 1 else [info.type]
    choices = tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else None
    if kind is not str and not (optional and (kind in PLAIN or choices)):
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=f"{{{','.join(choices)}}}" if choices else PLAIN[kind],
        instance_from_str=lambda words: (
            None
            if optional and words == ["None"]
            else words[0]
            if choices
            else kind(words[0])
        ),
        is_instance=lambda value: (
            (value in get_args(kind) if choices else isinstance(value, kind))
            or (optional and value is None)
        ),
        str_from_instance=lambda value: [str(value)],
        choices=(*choices, "None") if choices else None,
    )


def _number_or_word(
    kind: Any, named: Any
) -> tyro.constructors.PrimitiveConstructorSpec[Any]:
    """A number, or one of a few words, or None: `--past-actions 2`, or `auto`."""
    words = get_args(named)
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=f"{{{','.join(words)}}}|{PLAIN[kind]}",
        instance_from_str=lambda given: (
            None
            if given == ["None"]
            else given[0]
            if given[0] in words
            else kind(given[0])
        ),
        is_instance=lambda value: (
            value is None or value in words or isinstance(value, kind)
        ),
        str_from_instance=lambda value: [str(value)],
    )


def parse(commands: Mapping[str, Command], args: list[str], about: str) -> Call:
    """The call that a command line asks for; `about` begins `--help`."""
    first = args[0] if args else "--help"
    if first not in commands and not first.startswith("-"):
        raise unknown("command", first, commands, "See `sfp --help`.")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), WORDS:
            call = tyro.extras.subcommand_cli_from_dict(
                {
                    name: _later(command, brief=first in ("-h", "--help"))
                    for name, command in commands.items()
                },
                prog="sfp",
                description=about,
                args=args or ["--help"],
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
            )
        sys.stderr.write(said.getvalue())  # warnings, if any
        return call
    except SystemExit as end:
        if not end.code:
            raise
        raise SfpError(_line(said.getvalue(), first)) from None


def _later(command: Command, *, brief: bool) -> Callable[..., Call]:
    """The command, which when called returns what would do it.

    In a `brief` list of commands each is explained by its first line alone.
    """

    @functools.wraps(command)
    def later(*args: Any, **options: Any) -> Call:
        _check_sizes("a number", args)
        for name, value in options.items():
            _check_sizes(f"--{name.replace('_', '-')}", value)
        return functools.partial(command, *args, **options)

    told = inspect.getdoc(command) or ""
    command.__doc__ = _unbroken(told)  # the parser asks the command itself
    later.__doc__ = told.partition("\n")[0] if brief else command.__doc__
    return later


def _unbroken(told: str) -> str:
    """A docstring with a line for each argument: the parser keeps breaks of lines."""
    text, head, arguments = told.partition("\nArgs:\n")
    return text + head + re.sub(r"\n {5,}", " ", arguments)


def _check_sizes(name: str, value: Any) -> None:
    """Refuse whole numbers beyond 64 bit, wherever they stand in an option's value."""
    if isinstance(value, tuple):
        for held in value:
            _check_sizes(name, held)
    elif is_dataclass(value):
        for field in fields(value):
            _check_sizes(
                f"--{field.name.replace('_', '-')}", getattr(value, field.name)
            )
    elif isinstance(value, int):
        check_size(name, value)


def _line(box: str, command: str) -> str:
    """What a framed complaint says, without the frame and the lecture."""
    pieces = RULE.split(COLOUR.sub("", box))
    parts = [" ".join(SIDE.sub("", piece).split()) for piece in pieces]
    parts = parts[1:] or parts  # without the title
    wrong = [part.rstrip(".") for part in parts if part.startswith(SHOWN)]
    if not wrong:
        return f"{' '.join(parts).strip()}. See `sfp {command} --help`."
    meant = next((part for part in parts if part.startswith(MEANT)), "")
    near = re.search(r"--[\w-]+", meant)
    hint = f"; did you mean {near[0]}?" if near else "."
    said = "; ".join(f"{part[0].lower()}{part[1:]}" for part in wrong)
    for lecture, short in SHORT.items():
        said = re.sub(lecture, short, said)
    of = "" if command.startswith("-") else f"{command} "
    return f"{said}{hint} See `sfp {of}--help`."
