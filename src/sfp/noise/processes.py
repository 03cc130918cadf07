"""Noise with a memory: standard normal at every step, correlated from step to step."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Int64
from numpy.random import Generator

from sfp.errors import SfpError, at_least

Normal: TypeAlias = Float32[np.ndarray, "n dims"]
"""One vector per row; every entry has mean 0 and variance 1."""

State = TypeVar("State")


@runtime_checkable
class Noise(Protocol[State]):
    """A stationary Gaussian process per row and dimension.

    The state is a tuple of arrays whose shapes and types never change, and it is not
    modified: it can be saved at any step.
    """

    def begin(self, rng: Generator, n: int, dims: int) -> State:
        """The memory of `n` new episodes."""
        ...

    def draw(self, state: State, rng: Generator) -> tuple[Normal, State]:
        """The next vector of every row, and the memory after it."""
        ...


class ColoredState(NamedTuple):
    sequence: Float32[np.ndarray, "horizon n dims"]
    step: Int64[np.ndarray, ""]


@dataclass(frozen=True)
class Colored:
    """Noise whose power falls with frequency like f^-exponent.

    White noise of `horizon` steps, its Fourier coefficients scaled by f^(-exponent/2)
    (Timmer & König, 1995). The mean of a sequence, f = 0, is as strong as the lowest
    frequency, 1/horizon. When a sequence is used up, an independent one follows.

    Attributes:
        exponent: 0 is white, 1 pink, 2 red (Brownian).
        horizon: steps of a sequence; an episode's length is a good choice.
    """

    exponent: float = 1.0
    horizon: int = 500

    def __post_init__(self):
        _check_exponent(self.exponent, "0 is white noise, 1 pink, 2 red")
        at_least(2, horizon=self.horizon)

    def begin(self, rng: Generator, n: int, dims: int) -> ColoredState:
        return ColoredState(self._sequence(rng, n, dims), np.array(0, np.int64))

    def draw(self, state: ColoredState, rng: Generator) -> tuple[Normal, ColoredState]:
        sequence, step = state.sequence, int(state.step)
        if step == self.horizon:
            sequence, step = self._sequence(rng, *sequence.shape[1:]), 0
        after = ColoredState(sequence, np.array(step + 1, np.int64))
        return sequence[step].copy(), after

    def _sequence(
        self, rng: Generator, n: int, dims: int
    ) -> Float32[np.ndarray, "horizon n dims"]:
        white = np.fft.rfft(rng.standard_normal((n, dims, self.horizon)))
        coloured = np.fft.irfft(white * self._gain(), n=self.horizon)
        return np.ascontiguousarray(np.moveaxis(coloured, -1, 0), np.float32)

    def correlations(self, count: int) -> Float[np.ndarray, " count"]:
        """With itself 0, 1, ... steps later."""
        return np.fft.irfft(self._gain() ** 2, n=self.horizon)[:count]

    def _gain(self) -> Float[np.ndarray, " frequencies"]:
        """Per non-negative frequency; its mean square over all of them is 1."""
        periods = np.abs(np.fft.fftfreq(self.horizon, 1 / self.horizon))
        gain = np.maximum(periods, 1.0) ** (-self.exponent / 2)
        gain /= np.sqrt(np.mean(gain**2))
        return gain[: self.horizon // 2 + 1]


class OrnsteinUhlenbeckState(NamedTuple):
    value: Normal


@dataclass(frozen=True)
class OrnsteinUhlenbeck:
    """e' = (1 - θ) e + sqrt(1 - (1 - θ)²) ξ: k steps apart, correlated by (1 - θ)^k.

    Attributes:
        theta: θ, how much is forgotten per step; 1 is white noise.
    """

    theta: float = 0.15

    def __post_init__(self):
        if not 0 < self.theta <= 1:
            raise SfpError(
                f"expected theta within (0, 1], received {self.theta}. It is the share "
                "forgotten per step: 0.15 is usual, 1 is white noise."
            )

    def begin(self, rng: Generator, n: int, dims: int) -> OrnsteinUhlenbeckState:
        return OrnsteinUhlenbeckState(rng.standard_normal((n, dims), np.float32))

    def draw(
        self, state: OrnsteinUhlenbeckState, rng: Generator
    ) -> tuple[Normal, OrnsteinUhlenbeckState]:
        kept = 1 - self.theta
        fresh = rng.standard_normal(state.value.shape, np.float32)
        value = kept * state.value + math.sqrt(1 - kept**2) * fresh
        return value.copy(), OrnsteinUhlenbeckState(value)

    def correlations(self, count: int) -> Float[np.ndarray, " count"]:
        """With itself 0, 1, ... steps later."""
        return (1 - self.theta) ** np.arange(count)


class ZetaState(NamedTuple):
    value: Normal
    left: Int64[np.ndarray, " n"]


@dataclass(frozen=True)
class Zeta:
    """A vector held for m steps, P(m) ∝ m^-exponent, then another.

    The durations of temporally extended ε-greedy exploration (Dabney et al., 2021).

    Attributes:
        exponent: the larger, the shorter; 0 makes all durations equally likely.
        longest: the longest duration.
    """

    exponent: float = 2.0
    longest: int = 16

    def __post_init__(self):
        _check_exponent(self.exponent, "2 is usual, 0 is a uniform duration")
        at_least(1, longest=self.longest)

    def begin(self, rng: Generator, n: int, dims: int) -> ZetaState:
        return ZetaState(np.zeros((n, dims), np.float32), np.zeros(n, np.int64))

    def draw(self, state: ZetaState, rng: Generator) -> tuple[Normal, ZetaState]:
        value, left = state.value.copy(), state.left.copy()
        over = left == 0
        if over.any():
            count = int(over.sum())
            value[over] = rng.standard_normal((count, value.shape[1]), np.float32)
            left[over] = self._durations(rng, count)
        return value.copy(), ZetaState(value, left - 1)

    def _durations(self, rng: Generator, count: int) -> Int64[np.ndarray, " count"]:
        weight = np.arange(1, self.longest + 1) ** -float(self.exponent)
        up_to = np.cumsum(weight)
        drawn = np.searchsorted(up_to / up_to[-1], rng.random(count), side="right")
        return drawn.astype(np.int64) + 1


def squash(noise: Float[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """Actions a = 2 Φ(noise) - 1: standard normal noise becomes uniform in [-1, 1].

    What SAC explores with at first, but correlated in time as the noise is.
    """
    scaled = (noise.astype(np.float64) * math.sqrt(0.5)).ravel().tolist()
    return np.array([math.erf(x) for x in scaled], np.float32).reshape(noise.shape)


def _check_exponent(exponent: float, meaning: str) -> None:
    if not 0 <= exponent < math.inf:
        raise SfpError(
            f"expected exponent within [0, inf), received {exponent}: {meaning}."
        )
