"""Learning a prior from trajectories, in blocks of gradient steps inside XLA."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError, at_least, unknown
from sfp.priors.base import Prior
from sfp.priors.conditioning import Conditioning, states
from sfp.priors.models import get_model
from sfp.priors.prepare import (
    check_seed,
    draw_seeds,
    make_frame,
    make_jitter,
    shuffled,
    split,
)

BLOCK = 500
"""Gradient steps in one call, at most: what a progress bar can show."""

SETTLE = 131_072
"""Samples that give the flow's statistics."""

CHUNK = 4096


@dataclass(frozen=True)
class Fitting:
    """How to fit; the defaults reach the preset `paper`'s likelihood in minutes.

    Attributes:
        epochs: at most.
        epoch_steps: gradient steps in an epoch; None is one pass over the data.
        batch: pairs per step.
        learning_rate: of Adam, at its highest.
        schedule: `constant`, or `cosine` with a short warm-up, down to zero.
        l2: weight decay as L2 in the gradient.
        patience: epochs without a better held-out likelihood before it stops.
        evaluation: held-out pairs looked at after each epoch.
    """

    epochs: int = 80
    epoch_steps: int | None = 1000
    batch: int = 400
    learning_rate: float = 1e-3
    schedule: Literal["constant", "cosine"] = "cosine"
    l2: float = 1e-6
    patience: int = 10
    evaluation: int = 20_000

    def __post_init__(self):
        for name in ("epochs", "epoch_steps", "batch", "patience", "evaluation"):
            if getattr(self, name) is not None:
                at_least(1, **{name: getattr(self, name)})
        if not 0 < self.learning_rate < float("inf"):
            raise SfpError(
                f"expected a learning_rate above 0, received {self.learning_rate}."
            )


PRESETS = {
    "default": Fitting(),
    "paper": Fitting(
        epochs=100,
        epoch_steps=None,
        learning_rate=1e-4,
        schedule="constant",
        patience=100,
        evaluation=1_000_000,
    ),
}


class State(NamedTuple):
    """All that a fit carries from one epoch to the next; arrays only."""

    model: Any
    optimiser: Any
    best: Any
    epoch: np.ndarray
    best_score: np.ndarray
    best_epoch: np.ndarray


