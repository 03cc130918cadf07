"""The library's own training loop, part by part, with a clock on each."""

import time
from collections import Counter
from dataclasses import replace

import jax
import numpy as np

from sfp.config import Schedule
from sfp.envs.adapter import Environment, make_env
from sfp.envs.vector import Alone
from sfp.training.loop import compile_updates
from sfp.training.rollout import Rollout

TASK, WARM, STEPS = "sfp/Corridor-v0", 2000, 1500
BATCH, ITERATION = 100, 50
SCHEDULE = Schedule(hindsight=4.0, warmup=1000)


class Ours:
    """The library's own loop, part by part."""

    def __init__(self, name, agent, hindsight, task=TASK, warm=WARM, **changes):
        self.name, self.agent, self.spent = name, agent, Counter()
        self.environment = Environment(make_env(task))
        schedule = replace(SCHEDULE, hindsight=hindsight, **changes)
        self.updates = ITERATION // schedule.update_every
        self.replay = agent.replay(schedule, self.environment)
        self.state = jax.jit(agent.init)(jax.random.key(0))
        self.rollout = Rollout(
            Alone(self.environment),
            agent,
            self.replay,
            seed=0,
            key=jax.random.key(1),
            schedule=schedule,
        )
        self.learn = compile_updates(agent)
        self._time(self.environment, "step", "environment")
        self._time(self.environment, "reset", "environment")
        object.__setattr__(agent, "act", self._timed(agent.act, "act"))
        self._time(self.rollout, "_fill_bank", "bank")
        self.replay.sample = self._timed(self.replay.sample, "replay")
        self.learn = self._timed(self.learn, "update")
        self.run(warm)

    def run(self, steps):
        self.spent.clear()
        began = time.perf_counter()
        for _ in range(steps // ITERATION):
            self.rollout.explore(self.agent.actor(self.state), ITERATION)
            rng = np.random.default_rng([0, self.rollout.step])
            batches = self.replay.sample(rng, (self.updates, BATCH))
            key = jax.random.key(self.rollout.step)
            self.state, metrics = self.learn(self.state, batches, key)
            for name, value in metrics.items():
                self.rollout.note(name, float(value))
            self.rollout.pending.clear()
        self.spent["all"] = time.perf_counter() - began
        return steps / self.spent["all"]

    def _time(self, owner, name, part):
        setattr(owner, name, self._timed(getattr(owner, name), part))

    def _timed(self, function, part):
        def call(*args, **kwargs):
            began = time.perf_counter()
            result = function(*args, **kwargs)
            if part == "update":
                jax.block_until_ready(result)
            self.spent[part] += time.perf_counter() - began
            return result

        return call
