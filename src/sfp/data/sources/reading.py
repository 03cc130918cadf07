"""Reading a file by a library that may say anything about a damaged one."""

from collections.abc import Callable
from pathlib import Path

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError, reason

Reader = Callable[..., Trajectories]


def read_as(
    name: str,
    reader: Reader,
    path: Path,
    columns: tuple[str, ...],
    *,
    drop_short: bool = False,
) -> Trajectories:
    """Read a file of this format; everything that the reader raises is `SfpError`."""
    try:
        return reader(path, columns, drop_short=drop_short)
    except SfpError:
        raise
    except Exception as error:  # libraries raise all sorts on a damaged file
        raise SfpError(
            f"cannot read {path}: {reason(error)}. The file is truncated, "
            f"damaged or not {name}; copy or download it again."
        ) from error
