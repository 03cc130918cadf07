"""State-free priors: explore sparse-reward control from recorded actions alone.

data = sfp.collect("room")                     # or sfp.load("my/recordings")
walks = sfp.explore("room-large", ["uniform", "scripted"])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfp import envs as envs  # registers the tasks with Gymnasium
from sfp.errors import SfpError

if TYPE_CHECKING:
    from sfp.analysis.description import describe
    from sfp.analysis.explorers import explore
    from sfp.data.collect import collect
    from sfp.data.sources import load
    from sfp.data.trajectories import Trajectories

_HOME = {
    "Trajectories": "sfp.data.trajectories",
    "collect": "sfp.data.collect",
    "describe": "sfp.analysis.description",
    "explore": "sfp.analysis.explorers",
    "load": "sfp.data.sources",
}
__all__ = [
    "SfpError",
    "Trajectories",
    "collect",
    "describe",
    "envs",
    "explore",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import public names on first use: `import sfp` stays fast."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sfp' has no attribute {name!r}")
