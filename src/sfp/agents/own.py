"""Agents from outside the package, checked before the first step."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from sfp.agents.base import Agent, Decision, Memory, Metrics, Turn
from sfp.agents.controller import Greedy, Warped
from sfp.agents.methods import Method
from sfp.agents.skilled import Skilled
from sfp.data.batch import Batch
from sfp.errors import SfpError
from sfp.observation import Spec
from sfp.outside import OWN_METRIC, call, calling, check_callable

OWN = Method(lambda given: _never(), "an agent of your own")
"""How a run treats an agent that is in no table: defaults as for SAC."""

NEEDED = ("spec", "spread", "replay", "init", "prepare", "actor", "begin", "act")
NEEDED += ("controller", "propose", "update")


def called_agent(agent: Any, method: str | None = None) -> str:
    """The name of a run with an agent of one's own."""
    if method is not None:
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
    agent: Any, spec: Spec, *, saved: bool = False, led: bool = False
) -> Agent:
    """The agent for these sizes, tried once: one line says what it lacks."""
    if isinstance(agent, Agent):
        made = agent
    else:
        check_callable("agent", agent, "(spec) that returns an agent")
        made = call(f"agent {called_agent(agent)}", agent, spec)
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
    with calling(f"the agent {name}"):
        acting = _try(made, name, spec, led=led)
    if saved and not isinstance(acting, Greedy | Warped | Skilled):
        raise SfpError(
            f"the controller of the agent {name} cannot be saved: expected a Greedy, "
            "Warped or Skilled one (sfp.agents.controller), or leave out `out`."
        )
    _check_metrics(name, getattr(made, "metrics", ()))
    return made


def _check_metrics(name: str, metrics: Any) -> None:
    """Refuse what cannot head a column of a table."""
    listed = metrics if isinstance(metrics, tuple | list) else [metrics]
    odd = [
        m for m in listed if not (isinstance(m, str) and re.fullmatch(OWN_METRIC, m))
    ]
    if odd or listed is not metrics:
        raise SfpError(
            f"`metrics` of the agent {name}: expected a tuple of names such as "
            f"own/spread, received {metrics!r}."
        )


def _try(agent: Agent, name: str, spec: Spec, *, led: bool) -> Any:
    """Let it act in both phases; the result is who acts in tests."""
    state = jax.jit(agent.init)(jax.random.key(0))
    actor = jax.tree.map(np.asarray, agent.actor(state))
    rng = np.random.default_rng(0)
    for phase in ("warmup", "train"):
        memory = agent.begin(rng)
        _check_memory(name, memory)
        answer = agent.act(actor, memory, Turn(spec.obs(), rng, phase))
        _check_decision(name, answer, spec)
        _check_memory(name, answer[1])
    if led:
        given = np.full(spec.action, 0.5, np.float32)
        turn = Turn(spec.obs(), rng, "warmup", given)
        check_led(agent, given, agent.act(actor, agent.begin(rng), turn)[0])
    return agent.controller(actor)


def check_led(agent: Agent, given: np.ndarray, decision: Decision) -> None:
    """Refuse an agent that does as it likes where an action is given."""
    if not np.array_equal(decision.action, given):
        raise SfpError(
            f"the agent {type(agent).__name__} does not take the action that its turn "
            "gives (Turn.given): set frontier and greedy_episodes to 0."
        )


def check_update(
    agent: Agent, state: Any, batch: Batch, key: PRNGKeyArray
) -> tuple[Any, Metrics]:
    """An agent's update, checked while it is traced: the state keeps its shapes."""
    what = f"update of the agent {type(agent).__name__}"
    answer = call(what, agent.update, state, batch, key)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise SfpError(f"{what} must return a state and metrics.")
    after, metrics = answer
    if _shapes(after) != _shapes(state):
        raise SfpError(f"{what} returned a state of other shapes than it was given.")
    for metric, value in metrics.items():
        if jnp.shape(value) != ():
            raise SfpError(
                f"{what} returned the metric {metric} of shape {jnp.shape(value)}: "
                "expected one number."
            )
    return after, metrics


def _shapes(state: Any) -> tuple[Any, list[str]]:
    leaves, structure = jax.tree.flatten(state)
    return structure, [f"{jnp.result_type(leaf)}{jnp.shape(leaf)}" for leaf in leaves]


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
