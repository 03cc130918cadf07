"""Acts by what `sfp export` wrote beside this file; needs Python and NumPy only.

from controller import Controller

controller = Controller("controller.npz")
controller.reset(seed=0)                # when an episode begins
action = controller.act(observation)    # a prior acts without an observation
"""

import json
import os
from collections.abc import Mapping

import numpy as np


def _softmax(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


OPERATIONS = {
    "linear": lambda x, weight: x @ weight,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "less": np.less,
    "where": np.where,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "round": np.rint,
    "sigmoid": lambda x: 1 / (1 + np.exp(-np.maximum(x, np.float32(-80)))),
    "softmax": _softmax,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "concat": lambda *parts: np.concatenate(parts, axis=-1),
    "reverse": lambda x: x[..., ::-1],
    "slice": lambda x, *, start, stop: x[..., start:stop],
    "spread": lambda x: x[..., None, :],
    "sum": lambda x: x.sum(axis=-1),
    "cumsum": lambda x: x.cumsum(axis=-1),
    "count": lambda x: x.sum(axis=-1),
    "take": lambda table, index: table[np.minimum(index, len(table) - 1)],
}
"""Over the last axis; the others are free."""

LARGEST = 10**7
"""Numbers of an input, and of what is computed from it."""

FIXED = {"coin": 1.0, "pick": 0.5, "uniform": 0.5}
"""Uniform inputs, and what they are without randomness: a coin of 1 is the policy's."""


class Controller:
    """A prior, a policy or a mixture of both, in the environment's own units.

    Args:
        path: of the .npz file.

    Attributes:
        notes: what is known of it: sizes, bounds, what it was made from.
        mixing: λ of the last action, of a mixture.
    """

    def __init__(self, path=None):
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "controller")
        path = os.fspath(path or f"{beside}.npz")
        try:
            self._load(path)
            self._try()
        except Exception as error:
            said = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise ValueError(f"{path} is no controller of sfp's: {said}") from error
        self.mixing = None
        self.reset()

    def _load(self, path):
        if not os.path.isfile(path):
            raise ValueError("expected a file")
        with np.load(path, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        self.notes = json.loads(arrays.pop("notes").tobytes().decode())
        self.seeds = arrays.pop("seeds")
        places = {name: i for i, name in enumerate([*self.notes["inputs"], *arrays])}
        self._start: list = [None] * len(self.notes["inputs"]) + list(arrays.values())
        self._steps = []
        for kind, taken, made, options in self.notes["nodes"]:
            if kind not in OPERATIONS:
                raise ValueError(f"{kind!r} is no operation of this version")
            chosen = [places[name] for name in taken]
            places[made] = len(places)
            self._steps.append((OPERATIONS[kind], chosen, options))
        self._outputs = {name: places[at] for name, at in self.notes["outputs"].items()}

    def _try(self):
        """Act once on zeros: what is damaged fails here, not in the robot's loop."""
        for name, size in self.notes["inputs"].items():
            if not isinstance(size, int) or not 0 <= size <= LARGEST:
                raise ValueError(f"input {name!r} of size {size!r}")
        parts, commit = self.notes["observation"], self.notes.get("commit", 1.0)
        if not isinstance(parts, dict) or not isinstance(commit, int | float):
            raise ValueError(f"an observation of {parts!r}, commit {commit!r}")
        self.reset(0)
        with np.errstate(all="ignore"):
            given = {
                k: np.zeros(n, np.float32) for k, n in self.notes["inputs"].items()
            }
            self._finish(self.run(LARGEST, **given | self._past()))

    def reset(self, seed=None):
        """An episode begins: past actions from the data stand in front of it."""
        self._rng, self._coin = np.random.default_rng(seed), None
        self.past = self.seeds[self._rng.integers(len(self.seeds))]

    def act(self, observation=None, *, deterministic=None):
        """One action; it counts as executed unless `remember` says otherwise.

        Args:
            observation: as the environment shows it, an array or a dict of arrays; a
                prior that sees no state needs none.
            deterministic: without noise, which is the default of a policy; a mixture
                lets the policy act then.
        """
        if deterministic is None:
            deterministic = self.notes["kind"] == "policy"
        rng, given = self._rng, {}
        for name, size in self.notes["inputs"].items():
            if name == "past":
                given |= self._past()
            elif name == "observation":
                given[name] = self._seen(observation)
            elif name in FIXED:
                drawn = FIXED[name] if deterministic else self._toss(name, size)
                given[name] = np.full(size, drawn, np.float32)
            elif deterministic:
                given[name] = np.zeros(size, np.float32)
            else:
                given[name] = rng.standard_normal(size, np.float32)
        return self._finish(self.run(**given))

    def _past(self):
        return {"past": self.past.ravel()} if "past" in self.notes["inputs"] else {}

    def _finish(self, made):
        """The action that was computed, remembered and in the environment's shape."""
        if "mixing" in made:
            self.mixing = float(made["mixing"][0])
        action = made["action"]
        self.past = np.concatenate([self.past, action[None]])[1:]
        shape, kind = self.notes["action_shape"], self.notes["action_type"]
        return action.astype(kind).reshape(shape)

    def remember(self, action):
        """Something else than the last action of `act` was executed."""
        flat = np.asarray(action, np.float32).ravel()
        if len(self.past):
            self.past = np.concatenate([self.past[:-1], flat[None]])

    def run(self, largest=None, /, **inputs):
        """All outputs for given inputs, which may have more axes in front.

        Args:
            largest: refuse to compute more numbers at once than this.
            **inputs: by their names in `notes`.
        """
        values = list(self._start)
        for i, name in enumerate(self.notes["inputs"]):
            values[i] = inputs[name]
        for function, taken, options in self._steps:
            values.append(function(*[values[i] for i in taken], **options))
            if largest is not None and np.size(values[-1]) > largest:
                raise ValueError(f"it would compute {np.size(values[-1]):,} numbers")
        return {name: values[at] for name, at in self._outputs.items()}

    def _toss(self, name, size):
        """Uniform; a mixture keeps its coin for `commit` steps in the mean."""
        if name != "coin":
            return self._rng.random(size, np.float32)
        commit = self.notes.get("commit", 1.0)
        if self._coin is None or commit == 1 or self._rng.random() < 1 / commit:
            self._coin = self._rng.random()
        return self._coin

    def _seen(self, observation):
        parts = self.notes["observation"]
        named = observation if isinstance(observation, Mapping) else {"": observation}
        if not parts.keys() <= named.keys():
            wanted = ", ".join(map(repr, parts))
            raise ValueError(f"expected an observation with the parts {wanted}")
        flat = [np.asarray(named[key], np.float32).ravel() for key in parts]
        seen = np.concatenate(flat)
        if len(seen) != self.notes["inputs"]["observation"]:
            size = self.notes["inputs"]["observation"]
            raise ValueError(f"expected an observation of {size}, received {len(seen)}")
        if not np.isfinite(seen).all():
            raise ValueError("the observation holds NaN or infinite numbers")
        return seen
