"""Settings by their flat names, checked: what Python users pass to `sfp.train`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from sfp.agents.methods import METHODS, OPTIONS
from sfp.config import DEFAULTS, GROUPS, Baselines, Mixture, Networks, Schedule
from sfp.errors import SfpError, check_size, unknown

NUMBER = int | float | np.integer | np.floating
HELP = "See `sfp train --help`."


def configure(
    settings: dict[str, Any],
) -> tuple[Schedule, Networks, Mixture, Baselines]:
    """The groups of settings, from their flat names."""
    made, left = [], dict(settings)
    for group in GROUPS:
        hints = _hints(group)
        given = {name: left.pop(name) for name in hints.keys() & set(left)}
        made.append(group(**{k: typed(k, hints[k], v) for k, v in given.items()}))
    if left:
        known = [f.name for group in GROUPS for f in fields(group)]
        raise unknown("setting", next(iter(left)), known, HELP)
    return made[0], made[1], made[2], made[3]


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Refuse options that only other methods have, if they are given."""
    foreign = OPTIONS - set(METHODS[method].options)
    for name in sorted(foreign):
        if options[name] not in (None, DEFAULTS[name]):
            owners = ", ".join(k for k, m in METHODS.items() if name in m.options)
            raise SfpError(
                f"method {method} has no {name}: leave it out, or take a method that "
                f"has it ({owners})."
            )


@cache
def _hints(group: type) -> dict[str, Any]:
    """The types of a group's settings; Python evaluates them anew at every question."""
    hints = get_type_hints(group)
    return {field.name: hints[field.name] for field in fields(group)}


def typed(name: str, hint: Any, value: Any) -> Any:
    """The value of a setting, of its type; `steps=1e5` is a whole number too."""
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is not Literal and type(None) in kinds:
        if value is None:
            return None
        return typed(name, kinds[0], value)
    if get_origin(hint) is Literal:
        if value not in kinds:
            raise unknown(name, str(value), kinds, HELP)
        return value
    if kinds == (str,):
        expected, right = "a name", isinstance(value, str)
    elif bool in kinds:
        expected, right = "True or False", isinstance(value, bool | np.bool_)
    elif isinstance(value, bool) or not isinstance(value, NUMBER):
        expected, right = "a number", False
    else:
        expected = "a number" if float in kinds else "a whole number"
        check_size(name, value)
        right = math.isfinite(value) and (float in kinds or value == int(value))
    if not right:
        raise SfpError(f"expected {name} as {expected}, received {value!r}.")
    if kinds == (str,):
        return value
    value = kinds[0](value)
    check_size(name, value)  # 1e300 is a whole number too
    return value
