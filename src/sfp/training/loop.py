"""The training loop: Algorithm 1, with evaluation, log and checkpoints around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from sfp.agents.base import Agent, AsItActs, Metrics, Mixes
from sfp.agents.own import check_update
from sfp.config import Schedule
from sfp.data.batch import Batch
from sfp.data.lanes import Replay
from sfp.envs.adapter import Environment
from sfp.envs.solved import Solved
from sfp.envs.vector import Alone, Environments
from sfp.errors import Interrupted, SfpError
from sfp.training.checkpoint import Checkpoints
from sfp.training.evaluate import evaluate
from sfp.training.log import AS_MIXTURE, Clock, Log, Row
from sfp.training.rollout import Rollout
from sfp.training.verdict import best_row, solved_at


def train(
    agent: Agent,
    environment: Environment,
    test_environment: Environment,
    replay: Replay,
    log: Log,
    *,
    schedule: Schedule,
    seed: int,
    several: Environments | None = None,
    checkpoints: Checkpoints | None = None,
    keep_best: Callable[[int, Any], None] = lambda step, actor: None,
    interrupted: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda step: None,
) -> Any:
    """Run Algorithm 1 to its end, from the last checkpoint if there is one.

    If there are `several` environments, they are acted in, in place of `environment`,
    which says what they are like. With every checkpoint, `keep_best` gets the step and
    the actor of the best test so far, if it is new. Returns the agent's state.
    """
    init_key, rollout_key, update_key = jax.random.split(jax.random.key(seed), 3)
    prepare_key = jax.random.fold_in(init_key, 1)
    state = begin_state(agent, init_key)
    acted_in = several or Alone(environment)
    rollout = Rollout(
        acted_in, agent, replay, seed=seed, key=rollout_key, schedule=schedule
    )
    schedule = rollout.schedule
    owed, updates = 0, schedule.iteration // schedule.update_every
    rule = Solved(schedule.solved_at, environment.reward_threshold)

    def like(meta: dict[str, Any]) -> dict[str, Any]:
        rollout.check(meta)
        if not isinstance(meta.get("owed", 0), int) or meta.get("owed", 0) < 0:
            raise TypeError(f"owed is {str(meta['owed'])[:40]!r}")
        return {"state": state} | rollout.arrays(meta)

    if checkpoints and not checkpoints.steps():
        log.check_new(schedule.checkpoint_every + schedule.iteration)
    saved = checkpoints.load(like, replay, log.check) if checkpoints else None
    if saved:
        tree, meta = saved
        state = jax.tree.map(jnp.asarray, tree["state"])
        rollout.restore(meta, tree)
        owed = meta.get("owed", 0)
    else:
        state = agent.prepare(state, prepare_key)
        rollout.exact = environment.check_seed()
    log.open(rollout.step)
    tested: Row = {}
    best: list[tuple[int, Any]] = []
    learn, clock = compile_updates(agent), Clock(rollout.step, log.seconds)

    def save() -> None:
        _check_state(state, rollout.step, checkpoints)
        for found in best[-1:]:
            keep_best(*found)
        best.clear()
        if checkpoints:
            meta = rollout.saved() | {"owed": owed, "tables": log.sync()}
            tree = {"state": state} | rollout.arrays(meta)
            checkpoints.save(rollout.step, tree, meta, replay)

    def done() -> bool:
        solved = schedule.until_solved and solved_at(log.rows["eval"], rule) is not None
        return solved or rollout.step >= schedule.steps

    while not done():
        rollout.explore(agent.actor(state), schedule.iteration)
        step = rollout.step
        if replay.checks_rewards:
            environment.check_rewards(*replay.newest(schedule.iteration))
        if schedule.hindsight_until == "reward" and rollout.first_reward is not None:
            replay.hindsight = 0.0
        begun = step >= schedule.update_after
        owed += begun
        waits = schedule.update_from == "reward" and not rollout.informed
        if schedule.update_from == "reward" and rollout.paid_since(schedule.iteration):
            owed = max(owed, -(-(schedule.head_start or 0) // updates))
        rounds = 0 if waits or not begun else min(owed, schedule.catch_up or 1)
        owed -= rounds
        tested = {} if rounds or not rollout.exact else tested
        for number in range(rounds):
            rng = np.random.default_rng([seed, 2, step, *([number] if number else [])])
            batches = replay.sample(rng, (updates, schedule.batch))
            key = jax.random.fold_in(update_key, step)
            key = jax.random.fold_in(key, number) if number else key
            state, metrics = learn(state, batches, key)
            _check(metrics, step, checkpoints)
            for name, value in metrics.items():
                rollout.note(name, float(value))
        if _passed(step, schedule.log_every, schedule.iteration):
            log.write("train", step, rollout.summary())
            log.write("timing", step, clock.read(step))
        if _passed(step, schedule.eval_every, schedule.iteration):
            # Who has learned nothing since would do the same in the same episodes.
            count = schedule.eval_episodes
            tested = tested or _test(agent, state, test_environment, count)
            log.write("eval", step, tested)
            if best_row(log.rows["eval"]) is log.rows["eval"][-1]:
                best.append((step, jax.tree.map(np.array, agent.actor(state))))
        progress(step)
        if done():
            break
        if interrupted():
            save()
            raise Interrupted(f"stopped at step {step}; --resume goes on from there.")
        if _passed(step, schedule.checkpoint_every, schedule.iteration):
            save()
    save()
    return state


def _test(agent: Agent, state: Any, environment: Environment, episodes: int) -> Row:
    """A row of eval.csv: the policy alone and, of a mixture, also as it acts."""
    actor = jax.tree.map(np.asarray, agent.actor(state))
    row, _ = evaluate(environment, agent.controller(actor), episodes)
    if isinstance(agent, Mixes) and agent.tests_mixture:
        acts = AsItActs(agent.each_step, actor)
        beside, _ = evaluate(environment, acts, episodes)
        row |= {AS_MIXTURE[name]: value for name, value in beside.items()}
    return row


def begin_state(agent: Agent, key: PRNGKeyArray) -> Any:
    """The state before learning, each array of its own.

    So the updates may write into it, and none has a weak type (that of a Python number
    filled into an array), with which the updates would be compiled a second time.
    """

    def own(x: Any) -> Array:
        if jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key):
            return jnp.copy(x)
        return jnp.array(np.array(x))

    return jax.tree.map(own, agent.init(key))


def compile_updates(
    agent: Agent,
) -> Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Metrics]]:
    """Many updates in one scan; metrics are their means.

    Updates on images are one program each: on a CPU, gradients of XLA's convolutions
    are an order of magnitude slower inside a loop.
    """
    update = partial(check_update, agent)
    return _one_by_one(update) if agent.spec.image else _scanned(update)


def _one_by_one(
    update: Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Metrics]],
) -> Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Metrics]]:
    @partial(jax.jit, donate_argnums=0)
    def once(state, batches, keys, i):
        return update(state, jax.tree.map(lambda x: x[i], batches), keys[i])

    def updates(state, batches, key):
        count, rows = batches.reward.shape[0], []
        keys, batches = jax.random.split(key, count), jax.device_put(batches)
        for i in range(count):
            state, metrics = once(state, batches, keys, i)
            rows.append(metrics)
        means = {n: jnp.stack([row[n] for row in rows]).mean() for n in rows[0]}
        return state, means

    return updates


def _scanned(
    update: Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Metrics]],
) -> Callable[[Any, Batch, PRNGKeyArray], tuple[Any, Metrics]]:
    def updates(state, batches, key):
        keys = jax.random.split(key, batches.reward.shape[0])
        state, metrics = jax.lax.scan(
            lambda state, given: update(state, *given), state, (batches, keys)
        )
        return state, {name: value.mean() for name, value in metrics.items()}

    return jax.jit(updates, donate_argnums=0)


def _passed(step: int, every: int, iteration: int) -> bool:
    """Whether the last iteration came to, or over, a multiple of `every`."""
    return step // every > (step - iteration) // every


def _check(metrics: Metrics, step: int, checkpoints: Checkpoints | None) -> None:
    """Stop where learning diverges; the last checkpoint was before it."""
    for name, value in metrics.items():
        if not np.isfinite(value):
            raise _diverged(f"{name} is {float(value)}", step, checkpoints)


def _check_state(state: Any, step: int, checkpoints: Checkpoints | None) -> None:
    """Losses are measured before an update: the last one may have gone wrong."""
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
        raise _diverged("a weight is not finite", step, checkpoints)


def _diverged(what: str, step: int, checkpoints: Checkpoints | None) -> SfpError:
    kept = checkpoints.steps() if checkpoints else []
    where = f"the checkpoint of step {kept[-1]} is kept" if kept else ""
    return SfpError(
        f"learning diverged: {what} in the updates that end at step {step}; "
        f"{where or 'there is no checkpoint yet'}. Lower the learning rate or the "
        "reward's scale."
    )
