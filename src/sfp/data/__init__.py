"""D_exp: recorded trajectories, where they come from and how they are kept."""

from sfp.data.collect import collect
from sfp.data.sources import load
from sfp.data.trajectories import Trajectories

__all__ = ["Trajectories", "collect", "load"]
