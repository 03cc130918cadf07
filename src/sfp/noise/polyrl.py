"""PolyRL: a walk that bends like a stiff polymer, so it seldom crosses its own path.

The rule is that of Amin et al., "Locally persistent exploration in continuous control
tasks with sparse rewards" (ICML 2021): an action turns away from the last one by an
angle η ~ N(θ, variance), and the walk goes on as one chain as long as the chain's
spread grows as that of an ideal chain would. Action rule and bounds are derived anew
here from that description.

The chain's states are s_1 ... s_T, its bonds w_i = s_{i+1} - s_i, and U²_T its squared
radius of gyration, the mean squared distance of its states from their mean μ_T. A new
state changes it by

    U²_T - U²_{T-1} = -U²_{T-1} / T + X,    X = (T-1)/T² ‖s_T - μ_{T-1}‖².

With m = T - 1, and as s_m - μ_m = Σ_{i<m} (i/m) w_i, an ideal chain, whose bonds have
mean square b² and E[w_i · w_j] = b² cos(θ)^|i-j|, has, given ‖s_m - μ_m‖,

    E[X] = m/(m+1)² (‖s_m - μ_m‖² + 2 b²/m Σ_{i<m} i cos(θ)^(m-i) + b²).

X is not negative, so Markov's inequality bounds it from above: it exceeds E[X]/β with
probability β at most. From below, the second moment does (Paley and Zygmund, with
E[X²] = 2 E[X]² as for a Gaussian in the plane): X exceeds (1 - sqrt(2 - 2β)) E[X] with
probability 1 - β at least. Outside of these bounds a new chain begins.

For the paper's β = 0.01 the lower factor is negative, so that only the upper bound, 100
times the mean, can end a chain: in practice a long jump after hardly any motion. The
lower bound acts for β > 0.5.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Float32, Int64

from sfp.errors import SfpError

HAIR = 1e-9
"""A vector shorter than this has no direction."""

States: TypeAlias = Float[np.ndarray, "n state"]
Vectors: TypeAlias = Float[np.ndarray, "n dims"]
Numbers: TypeAlias = Float[np.ndarray, " n"]


class PolyRLState(NamedTuple):
    """The chain of every row, up to its last state s_m.

    Attributes:
        action: the last one, as executed; 0 if there is none.
        length: m, 0 before the first state.
        mean: μ_m.
        gyration: U²_m.
        last: s_m.
        bonds: Σ_i ‖w_i‖².
        cross: Σ_{i<m} i cos(θ)^(m-i).
    """

    action: Float32[np.ndarray, "n dims"]
    length: Int64[np.ndarray, " n"]
    mean: States
    gyration: Numbers
    last: States
    bonds: Numbers
    cross: Numbers


@dataclass(frozen=True)
class PolyRL:
    """The walk's parameters; the defaults are the paper's.

    Attributes:
        theta: θ, the mean angle between successive actions.
        variance: of that angle.
        beta: β, how unlikely a growth ends a chain.
    """

    theta: float = 0.35
    variance: float = 0.017
    beta: float = 0.01

    def __post_init__(self):
        if not 0 <= self.theta < math.pi / 2:
            raise SfpError(
                f"expected theta within [0, π/2), received {self.theta}. It is the "
                "mean angle between successive actions, in radians: try 0.35."
            )
        if not 0 <= self.variance < math.inf:
            raise SfpError(
                f"expected variance within [0, inf), received {self.variance}. It is "
                "that of the angle between successive actions: try 0.017."
            )
        if not 0 < self.beta < 1:
            raise SfpError(
                f"expected beta within (0, 1), received {self.beta}. The closer to 0, "
                "the longer a chain goes on: try 0.01."
            )

    def begin(self, n: int, dims: int, states: States) -> PolyRLState:
        """Empty chains; the first `draw` is given `states` and begins them there."""
        last = states.astype(np.float64)
        return PolyRLState(
            action=np.zeros((n, dims), np.float32),
            length=np.zeros(n, np.int64),
            mean=last,
            gyration=np.zeros(n),
            last=last,
            bonds=np.zeros(n),
            cross=np.zeros(n),
        )

    def draw(
        self, state: PolyRLState, position_now: States, rng: np.random.Generator
    ) -> tuple[Float32[np.ndarray, "n dims"], PolyRLState]:
        """An action within [-1, 1] for every row, and the chains with this state."""
        chain = self.lengthen(state, position_now)
        point = rng.uniform(-1.0, 1.0, chain.action.shape)
        angle = rng.normal(self.theta, math.sqrt(self.variance), len(point))
        action = np.clip(turn(chain.action, point, angle), -1.0, 1.0)
        action = action.astype(np.float32)
        return action.copy(), chain._replace(action=action)

    def lengthen(self, state: PolyRLState, position: States) -> PolyRLState:
        """Add s_T to the chains, or begin new ones there, without a last action."""
        position = position.astype(np.float64)
        count = state.length + 1
        gap = position - state.mean
        change = -state.gyration / count
        low, high = change + self.bounds(self.expect(state))
        change += state.length / count**2 * _square(gap)
        # Before the second bond there is no bond length to expect anything from.
        new = (state.length >= 2) & ((change < low) | (change > high))
        new |= state.length == 0
        go_on = ~new
        return PolyRLState(
            action=np.where(new[:, None], np.float32(0.0), state.action),
            length=np.where(new, 1, count),
            mean=np.where(new[:, None], position, state.mean + gap / count[:, None]),
            gyration=go_on * (state.gyration + change),
            last=position,
            bonds=go_on * (state.bonds + _square(position - state.last)),
            cross=go_on * math.cos(self.theta) * (state.cross + state.length),
        )

    def expect(self, state: PolyRLState) -> Numbers:
        """E[X] of the next state, were the chains ideal (see the module)."""
        m = np.maximum(state.length, 1)
        bond = state.bonds / np.maximum(m - 1, 1)
        gap = _square(state.last - state.mean)
        return m / (m + 1) ** 2 * (gap + 2 * bond / m * state.cross + bond)

    def bounds(self, expected: Numbers) -> Float[np.ndarray, "2 n"]:
        """The least and the largest X with which a chain goes on, given E[X]."""
        factors = 1 - math.sqrt(2 - 2 * self.beta), 1 / self.beta
        return np.multiply.outer(factors, expected)


def turn(previous: Vectors, point: Vectors, angle: Numbers) -> Vectors:
    """Bend the direction u of the previous action by an angle η towards a point P.

    With r the unit vector of P - (P·u) u, which is orthogonal to u, the result is

        |P·u| / cos(η) (cos(η) u + sin(η) r) = |P·u| (u + tan(η) r).

    In one dimension there is no r, and u is kept. Where there is no previous direction,
    the result is P.
    """
    length = np.sqrt(_square(previous))[:, None]
    u = previous / np.maximum(length, HAIR)
    along = np.sum(point * u, axis=1, keepdims=True)
    across = point - along * u
    distance = np.sqrt(_square(across))[:, None]
    r = np.where(distance > HAIR, across / np.maximum(distance, HAIR), 0.0)
    bent = np.abs(along) * (u + np.tan(angle)[:, None] * r)
    return np.where(length > HAIR, bent, point)


def _square(vectors: Vectors) -> Numbers:
    return np.sum(vectors * vectors, axis=1)
