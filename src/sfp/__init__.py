"""State-free priors: explore sparse-reward control from recorded actions alone.

data = sfp.collect("room")                     # or sfp.load("my/recordings")
prior = sfp.fit(data, past_actions=1)          # or sfp.load_prior("room")
walks = sfp.explore("room-large", priors={"prior": prior})
policy = sfp.train("maze", prior=prior, steps=60_000)
"""

__version__ = "0.1.0"

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfp import envs as envs  # registers the tasks with Gymnasium
from sfp.errors import SfpError

if TYPE_CHECKING:
    from sfp.agents.sac import SAC
    from sfp.agents.sfp import SFP
    from sfp.bridges.actor import PriorActor
    from sfp.bridges.export import export
    from sfp.bridges.sb3 import MixedExploration as MixedExploration
    from sfp.bridges.sb3 import PriorNoise as PriorNoise
    from sfp.data.collect import collect
    from sfp.data.record import Recorder, record
    from sfp.data.sources import load, register_format
    from sfp.data.trajectories import Trajectories
    from sfp.envs.own import register_task
    from sfp.exploration.description import describe
    from sfp.exploration.explorers import explore, register_explorer
    from sfp.interface import fit, save_prior, train
    from sfp.nets.encoder import register_encoder
    from sfp.observation import Obs, Spec
    from sfp.priors.base import Prior
    from sfp.priors.models import register_model
    from sfp.priors.store import load_prior
    from sfp.training.trained import Trained

_HOME = {
    "MixedExploration": "sfp.bridges.sb3",
    "Obs": "sfp.observation",
    "Prior": "sfp.priors.base",
    "PriorActor": "sfp.bridges.actor",
    "PriorNoise": "sfp.bridges.sb3",
    "Recorder": "sfp.data.record",
    "SAC": "sfp.agents.sac",
    "SFP": "sfp.agents.sfp",
    "Spec": "sfp.observation",
    "Trained": "sfp.training.trained",
    "Trajectories": "sfp.data.trajectories",
    "collect": "sfp.data.collect",
    "describe": "sfp.exploration.description",
    "export": "sfp.bridges.export",
    "explore": "sfp.exploration.explorers",
    "fit": "sfp.interface",
    "load": "sfp.data.sources",
    "load_prior": "sfp.priors.store",
    "record": "sfp.data.record",
    "register_encoder": "sfp.nets.encoder",
    "register_explorer": "sfp.exploration.explorers",
    "register_format": "sfp.data.sources",
    "register_model": "sfp.priors.models",
    "register_task": "sfp.envs.own",
    "save_prior": "sfp.interface",
    "train": "sfp.interface",
}
__all__ = [
    "SAC",
    "SFP",
    "Obs",
    "Prior",
    "PriorActor",
    "Recorder",
    "SfpError",
    "Spec",
    "Trained",
    "Trajectories",
    "collect",
    "describe",
    "envs",
    "explore",
    "export",
    "fit",
    "load",
    "load_prior",
    "record",
    "register_encoder",
    "register_explorer",
    "register_format",
    "register_model",
    "register_task",
    "save_prior",
    "train",
]


def __dir__() -> list[str]:
    """The public names, for completion: most are not imported yet."""
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    """Import public names on first use: `import sfp` stays fast."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sfp' has no attribute {name!r}")
