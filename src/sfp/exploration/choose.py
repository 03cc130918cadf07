"""How many past actions a prior should see: by likelihood, and by where it gets."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import gymnasium as gym
import jax
import numpy as np

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
from sfp.exploration.explorers import Exploration, explore
from sfp.exploration.metrics import persistence
from sfp.exploration.place import Place, find_place
from sfp.priors.compatibility import check_bounds
from sfp.priors.conditioning import Conditioning
from sfp.priors.fit import Fitter, Fitting, conditioning_of
from sfp.priors.rollout import rollout
from sfp.progress import progress

CANDIDATES = (0, 1, 2, 5, 10)
SHARE = 3
"""A candidate is fitted for a third of the epochs: enough to rank them."""

EPISODES = {True: 500, False: 40}
"""That each candidate explores: in a maze, all at once; elsewhere one by one."""

ALIKE = 0.02
"""Nats that do not count."""


@dataclass(frozen=True)
class Candidate:
    """A number of past actions, and what speaks for it.

    Attributes:
        held_out: nats.
        persistence: how many steps go together, of 50.
        goals_met: share of episodes, and `error` its standard error.
        coverage: of the place, by all of them.
    """

    past_actions: int
    held_out: float
    persistence: float
    goals_met: float | None = None
    error: float = 0.0
    coverage: float | None = None

    def row(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if v is not None and k != "error"}


def find_past_actions(
    data: Trajectories,
    past_actions: int | Literal["auto"],
    *,
    state: bool,
    env: str | gym.Env | None,
    model: Any = "realnvp",
    **how: Any,
) -> tuple[Conditioning, list[str]]:
    """What a prior is to see, and how that was chosen, in words.

    An environment must take the actions of the data in any case.
    """
    place = None if env is None else find_place(env)
    if place is not None:
        known = place.environment
        check_bounds(data.low, data.high, known.low, known.high, data.source)
    if past_actions != "auto":
        return conditioning_of(model, past_actions, state=state), []
    if state:
        raise SfpError("auto is for state-free priors: say how many --past-actions.")
    with progress("trying past actions", len(CANDIDATES) + 1) as advance:
        tried = try_candidates(data, place=place, model=model, report=advance, **how)
    chosen, why = choose(tried)
    told = [", ".join(_word(*item) for item in c.row().items()) for c in tried]
    return Conditioning(chosen.past_actions), [
        *told,
        f"Chosen: {chosen.past_actions} past actions: {why}.",
    ]


def _word(name: str, value: int | float) -> str:
    number = f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"{name.replace('_', ' ')} {number}"


def try_candidates(
    data: Trajectories,
    *,
    model: Any,
    fitting: Fitting,
    seed: int = 0,
    place: Place | None = None,
    report: Callable[..., None] = lambda to, label: None,
) -> list[Candidate]:
    """Fit every candidate for a while, and let it explore an environment if given."""
    counts = [k for k in CANDIDATES if k < data.lengths.max()]
    short = replace(fitting, epochs=max(1, fitting.epochs // SHARE))
    made, priors = [], {}
    for i, k in enumerate(counts):
        report(i, label=f"fitting with {k} past actions")
        sees = Conditioning(k)
        fitter = Fitter(data, conditioning=sees, model=model, fitting=short, seed=seed)
        state = fitter.begin()
        for _, latest in fitter.epochs(state):
            state = latest
        priors[str(k)] = prior = fitter.prior(state)
        actions = rollout(prior, jax.random.key(seed), count=200, steps=500)
        together = persistence(np.asarray(actions, np.float64))
        made.append(Candidate(k, fitter.score(state.best), together))
    if place is None:
        return made
    report(len(counts), label=f"exploring {place.name}")
    count = EPISODES[place.layout is not None]
    walks = explore(
        place, [], priors=priors, trajectories=count, repetitions=1, seed=seed
    )
    met = [float(np.mean(_shares(walk))) for walk in walks]
    return [
        replace(
            one,
            goals_met=share,
            error=(share * (1 - share) / count) ** 0.5,
            coverage=float(walk.coverage.mean()),
        )
        for one, share, walk in zip(made, met, walks, strict=True)
    ]


def _shares(walk: Exploration) -> np.ndarray:
    """Of episodes that succeed or, where no one tells success, that are rewarded."""
    shares = walk.rewarded if walk.success is None else walk.success
    return np.zeros(1) if shares is None else shares


def choose(candidates: Sequence[Candidate]) -> tuple[Candidate, str]:
    """The best candidate and why, in words.

    Where goals were met: of all that meet them as often as the best, within a standard
    error, the likeliest. Where none was met, coverage decides, and without an
    environment the likelihood alone. Likelihoods within 0.02 nats count as equal: then
    the fewest past actions are enough.
    """
    met = [c.goals_met for c in candidates if c.goals_met is not None]
    if met and max(met) > 0:
        top = max(candidates, key=lambda c: c.goals_met or 0.0)
        least = (top.goals_met or 0.0) - top.error
        left = [c for c in candidates if (c.goals_met or 0.0) >= least]
        why = f"meets the goal in {{goals_met:.1%}} of the episodes, {_best(left)}"
    elif met:
        most = max(c.coverage or 0.0 for c in candidates)
        left = [c for c in candidates if (c.coverage or 0.0) >= 0.98 * most]
        why = f"no one met the goal, and it covers {{coverage:.2f}}, {_best(left)}"
    else:
        left = list(candidates)
        why = "has {held_out:.3f} nats held out, the most or nearly so"
    highest = max(c.held_out for c in left)
    chosen = next(c for c in left if c.held_out >= highest - ALIKE)
    return chosen, why.format(**asdict(chosen))


def _best(left: Sequence[Candidate]) -> str:
    alone = "more than any other"
    alike = "as good as any, and is the likeliest of these ({held_out:.3f} nats)"
    return alone if len(left) == 1 else alike
