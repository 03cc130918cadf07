"""What a recording cannot say itself, and a file beside it states."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfp.data.trajectories import Trajectories, declared_bounds
from sfp.documents import read_json
from sfp.errors import SfpError

BOUNDS = "bounds.json"


def with_stated(data: Trajectories, path: Path) -> Trajectories:
    """The same with the bounds and the rate that are stated beside it, if any.

    What the recording says itself counts more.
    """
    folder = path if path.is_dir() else path.parent
    stated = {} if data.bounds_known else read_stated(folder)
    if not stated:
        return data
    bounds = stated["low"], stated["high"]
    low, high, known = declared_bounds(data.actions, *bounds, data.source)
    rate = stated.get("rate") if data.rate is None else data.rate
    return replace(data, low=low, high=high, rate=rate, bounds_known=known)


def read_stated(path: Path) -> dict[str, Any]:
    """What `bounds.json` in a folder says: `low`, `high` and, if known, `rate`."""
    file = path / BOUNDS
    if not file.exists():
        return {}
    try:
        given = read_json(file)
        found: dict[str, Any] = {
            key: [float(x) for x in given[key]] for key in ("low", "high")
        }
        if "rate" in given:
            found["rate"] = float(given["rate"])
            if not 0 < found["rate"] < math.inf:
                raise ValueError
        if given.keys() - found.keys():
            raise ValueError
    except (SfpError, ValueError, TypeError, KeyError) as error:
        raise SfpError(
            f'{file}: expected {{"low": [...], "high": [...]}} with a number per '
            'dimension of an action, and "rate" in Hz if it is known.'
        ) from error
    return found
