"""Learning a prior from trajectories, in blocks of gradient steps inside XLA."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError, at_least, unknown
from sfp.outside import call
from sfp.priors.base import Prior, check_temperature
from sfp.priors.batches import DevicePairs, DeviceWindows, ImagePairs, Units
from sfp.priors.conditioning import Conditioning
from sfp.priors.models import OURS, SEEING, SKILLS, find_maker, usual_model
from sfp.priors.prepare import check_seed, make_frame, make_jitter
from sfp.priors.probe import check_alike, check_model
from sfp.priors.protocols import Settles, Solves, loss_of, partition, traits_of
from sfp.priors.skills import Skills

CHUNK = 4096

PROBED = 8
"""Samples that a model from outside is tried on."""


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


def settings(model: Any, preset: str = "default", **changes: Any) -> Fitting:
    """How a model is fitted; its own habits belong to the default preset."""
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS, "Choose one of these.")
    usual = find_maker(model).usual if preset == "default" else {}
    return replace(PRESETS[preset], **{**usual, **changes})


def conditioning_of(model: Any, past_actions: int, *, state: bool) -> Conditioning:
    """What a prior sees; skills see no past actions, a closed loop needs the state."""
    name = find_maker(model).name
    if name in SEEING:
        return Conditioning(0, state=True, image=True)
    if name not in SKILLS:
        return Conditioning(past_actions, state)
    return Conditioning(0, state or name == "skills")


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
    the epoch, so that an interrupted fit resumes with the same bits. `batches` makes
    the source of batches; its arguments are those of `DevicePairs`.
    """

    def __init__(
        self,
        data: Trajectories,
        *,
        conditioning: Conditioning = Conditioning(),  # noqa: B008  (frozen)
        model: Any = "realnvp",
        fitting: Fitting = PRESETS["default"],
        batches: Callable[..., DevicePairs] | None = None,
        temperature: float = 1.0,
        seed: int = 0,
    ):
        check_seed(seed)
        check_temperature(temperature)
        conditioning.check(data)
        self.temperature = temperature
        self.maker = find_maker(model)
        self.conditioning, self.fitting, self.seed = conditioning, fitting, seed
        self.frame, self.names = make_frame(data, conditioning), data.names
        self.jitter = jnp.asarray(make_jitter(data))
        init_key, held_key, settle_key, self.epochs_key = jax.random.split(
            jax.random.key(seed), 4
        )
        self.context = conditioning.past_actions * data.dims + len(
            self.frame.state_mean
        )
        if conditioning.image and data.images is not None:
            shape = json.dumps({"shape": list(data.images.shape[1:])})
            self.maker, batches = replace(self.maker, arguments=shape), ImagePairs
        self.initial = self.maker(data.dims, self.context, key=init_key)
        self.traits = traits_of(self.initial)
        if batches is None and isinstance(self.initial, Skills):
            batches = partial(DeviceWindows, horizon=self.initial.horizon)
        self.batches = (batches or DevicePairs)(
            data,
            conditioning,
            Units(self.frame, self.jitter, self.traits.edge),
            seed=seed,
            keys=(held_key, settle_key),
        )
        if self.batches.size < fitting.batch:
            raise SfpError(
                f"{data.source} has {self.batches.size} training pairs, fewer than a "
                f"batch of {fitting.batch}: record more or lower the batch size."
            )
        if self.maker.build not in OURS:
            few = (jnp.asarray(x[:PROBED]) for x in self.batches.settling)
            check_model(self.initial, *few, key=init_key)
        self.seeds = self.batches.seeds
        by_gradient = not isinstance(self.initial, Solves)
        steps = fitting.epoch_steps or self.batches.size // fitting.batch
        self.epoch_steps = steps if by_gradient else 0
        self.blocks = -(-steps // self.batches.block) if by_gradient else 1
        self.optimiser = self._optimiser()
        self._run = jax.jit(self._block, donate_argnums=(0, 1))
        self._log_probs = jax.jit(jax.vmap(_log_prob, in_axes=(None, 0, 0)))

    def begin(self) -> State:
        model = self.initial
        learned, _ = partition(model)
        score = np.array(-np.inf, np.float64)
        zero = np.array(0, np.int64)
        return State(model, self.optimiser.init(learned), model, zero, score, zero)

    def epochs(
        self, state: State, progress: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[dict[str, int | float], State]]:
        if isinstance(self.initial, Solves):
            if int(state.epoch) == 0:
                yield self._solve(state)
            return
        while int(state.epoch) < self.fitting.epochs:
            if int(state.epoch - state.best_epoch) >= self.fitting.patience:
                return
            row, state = self._epoch(state, progress)
            yield row, state

    def prior(self, state: State) -> Prior:
        parts = self.frame, self.seeds, self.conditioning, self.names, self.maker
        prior = Prior(state.best, *parts)
        return prior if self.temperature == 1 else prior.tempered(self.temperature)

    def score(self, model: Any, count: int | None = None) -> float:
        """Mean held-out log-likelihood in nats, in the environment's units.

        For a model without density: minus the mean squared error of scaled actions,
        and for skills minus what `Skills.window_loss` says.
        """
        actions, contexts = (x[:count] for x in self.batches.held)
        if isinstance(model, Skills):
            return -float(model.window_loss(jax.random.key(0), actions, contexts))
        if not self.traits.is_density:
            return -float(loss_of(model, jax.random.key(0), actions, contexts))
        total = 0.0
        for first in range(0, len(actions), CHUNK):
            part = slice(first, first + CHUNK)
            values = self._log_probs(model, actions[part], contexts[part])
            total += float(np.asarray(values, np.float64).sum())
        return total / len(actions) - float(jnp.log(self.frame.scale.half).sum())

    @property
    def unit(self) -> str:
        """Of the score: nats, unless the model has no density."""
        return "nats" if self.traits.is_density else "(minus the loss)"

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

    def _block(self, model, optimiser, resident, loaded, key):
        learned, rest = partition(model)

        def loss_at(learned, key, actions, contexts):
            return loss_of(eqx.combine(learned, rest), key, actions, contexts)

        def step(carry, inputs):
            learned, optimiser = carry
            loaded, key = inputs
            noise_key, loss_key = jax.random.split(key)
            actions, contexts = self.batches.make(noise_key, resident, loaded)
            value, gradient = jax.value_and_grad(loss_at)(
                learned, loss_key, actions, contexts
            )
            update, optimiser = self.optimiser.update(gradient, optimiser, learned)
            return (optax.apply_updates(learned, update), optimiser), value

        keys = jax.random.split(key, len(jax.tree.leaves(loaded)[0]))
        carry, inputs = (learned, optimiser), (loaded, keys)
        if self.batches.block == 1:  # outside of a loop, where convolutions are fast
            carry, loss = step(carry, jax.tree.map(lambda x: x[0], inputs))
            losses = loss[None]
        else:
            carry, losses = jax.lax.scan(step, carry, inputs)
        learned, optimiser = carry
        return eqx.combine(learned, rest), optimiser, losses

    def _epoch(self, state: State, progress: Callable[[], None]):
        began = time.perf_counter()
        epoch, batch = int(state.epoch), self.fitting.batch
        rng = np.random.default_rng([self.seed, 100, epoch])
        needed, size = self.epoch_steps * batch, self.batches.size
        passes = [rng.permutation(size) for _ in range(-(-needed // size))]
        items = np.concatenate(passes)[:needed].reshape(-1, batch)
        blocks = np.array_split(items, self.blocks)
        keys = jax.random.split(jax.random.fold_in(self.epochs_key, epoch), self.blocks)
        model, optimiser = jax.tree.map(jnp.array, (state.model, state.optimiser))
        losses = []
        resident = self.batches.resident
        for block, key in zip(blocks, keys, strict=True):
            loaded = self.batches.load(block)
            model, optimiser, values = self._run(
                model, optimiser, resident, loaded, key
            )
            losses.append(np.asarray(values, np.float64))
            progress()
        loss = float(np.concatenate(losses).mean())
        if not np.isfinite(loss):
            raise SfpError(
                f"the fit diverged in epoch {epoch + 1} (loss {loss}): lower the "
                "learning rate, or look at the data with `sfp data`."
            )
        if isinstance(model, Settles):
            model = _settle(model, *self.batches.settling)
        return self._finish(state, model, optimiser, loss, began)

    def _solve(self, state: State):
        began = time.perf_counter()
        samples = (np.asarray(x) for x in self.batches.settling)
        rng, what = np.random.default_rng([self.seed, 100]), f"{self.maker.label}.solve"
        model = call(what, state.model.solve, *samples, rng)
        check_alike(model, state.model, what)
        return self._finish(state, model, state.optimiser, float("nan"), began)

    def _finish(self, state: State, model, optimiser, loss: float, began: float):
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
    model: Any = None,
    preset: str = "default",
    temperature: float = 1.0,
    seed: int = 0,
    progress: Callable[[dict[str, int | float]], None] = lambda row: None,
    **changes: Any,
) -> Prior:
    """Learn a prior from trajectories.

    Args:
        data: recorded actions; with `state`, observations too.
        past_actions: how many of them the prior sees.
        state: whether it also sees the state (a behavioural prior).
        model: a name from `sfp list models`; or a class or factory of your own, called
            as `model(dims, context, key=key)` (a `functools.partial` states further
            arguments); or a model of the data's sizes, to start from its weights. None
            is the default, and with preset `paper` the paper's flow.
        preset: `default`, or `paper` for its protocol (100 passes at 1e-4).
        temperature: samples are sharper (below 1) or broader (above) than the fit.
        seed: decides everything.
        progress: called with each epoch's row (`epoch`, `loss`, `held_out`, ...); try
            `progress=print`.
        **changes: fields of `Fitting` to change.
    """
    model = usual_model(preset) if model is None else model
    fitter = Fitter(
        data,
        conditioning=conditioning_of(model, past_actions, state=state),
        model=model,
        fitting=settings(model, preset, **changes),
        temperature=temperature,
        seed=seed,
    )
    carried = fitter.begin()
    for row, latest in fitter.epochs(carried):
        carried = latest
        progress(row)
    return fitter.prior(carried)
