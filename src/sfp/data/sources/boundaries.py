"""Cutting flat arrays into episodes."""

from collections.abc import Iterator, Mapping

import numpy as np

from sfp.data.trajectories import Episode
from sfp.errors import SfpError


def split(
    values: Mapping[str, np.ndarray],
    marks: Mapping[str, np.ndarray],
    *,
    source: str,
    whole: bool = False,
) -> Iterator[Episode]:
    """Cut columns of steps where `marks` say that episodes end.

    Marks are `episode_ends`, `episode_lengths`, or `terminals` and/or `timeouts`. If
    `whole`, all steps are one episode where there are none.
    """
    steps = len(values["actions"])
    for name, column in values.items():
        if len(column) != steps:
            raise SfpError(
                f"{source}: {len(column)} {name} for {steps} actions: expected as many."
            )
    if whole and not marks:
        marks = {"episode_ends": np.array([steps])}
    ends = _ends(steps, marks, source)
    starts = np.append(0, ends)[:-1]
    for start, end in zip(starts, ends, strict=True):
        yield {name: column[start:end] for name, column in values.items()}


def _ends(steps: int, marks: Mapping[str, np.ndarray], source: str) -> np.ndarray:
    if "episode_ends" in marks:
        ends = np.asarray(marks["episode_ends"], int).reshape(-1)
    elif "episode_lengths" in marks:
        ends = np.cumsum(np.asarray(marks["episode_lengths"], int).reshape(-1))
    elif "terminals" in marks or "timeouts" in marks:
        done = np.zeros(steps, bool)
        for name in ("terminals", "timeouts"):
            if name in marks:
                flags = np.asarray(marks[name]).reshape(-1).astype(bool)
                if len(flags) != steps:
                    raise SfpError(
                        f"{source}: {len(flags)} {name} for {steps} actions: expected "
                        "one each."
                    )
                done |= flags
        ends = np.flatnonzero(done) + 1
        if steps and (len(ends) == 0 or ends[-1] != steps):
            ends = np.append(ends, steps)  # the recording stopped within an episode
        return ends
    else:
        raise SfpError(
            f"{source} does not say where episodes end: expected `terminals` and/or "
            "`timeouts` (or, in npz, `episode_ends` or `episode_lengths`)."
        )
    if len(ends) and (np.diff(ends, prepend=0) < 0).any():
        raise SfpError(f"{source}: episode boundaries must not decrease.")
    if (ends[-1] if len(ends) else 0) != steps:
        raise SfpError(
            f"{source}: episodes end at {ends[-1] if len(ends) else 0} but there are "
            f"{steps} actions: expected the last end to be their number."
        )
    return ends
