"""Environments that break Gymnasium's rules, one rule each, from a table of faults.

`cases` lists them; `attempt` trains in one and raises unless its promises are kept:
a misbehaving environment is refused in one line, or it does no harm.
"""

import itertools

import gymnasium as gym
import numpy as np
import seeds
from gymnasium import spaces

NAN = float("nan")
TWO = np.ones(2)
FLAGS = {
    "none": None,
    "text": "yes",
    "two": np.array([True, False]),
    "nan": NAN,
    "number": 2,
    "list": [],
}
VALUES = {
    **{f"terminated {k}": ("terminated", v) for k, v in FLAGS.items()},
    **{f"truncated {k}": ("truncated", v) for k, v in FLAGS.items()},
    **{f"success {k}": ("success", v) for k, v in FLAGS.items()},
    "success infinite": ("success", float("inf")),
    "obs nan": ("obs", lambda o: o * NAN),
    "obs infinite": ("obs", lambda o: o + np.inf),
    "obs huge": ("obs", lambda o: o.astype(float) + 1e300),
    "obs short": ("obs", lambda o: o[:-1]),
    "obs long": ("obs", lambda o: np.append(o, o)),
    "obs row": ("obs", lambda o: o[None]),
    "obs text": ("obs", lambda o: "north"),
    "obs none": ("obs", lambda o: None),
    "obs list": ("obs", lambda o: list(o)),
    "obs ragged": ("obs", lambda o: [1.0, [2.0]]),
    "obs objects": ("obs", lambda o: np.array([None] * len(o))),
    "obs complex": ("obs", lambda o: o + 1j),
    "obs dict": ("obs", lambda o: {"x": o}),
    "obs tuple": ("obs", lambda o: (o, o)),
    "reward nan": ("reward", NAN),
    "reward infinite": ("reward", float("inf")),
    "reward none": ("reward", None),
    "reward text": ("reward", "1"),
    "reward two": ("reward", TWO),
    "reward complex": ("reward", 1j),
    "reward huge": ("reward", 1e308),
    "reward whole": ("reward", 10**400),
    "reward row": ("reward", np.ones(1)),
    "info none": ("info", None),
    "info list": ("info", []),
    "info text": ("info", "is_success"),
    "info number": ("info", 5),
    "tuple of four": ("tuple", lambda t: t[:4]),
    "tuple of six": ("tuple", lambda t: (*t, {})),
    "tuple none": ("tuple", lambda t: None),
    "tuple list": ("tuple", list),
    "tuple iterator": ("tuple", iter),
    "tuple text": ("tuple", lambda t: "abcde"),
    "raises": ("raise", RuntimeError("the motor\nis on fire")),
    "raises key": ("raise", KeyError("x")),
    "raises nothing": ("raise", AssertionError()),
    "raises memory": ("raise", MemoryError("no more")),
    "raises stop": ("raise", StopIteration()),
    "raises disk": ("raise", OSError(28, "No space left on device")),
    "raises unicode": ("raise", UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")),
    "raises attribute": ("raise", AttributeError("'Odd' has no attribute 'x'")),
}
WHEN = {
    "first step": (0, 1),
    "step 7": (0, 7),
    "second episode": (1, 3),
    "reset": (1, 0),
}
"""Episode and step; at the reset only what a reset returns can be wrong."""

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
ACTIONS = {
    "discrete": spaces.Discrete(3),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,)),
    "half bounded": spaces.Box(np.float32([-1, -1]), np.float32([1, np.inf])),
    "no range": spaces.Box(1.0, 1.0, (2,)),
    "no width": spaces.Box(-1.0, 1.0, (0,)),
    "no axes": spaces.Box(-1.0, 1.0, ()),
    "matrix": spaces.Box(-1.0, 1.0, (2, 2)),
    "whole": spaces.Box(-3, 3, (2,), np.int64),
    "bytes": spaces.Box(0, 255, (2,), np.uint8),
    "huge": spaces.Box(-1e38, 1e38, (2,)),
    "tiny": spaces.Box(0.0, 1e-45, (2,)),
    "wide": spaces.Box(-1.0, 1.0, (10**6,)),
    "many": spaces.MultiDiscrete([2, 2]),
    "dict": spaces.Dict({"a": BOX}),
    "tuple": spaces.Tuple((BOX,)),
    "none": None,
    "text": "Box",
}
OBSERVATIONS = {
    "no width": spaces.Box(-1.0, 1.0, (0,)),
    "a part without width": spaces.Dict({"a": BOX, "b": spaces.Box(-1.0, 1.0, (0,))}),
    "empty dict": spaces.Dict({}),
    "nested": spaces.Dict({"a": spaces.Dict({"b": BOX})}),
    "text": spaces.Text(3),
    "discrete": spaces.Discrete(3),
    "bits": spaces.MultiBinary(4),
    "tuple": spaces.Tuple((BOX, BOX)),
    "sequence": spaces.Sequence(BOX),
    "picture": spaces.Box(0, 255, (8, 8, 3), np.uint8),
    "half floats": spaces.Box(-1.0, 1.0, (3,), np.float16),
    "no axes": spaces.Box(-1.0, 1.0, ()),
    "very wide": spaces.Box(-1.0, 1.0, (10**6,)),
    "none": None,
    "goals without desired": spaces.Dict({"observation": BOX, "achieved_goal": BOX}),
    "goals of two widths": spaces.Dict(
        {
            "observation": BOX,
            "achieved_goal": BOX,
            "desired_goal": spaces.Box(-1.0, 1.0, (3,)),
        }
    ),
}
CHANGES = ("actions grow", "observations grow", "actions vanish", "bounds move")
RESETS = {
    "no seed": "seed",
    "obs alone": lambda o: o,
    "three": lambda o: (o, {}, {}),
    "none": lambda o: None,
    "info none": lambda o: (o, None),
    "info text": lambda o: (o, "x"),
}
REWARDS = {
    "none": None,
    "text": "1",
    "two": TWO,
    "nan": NAN,
    "raises": RuntimeError("no\nreward"),
    "complex": 1j,
    "objects": np.array([None]),
}


