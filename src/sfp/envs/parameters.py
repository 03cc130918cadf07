"""Parameters of tasks: `name:key=value,key=value`, one syntax everywhere."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sfp.errors import LONG, SfpError, unknown

Value: TypeAlias = bool | int | float | str

GIVEN = re.compile(r"(?P<base>.+?):(?P<given>\w+=.*)", re.S)
"""A colon counts if key and equals sign follow: `package:Env-v0` has no parameters."""

TEXT = re.compile(r"[\w.+/-]+%?")
"""What a text may be made of."""

SHARE = re.compile(r"(\d+(?:\.\d+)?)%")


@dataclass(frozen=True)
class Parameter:
    """A parameter that a task takes; no choices allow every value of its kind.

    Attributes:
        kind: of its values.
        default: what it is if nothing is said.
        summary: a few words about it.
        choices: its values, if they are few.
        least: the lowest value of a number.
        whole: what 100% stands for, if a number may be given as a share.
    """

    kind: type
    default: Value | None
    summary: str
    choices: tuple[Value, ...] | range = ()
    least: float | None = None
    whole: float | None = None

    @property
    def expected(self) -> str:
        if isinstance(self.choices, range):
            return f"a whole number from {self.choices[0]} to {self.choices[-1]}"
        if self.choices:
            return " or ".join(map(str, self.choices))
        words = {bool: "true or false", int: "a whole number", float: "a number"}
        said = words.get(self.kind, "a word")
        said += "" if self.least is None else f" of {self.least:g} or more"
        return said + ("" if self.whole is None else f" or a share of {self.whole:g}")

    def read(self, value: Value) -> Value | None:
        """A value of its own kind; None if it is none of its values."""
        share = SHARE.fullmatch(value) if isinstance(value, str) else None
        if share and self.whole is not None:
            value = float(share[1]) / 100.0 * self.whole
        if self.kind is float and type(value) is int and abs(value) < LONG:
            value = float(value)
        right = type(value) is self.kind and (not self.choices or value in self.choices)
        if right and isinstance(value, float):
            right = math.isfinite(value) and (self.least is None or value >= self.least)
        return value if right else None


def split(name: str) -> tuple[str, dict[str, Value]]:
    """What stands before the parameters, and the parameters by key."""
    found = GIVEN.fullmatch(name)
    if found is None:
        return name, {}
    values: dict[str, Value] = {}
    for pair in found["given"].split(","):
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", key) or key in values:
            raise SfpError(
                f"expected parameters as key=value, each once, received {pair!r} in "
                f"{name!r}: write {found['base']}:key=value,key=value."
            )
        values[key] = _read(text, name)
    return found["base"], values


def base(name: str) -> str:
    return split(name)[0]


def join(base: str, values: Mapping[str, Value]) -> str:
    """The name that `split` reads, with sorted keys."""
    given = ",".join(f"{key}={_write(values[key])}" for key in sorted(values))
    return f"{base}:{given}" if given else base


def check(
    base: str, given: Mapping[str, Value], known: Mapping[str, Parameter]
) -> dict[str, Value]:
    """The parameters that are not defaults; an unknown or a bad one is refused."""
    chosen: dict[str, Value] = {}
    for key, value in given.items():
        if key not in known:
            if not known:
                raise SfpError(f"task {base!r} takes no parameters, received {key!r}.")
            told = ", ".join(f"{k} ({p.expected})" for k, p in known.items())
            raise unknown(f"parameter of {base}", key, known, f"It takes {told}.")
        parameter = known[key]
        found = parameter.read(value)
        if found is None:
            raise SfpError(
                f"expected {key} of {base} to be {parameter.expected}, received "
                f"{_write(value)!r}."
            )
        if found != parameter.default:
            chosen[key] = found
    return chosen


def shows_images(name: str) -> bool:
    """Whether a task of ours is asked for images."""
    return bool(split(name)[1].get("pixels"))


def slug(name: str) -> str:
    """A name as a part of folder names and dataset ids."""
    return re.sub(r"[^\w-]+", "-", name).strip("-")


def _read(text: str, name: str) -> Value:
    """A truth value, a number, or else a word; nothing is evaluated."""
    readers: tuple[Callable[[str], Any], ...] = (json.loads, float)
    for read in readers:
        try:
            value = read(text)
        except ValueError:
            continue
        if isinstance(value, bool | int) or (
            isinstance(value, float) and math.isfinite(value)
        ):
            return value
    if not TEXT.fullmatch(text):
        raise SfpError(
            f"expected true, false, a number or a word as value, received {text!r} in "
            f"{name!r}."
        )
    return text


def _write(value: Value) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
