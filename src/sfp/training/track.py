"""Trackers that people already use: Weights & Biases, trackio; only if asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, TypeAlias

from sfp.errors import SfpError
from sfp.training.log import Listener

Tracker: TypeAlias = Literal["wandb", "trackio"]


def track(tracker: Tracker, name: str, config: Mapping[str, Any]) -> Listener:
    """A listener that sends every row to the tracker, in project `sfp`."""
    try:
        module: Any = import_module(tracker)
    except ImportError:
        raise SfpError(f"--track {tracker} needs it: pip install {tracker}.") from None
    module.init(project="sfp", name=name, config=dict(config))

    def send(step: int, values: Mapping[str, float]) -> None:
        module.log(dict(values), step=step)

    return send
