"""Which environment a run is of, where its name alone does not say it."""

import hashlib
import json
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from sfp.envs.parameters import split
from sfp.envs.registry import get_task


def identify(env: str | gym.Env) -> str:
    """What sets an environment apart from what its name makes; empty if nothing does.

    Of a map, generated or not, its checksum; of an environment made in Python its
    arguments, its time limit and its wrappers, or its class if it is not registered.
    """
    if isinstance(env, str):
        if not (env.endswith(".txt") or split(env)[1]):
            return ""
        layout = get_task(env).kwargs.get("layout")
        if layout is None:
            return ""
        return f"map {hashlib.sha256(layout.encode()).hexdigest()[:16]}"
    if env.spec is None:
        kind = type(env.unwrapped)
        return f"{kind.__module__}.{kind.__qualname__}"
    usual = gym.registry.get(env.spec.id)
    said, known = _said(env.spec), _said(usual) if usual else {}
    found = {name: value for name, value in said.items() if value != known.get(name)}
    return json.dumps(found, sort_keys=True) if found else ""


def _said(spec: EnvSpec) -> dict[str, Any]:
    """What decides an environment's behaviour besides its id, as JSON knows it."""
    said = {
        "kwargs": {k: v for k, v in spec.kwargs.items() if k != "render_mode"},
        "max_episode_steps": spec.max_episode_steps,
        "wrappers": [[held.name, held.kwargs] for held in spec.additional_wrappers],
    }
    return json.loads(json.dumps(said, default=_plain))


def _plain(value: Any) -> Any:
    """JSON for other values: the numbers of an array, the name of anything else."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return getattr(value, "__qualname__", type(value).__qualname__)
