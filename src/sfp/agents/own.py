"""Agents from outside the package, checked before the first step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from sfp.agents.base import Agent, Decision, Memory, Turn
from sfp.agents.controller import Greedy, Warped
from sfp.agents.methods import Method
from sfp.errors import SfpError
from sfp.observation import Spec

OWN = Method(lambda given: _never(), "an agent of your own")
"""How a run treats an agent that is in no table: defaults as for SAC."""

NEEDED = ("spec", "spread", "replay", "init", "prepare", "actor", "begin", "act")
NEEDED += ("controller", "propose", "update")


def called_agent(agent: Callable[[Spec], Agent], method: str) -> str:
    """The name of a run with an agent of one's own."""
    if method != "sfp":
        raise SfpError(f"expected a method or an agent, received both ({method}).")
    return str(getattr(agent, "__qualname__", type(agent).__qualname__))


def check_no_ingredients(prior: object, data: object) -> None:
    """What an agent of one's own learns from, it holds itself."""
    if prior is not None or data is not None:
        raise SfpError(
            "an agent of your own takes no prior and no data from here: give them to "
            "it yourself, as in agent=lambda spec: sfp.SFP(spec, (prior,))."
        )


def make_agent(
    agent: Callable[[Spec], Agent], spec: Spec, *, saved: bool = False
) -> Agent:
    """The agent for these sizes, tried once: one line says what it lacks."""
    made = agent if isinstance(agent, Agent) else agent(spec)
    name = type(made).__name__
    lacking = [part for part in NEEDED if not hasattr(made, part)]
    if lacking:
        raise SfpError(
            f"the agent {name} lacks {', '.join(lacking)}: see sfp.agents.base.Agent."
        )
    if made.spec != spec:
        raise SfpError(
            f"the agent {name} is for {made.spec}, the environment has {spec}."
        )
    state = jax.jit(made.init)(jax.random.key(0))
    actor = jax.tree.map(np.asarray, made.actor(state))
    rng = np.random.default_rng(0)
    for phase in ("warmup", "train"):
        memory = made.begin(rng)
        _check_memory(name, memory)
        answer = made.act(actor, memory, Turn(spec.obs(), rng, phase))
        _check_decision(name, answer, spec)
        _check_memory(name, answer[1])
    if saved and not isinstance(made.controller(actor), Greedy | Warped):
        raise SfpError(
            f"the controller of the agent {name} cannot be saved: expected a Greedy or "
            "a Warped one (sfp.agents.controller), or leave out `out`."
        )
    return made


def _check_memory(name: str, memory: Any) -> None:
    if not isinstance(memory, Memory):
        raise SfpError(
            f"the agent {name} remembers a {type(memory).__name__}: expected a Memory."
        )


def _check_decision(name: str, answer: Any, spec: Spec) -> None:
    if not (isinstance(answer, tuple) and isinstance(answer[0], Decision)):
        raise SfpError(f"act of the agent {name} must return a Decision and a Memory.")
    action = np.asarray(answer[0].action)
    if action.shape != (spec.action,) or not np.isfinite(action).all():
        raise SfpError(
            f"the agent {name} gave an action of shape {action.shape} ({action}): "
            f"expected {spec.action} finite numbers within [-1, 1]."
        )


def _never() -> Agent:
    raise AssertionError("an agent of one's own is made by its maker")