class Odd(gym.Env):
    """A point in the plane, with or without goals, that breaks one rule."""

    def __init__(self, kind, name, when, *, goals):
        self.kind, self.name, self.goals = kind, name, goals
        self.when = WHEN.get(when, (0, 5))
        self.action_space, self.observation_space = BOX, BOX
        if goals:
            keys = ("observation", "achieved_goal", "desired_goal")
            self.observation_space = spaces.Dict(dict.fromkeys(keys, BOX))
        if kind == "actions":
            self.action_space = ACTIONS[name]
        if kind == "observations":
            self.observation_space = OBSERVATIONS[name]
        self.episode, self.count = -1, 0

    def reset(self, *, seed=None, options=None):
        if self.kind == "resets" and self.name == "no seed" and seed is not None:
            raise TypeError("reset() got an unexpected keyword argument 'seed'")
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1, 0
        self.at = self.np_random.uniform(-0.5, 0.5, 2).astype(np.float32)
        self.goal = self.np_random.uniform(-0.5, 0.5, 2).astype(np.float32)
        seen = self._seen()
        if self._now():
            return self._broken((seen, 0.0, False, False, {}), reset=True)
        if self.kind == "resets" and self.episode >= 1 and self.name != "no seed":
            return RESETS[self.name](seen)
        return seen, {}

    def _now(self):
        due = (self.episode, self.count) == self.when
        return self.kind == "values" and due

    def _seen(self):
        if self.kind == "observations":
            try:
                return self.observation_space.sample()
            except AttributeError:
                return self.at.copy()
        if not self.goals:
            return self.at.copy()
        keys = {"observation": self.at, "achieved_goal": self.at}
        return {k: v.copy() for k, v in (keys | {"desired_goal": self.goal}).items()}

    def step(self, action):
        self.count += 1
        noise = self.np_random.normal(0, 0.01, 2)
        self.at = np.clip(self.at + noise, -1, 1).astype(np.float32)
        if self.kind == "changes" and (self.episode, self.count) == (1, 3):
            self._change()
        end = self.count >= 9
        step = self._seen(), 0.0, False, end, {"is_success": False}
        return self._broken(step) if self._now() else step

    def _change(self):
        wide = spaces.Box(-1.0, 1.0, (3,), np.float32)
        if self.name == "actions grow":
            self.action_space = wide
        if self.name == "actions vanish":
            self.action_space = None
        if self.name == "observations grow":
            self.observation_space = wide
        if self.name == "bounds move":
            self.action_space = spaces.Box(-2.0, 2.0, (2,), np.float32)

    def _broken(self, step, *, reset=False):
        part, value = VALUES[self.name]
        obs, reward, over, late, info = step
        if part == "raise":
            raise value
        if part == "obs" and isinstance(obs, dict):
            obs = obs | {"achieved_goal": value(obs["achieved_goal"])}
        elif part == "obs":
            obs = value(obs)
        reward = value if part == "reward" else reward
        over = value if part == "terminated" else over
        late = value if part == "truncated" else late
        info = value if part == "info" else info
        if part == "success":
            info, late = {"is_success": value}, True
        if reset:
            return obs, info
        made = obs, reward, over, late, info
        return value(made) if part == "tuple" else made

    def compute_reward(self, achieved_goal, desired_goal, info):
        if self.kind == "rewards":
            value = REWARDS[self.name]
            if isinstance(value, Exception):
                raise value
            return value
        return np.zeros(np.shape(achieved_goal)[:-1])


def cases():
    """Every misbehaviour as (kind, name, when, goals, who), in a fixed order."""
    found = []
    for name, when, goals in itertools.product(VALUES, WHEN, (False, True)):
        if when != "reset" or VALUES[name][0] in ("obs", "info", "raise"):
            found.append(("values", name, when, goals))
    for kind, table in (
        ("actions", ACTIONS),
        ("observations", OBSERVATIONS),
        ("changes", CHANGES),
        ("resets", RESETS),
    ):
        found += [(kind, name, "", goals) for name in table for goals in (False, True)]
    found += [("rewards", name, "", True) for name in REWARDS]
    return [(*case, who) for case in found for who in ("both", "test")]


def attempt(case, out):
    """Train in a misbehaving environment, or only test in it."""
    import sfp
    from sfp.errors import SfpError

    kind, name, when, goals, who = case
    odd = Odd(kind, name, when, goals=goals)
    good = Odd("", "", "", goals=goals)
    env = good if who == "test" else Odd(kind, name, when, goals=goals)
    extra = {"hindsight": 1.0} if goals and kind == "rewards" else {}
    try:
        trained = sfp.train(
            env, method="sac", **seeds.SMALL, **extra, eval_env=odd, out=out / "run"
        )
    except SfpError:
        steps = [p.name for p in (out / "run" / "checkpoint").glob("step-*")]
        late = f"step-{seeds.SMALL['steps']:09d}" in steps
        assert not late, "trains to the last step and is then refused"
        raise
    if kind == "values" and VALUES[name][0] == "success":
        rates = [row["eval/success_rate"] or 0.0 for row in trained.evaluations]
        assert max(rates) == 0.0 or name == "success number", f"success rates {rates}"
    sfp.Trained.load(out / "run")
