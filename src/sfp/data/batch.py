"""What an update learns from: the border between NumPy and JAX."""

from typing import NamedTuple, TypeAlias

from jaxtyping import Array, Float

from sfp.observation import Obs

Floats: TypeAlias = Float[Array, "..."]


class Batch(NamedTuple):
    """Transitions t to t + m to learn from, with m <= n and within one episode.

    Time counts an agent's choices: for most methods, time steps of the environment.
    All arrays share their leading axes; actions are scaled to [-1, 1].

    Attributes:
        obs: s_t, with its goal and image.
        action: a_t, as the critic sees it.
        reward: r_t + γ r_{t+1} + ... + γ^{m-1} r_{t+m-1}.
        discount: γ^m; 0 where the episode terminated at t + m. A time limit is none.
        next_obs: s_{t+m}, with the same goal.
        history: the actions strictly before a_t that priors see, flattened.
        next_history: the same before a_{t+m}; it ends at a_{t+m-1}.
        proposal: an action of each prior whose proposals the replay keeps, at t.
        next_proposal: the same at t + m.
        relabelled: 1 where the goal is one that was achieved later, 0 where it is true.
    """

    obs: Obs
    action: Floats
    reward: Floats
    discount: Floats
    next_obs: Obs
    history: Floats
    next_history: Floats
    proposal: Floats
    next_proposal: Floats
    relabelled: Floats
