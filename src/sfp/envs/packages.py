"""Packages of others whose environments people ask for by their ids alone.

Gymnasium knows such an id only after its package was imported. These packages are
imported by us, if they are installed: the list is fixed, so that a name in a folder
cannot choose what is imported.
"""

import re
import warnings
from dataclasses import dataclass
from importlib import import_module

import gymnasium as gym

from sfp.errors import SfpError, reason


@dataclass(frozen=True)
class Package:
    """A package that registers environments.

    Attributes:
        module: what to import.
        ids: a pattern of the ids that it registers.
        install: how to install it.
        refused: why none of its environments can be used, if so.
    """

    module: str
    ids: str
    install: str
    refused: str = ""


PACKAGES = (
    Package(
        "gymnasium_robotics",
        r"(Fetch|HandReach|HandManipulate|AdroitHand|PointMaze_|AntMaze_|FrankaKitchen)"
        r"\w*-v\d+",
        "pip install gymnasium-robotics",
    ),
    Package("shimmy", r"dm_control/.+", "pip install 'shimmy[dm-control]'"),
    Package("metaworld", r"Meta-World/.+", "pip install metaworld"),
    Package("panda_gym", r"Panda\w+-v\d+", "pip install panda-gym"),
    Package("gym_pusht", r"gym_pusht/.+", "pip install gym-pusht"),
    Package("gym_aloha", r"gym_aloha/.+", "pip install gym-aloha"),
    Package("gym_xarm", r"gym_xarm/.+", "pip install gym-xarm"),
    Package(
        "ale_py",
        r"ALE/.+|\w+(NoFrameskip|Deterministic)-v\d+|\w+-ram(-\w+)?-v\d+",
        "",
        "an Atari game, whose actions are discrete: expected an environment with a Box "
        "of continuous actions",
    ),
)
DATASET = re.compile(r"[^/]+/.+/[\w.-]+-v\d+")
"""What ids of Minari datasets look like; environments have one slash at most."""


def provide(env_id: str) -> None:
    """Register an id with Gymnasium, if it belongs to a package that we know.

    Anything else is left to `gymnasium.make`.
    """
    if env_id in gym.registry or ":" in env_id:
        return
    for package in PACKAGES:
        if re.fullmatch(package.ids, env_id):
            if package.refused:
                raise SfpError(f"{env_id} is {package.refused}.")
            _load(package, env_id)
            return
    if DATASET.fullmatch(env_id):
        raise SfpError(
            f"{env_id!r} looks like a Minari dataset: expected an environment. "
            f"`sfp data {env_id}` describes a dataset and `sfp fit {env_id}` learns "
            "from it."
        )


def hint(env_id: str, error: Exception) -> str:
    """What else to try for an id that Gymnasium does not know, with its error."""
    unheard = gym.error.NameNotFound, gym.error.NamespaceNotFound
    if ":" in env_id or not isinstance(error, unheard) or "Did you" in str(error):
        return ""
    for package in PACKAGES:
        if re.fullmatch(package.ids, env_id):
            return (
                f" The package {package.module} is installed, but it registers no such "
                f"environment: {package.install}."
            )
    space, slash, _ = env_id.partition("/")
    package = space if slash and space.isidentifier() else "PACKAGE"
    return f" If a package registers it, name the package: {package}:{env_id}"


def _load(package: Package, env_id: str) -> None:
    try:
        with warnings.catch_warnings():  # what they say of themselves on import
            warnings.simplefilter("ignore")
            import_module(package.module)
    except Exception as error:  # it is not our code: it may raise anything
        missing = isinstance(error, ImportError) and error.name == package.module
        why = "" if missing else f" ({reason(error)})"
        raise SfpError(
            f"{env_id} belongs to the package {package.module}, which is not "
            f"{'installed' if missing else 'usable'}{why}: {package.install}."
        ) from None