class Fitter:
    """A fit in progress: `epochs(state)` yields a log row and the state after each.

    The state alone decides what follows: random numbers are a function of the seed and
    the epoch, so that an interrupted fit resumes with the same bits.

    Args:
        data: trajectories with the columns that the conditioning needs.
        conditioning: what the prior sees.
        model: a name from `MODELS`.
        fitting: how to fit.
        seed: decides the split, the initial weights and the order of the data.
    """

    def __init__(
        self,
        data: Trajectories,
        *,
        conditioning: Conditioning = Conditioning(),  # noqa: B008  (frozen)
        model: str = "realnvp",
        fitting: Fitting = PRESETS["default"],
        seed: int = 0,
    ):
        check_seed(seed)
        self.model, self.entry = model, get_model(model)
        self.conditioning, self.fitting, self.seed = conditioning, fitting, seed
        self.frame, self.names = make_frame(data, conditioning), data.names
        self.jitter = jnp.asarray(make_jitter(data))
        rows, episodes = conditioning.rows(data)
        held_out = split(episodes, seed)
        train, held = rows[~held_out].astype(np.int32), rows[held_out].astype(np.int32)
        if len(train) < fitting.batch:
            raise SfpError(
                f"{data.source} has {len(train)} training pairs, fewer than a "
                f"batch of {fitting.batch}: record more or lower the batch size."
            )
        self.seeds = draw_seeds(data, train, conditioning.past_actions, seed)
        self.context = conditioning.past_actions * data.dims + len(
            self.frame.state_mean
        )
        self.init_key, held_key, settle_key, self.epochs_key = jax.random.split(
            jax.random.key(seed), 4
        )
        # What is held out and what gives the statistics carries frozen noise: the same
        # question every epoch, asked of actions like those that are learned from.
        self.data, self.train = self._scaled(data), train
        self.held = self._pairs(held_key, shuffled(held, seed), self.data)
        some = shuffled(train, seed, SETTLE)
        self.settling = self._pairs(settle_key, some, self.data)
        steps = fitting.epoch_steps or len(train) // fitting.batch
        self.epoch_steps = steps if self.entry.by_gradient else 0
        self.blocks = -(-steps // BLOCK) if self.entry.by_gradient else 1
        self.optimiser = self._optimiser()
        self._run = jax.jit(self._block, donate_argnums=(0, 1))
        self._log_probs = jax.jit(jax.vmap(_log_prob, in_axes=(None, 0, 0)))

    def begin(self) -> State:
        """The state before the first epoch."""
        model = self.entry.build(len(self.frame.low), self.context, key=self.init_key)
        learned, _ = self._partition(model)
        score = np.array(-np.inf, np.float64)
        zero = np.array(0, np.int64)
        return State(model, self.optimiser.init(learned), model, zero, score, zero)

    def epochs(
        self, state: State, progress: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[dict[str, int | float], State]]:
        """Fit until the last epoch or until patience runs out."""
        if not self.entry.by_gradient:
            if int(state.epoch) == 0:
                yield self._solve(state)
            return
        while int(state.epoch) < self.fitting.epochs:
            if int(state.epoch - state.best_epoch) >= self.fitting.patience:
                return
            row, state = self._epoch(state, progress)
            yield row, state

    def prior(self, state: State) -> Prior:
        """The best prior so far."""
        parts = self.frame, self.seeds, self.conditioning, self.names
        return Prior(state.best, *parts)

    def score(self, model: Any, count: int | None = None) -> float:
        """Mean held-out log-likelihood in nats, in the environment's units.

        For a model without density: minus the mean squared error of scaled actions.
        """
        actions, contexts = (x[:count] for x in self.held)
        if not self.entry.is_density:
            return -float(model.loss(jax.random.key(0), actions, contexts))
        total = 0.0
        for first in range(0, len(actions), CHUNK):
            part = slice(first, first + CHUNK)
            values = self._log_probs(model, actions[part], contexts[part])
            total += float(np.asarray(values, np.float64).sum())
        return total / len(actions) - float(jnp.log(self.frame.half).sum())

    def _scaled(self, data: Trajectories) -> tuple[jax.Array, jax.Array | None]:
        """Actions and states of all steps in the model's units."""
        frame = self.frame
        actions = (jnp.asarray(data.actions) - frame.middle) / frame.half
        if not self.conditioning.state:
            return actions, None
        seen = jnp.asarray(states(data))
        return actions, (seen - frame.state_mean) / frame.state_deviation

    def _pairs(self, key, rows, data) -> tuple[jax.Array, jax.Array]:
        """Actions, with the noise that makes point masses densities, and contexts.

        Contexts are put together when they are needed: all of them at once would be
        `past_actions` times the data.
        """
        actions = data[0][rows]
        noise = jax.random.uniform(key, actions.shape, minval=-1.0)
        edge = self.entry.edge
        actions = jnp.clip(actions + self.jitter * noise, -edge, edge)
        return actions, self.conditioning.gather(rows, *data)

    def _optimiser(self) -> optax.GradientTransformation:
        fitting = self.fitting
        rate: Any = fitting.learning_rate
        if fitting.schedule == "cosine":
            total = max(1, fitting.epochs * self.epoch_steps)
            warm = min(200, total // 10)
            rate = optax.warmup_cosine_decay_schedule(0.0, rate, warm, total)
        return optax.chain(
            optax.add_decayed_weights(fitting.l2), optax.adam(rate, b1=0.9, b2=0.999)
        )

    def _partition(self, model: Any) -> tuple[Any, Any]:
        """What the optimiser moves, and the rest."""
        learned = jax.tree.map(eqx.is_array, model)
        for name in self.entry.frozen:
            learned = eqx.tree_at(
                lambda tree, n=name: getattr(tree, n), learned, replace=False
            )
        return eqx.partition(model, learned)

    def _block(self, model, optimiser, data, rows, key):
        """Some gradient steps in one scan."""
        learned, rest = self._partition(model)

        def loss(learned, key, actions, contexts):
            return eqx.combine(learned, rest).loss(key, actions, contexts)

        def step(carry, inputs):
            learned, optimiser = carry
            rows, key = inputs
            noise_key, loss_key = jax.random.split(key)
            actions, contexts = self._pairs(noise_key, rows, data)
            value, gradient = jax.value_and_grad(loss)(
                learned, loss_key, actions, contexts
            )
            update, optimiser = self.optimiser.update(gradient, optimiser, learned)
            return (optax.apply_updates(learned, update), optimiser), value

        keys = jax.random.split(key, len(rows))
        (learned, optimiser), losses = jax.lax.scan(
            step, (learned, optimiser), (rows, keys)
        )
        return eqx.combine(learned, rest), optimiser, losses

    def _epoch(self, state: State, progress: Callable[[], None]):
        began = time.perf_counter()
        epoch, batch = int(state.epoch), self.fitting.batch
        rng = np.random.default_rng([self.seed, 100, epoch])
        needed, pairs = self.epoch_steps * batch, len(self.train)
        passes = [rng.permutation(pairs) for _ in range(-(-needed // pairs))]
        order = self.train[np.concatenate(passes)[:needed]]
        blocks = np.array_split(order.reshape(-1, batch), self.blocks)
        keys = jax.random.split(jax.random.fold_in(self.epochs_key, epoch), self.blocks)
        model, optimiser = jax.tree.map(jnp.array, (state.model, state.optimiser))
        losses = []
        for rows, key in zip(blocks, keys, strict=True):
            model, optimiser, values = self._run(model, optimiser, self.data, rows, key)
            losses.append(np.asarray(values, np.float64))
            progress()
        loss = float(np.concatenate(losses).mean())
        if not np.isfinite(loss):
            raise SfpError(
                f"the fit diverged in epoch {epoch + 1} (loss {loss}): lower the "
                "learning rate, or look at the data with `sfp data`."
            )
        if hasattr(model, "settle"):
            model = _settle(model, *self.settling)
        return self._finish(state, model, optimiser, loss, began)

    def _solve(self, state: State):
        began = time.perf_counter()
        actions, contexts = (np.asarray(x) for x in self.settling)
        model = state.model.solve(
            actions, contexts, np.random.default_rng([self.seed, 100])
        )
        return self._finish(state, model, state.optimiser, float("nan"), began)

    def _finish(self, state: State, model, optimiser, loss: float, began: float):
        """Score the model and keep it if it is the best."""
        score = self.score(model, self.fitting.evaluation)
        epoch = int(state.epoch) + 1
        if not np.isfinite(score):
            raise SfpError(
                f"the held-out likelihood after epoch {epoch} is {score}: lower the "
                "learning rate, or look at the data with `sfp data`."
            )
        state = state._replace(model=model, optimiser=optimiser, epoch=np.array(epoch))
        if score > float(state.best_score):
            state = state._replace(
                best=model, best_score=np.array(score), best_epoch=np.array(epoch)
            )
        row = {
            "epoch": epoch,
            "steps": epoch * self.epoch_steps,
            "loss": loss,
            "held_out": score,
            "best": float(state.best_score),
            "seconds": time.perf_counter() - began,
        }
        return row, state


def _log_prob(model, action, context):
    return model.log_prob(action, context)


@jax.jit
def _settle(model, actions, contexts):
    return model.settle(actions, contexts)


def fit(
    data: Trajectories,
    *,
    past_actions: int = 1,
    state: bool = False,
    model: str = "realnvp",
    preset: str = "default",
    seed: int = 0,
    progress: Callable[[dict[str, int | float]], None] = lambda row: None,
    **changes: Any,
) -> Prior:
    """Learn a prior from trajectories.

    Args:
        data: recorded actions; with `state`, observations too.
        past_actions: how many of them the prior sees.
        state: whether it also sees the state (a behavioural prior).
        model: a name from `MODELS`.
        preset: `default`, or `paper` for its protocol (100 passes at 1e-4).
        seed: decides everything.
        progress: called with each epoch's row (`epoch`, `loss`, `held_out`, ...); try
            `progress=print`.
        **changes: fields of `Fitting` to change.
    """
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS, "Choose one of these.")
    fitter = Fitter(
        data,
        conditioning=Conditioning(past_actions, state),
        model=model,
        fitting=replace(PRESETS[preset], **changes),
        seed=seed,
    )
    carried = fitter.begin()
    for row, latest in fitter.epochs(carried):
        carried = latest
        progress(row)
    return fitter.prior(carried)
