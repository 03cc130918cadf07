"""Recordings that a method learns from: do they fit the environment?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfp.agents.methods import Method
from sfp.data.sources import load
from sfp.data.trajectories import Trajectories
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.priors.compatibility import check_bounds


def fitting_recordings(
    data: str | Path | Trajectories, name: str, method: Method, environment: Environment
) -> Trajectories:
    """The recordings, with every column that the method needs, checked for size."""
    columns = [c for c in method.columns if c != "goals" or environment.has_goals]
    if not isinstance(data, Trajectories):
        try:
            data = load(data, columns=columns)
        except SfpError as error:
            raise SfpError(
                f"method {name} cannot learn from these recordings: {error} A "
                "state-free prior (method sfp) needs actions alone."
            ) from None
    lacking = [column for column in columns if column not in data.columns]
    if lacking:
        raise SfpError(
            f"method {name} needs {' and '.join(lacking)} in the recordings, "
            f"{data.source} has {', '.join(data.columns)}. A state-free prior (method "
            "sfp) needs actions alone."
        )
    for column in columns:
        values = np.asarray(getattr(data, column))
        data = replace(data, **{column: values.reshape(len(values), -1)})
        bad = np.flatnonzero(~np.isfinite(getattr(data, column)).all(axis=1))
        if len(bad):
            raise SfpError(
                f"{data.source}: the {column} of step {bad[0]} are NaN or infinite "
                f"({len(bad)} such steps): method {name} learns from them. Repair the "
                "recording or leave that episode out."
            )
    check_bounds(data.low, data.high, environment.low, environment.high, data.source)
    sizes = {"observations": environment.spec.state, "goals": environment.spec.goal}
    for column in columns:
        size = np.shape(getattr(data, column))[1]
        if size != sizes[column]:
            raise SfpError(
                f"{data.source} has {column} of {size} numbers, {environment.name} of "
                f"{sizes[column]}: method {name} needs recordings of the same kind. A "
                "state-free prior (method sfp) needs actions alone."
            )
    return data if environment.has_goals else replace(data, goals=None)
