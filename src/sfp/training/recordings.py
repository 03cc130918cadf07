"""Recordings that a method learns from: do they fit the environment?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfp.agents.methods import Method
from sfp.data.sources import load, thinning_for_images
from sfp.data.trajectories import Trajectories
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.priors.compatibility import check_bounds


def fitting_recordings(
    data: str | Path | Trajectories, name: str, method: Method, environment: Environment
) -> Trajectories:
    """The recordings, with every column that the method needs, checked for size."""
    columns = _needed(name, method, environment)
    if not isinstance(data, Trajectories):
        try:
            every = thinning_for_images(data) if "images" in columns else 1
            data = load(data, columns=columns, every=every)
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
    vectors = [column for column in columns if column != "images"]
    for column in vectors:
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
    for column in vectors:
        size = np.shape(getattr(data, column))[1]
        if size != sizes[column]:
            raise SfpError(
                f"{data.source} has {column} of {size} numbers, {environment.name} of "
                f"{sizes[column]}: method {name} needs recordings of the same kind. A "
                "state-free prior (method sfp) needs actions alone."
            )
    if "images" in columns:
        _check_images(data, name, environment)
    return data if environment.has_goals else replace(data, goals=None)


def _needed(name: str, method: Method, environment: Environment) -> list[str]:
    """What the method reads of all that the environment shows."""
    spec = environment.spec
    shown = {
        "observations": bool(spec.state),
        "goals": environment.has_goals,
        "images": bool(spec.image),
    }
    if spec.image and "images" not in method.columns:
        raise SfpError(
            f"method {name} needs states, {environment.name} shows images: take method "
            "sac-bc, or one that learns from no recordings."
        )
    return [column for column in method.columns if shown[column]]


def _check_images(data: Trajectories, name: str, environment: Environment) -> None:
    """Refuse images of another kind than the environment's."""
    images, expected = np.asarray(data.images), environment.spec.image
    if images.dtype != np.uint8 or images.shape[1:] != expected:
        raise SfpError(
            f"{data.source} has images of {images.dtype} and shape "
            f"{images.shape[1:]}, {environment.name} of uint8 and shape {expected}: "
            f"method {name} needs recordings of the same kind, without a stack of "
            "frames. A state-free prior (method sfp) needs actions alone."
        )
