"""`sfp prior show`: look at a prior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from sfp.cli.console import show


def prior(
    what: tyro.conf.Positional[Literal["show"]],
    prior: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PRIOR")],
    *,
    past: Annotated[tuple[tuple[float, ...], ...], tyro.conf.UseAppendAction] = (),
    out: Path = Path("figures"),
    json: bool = False,
) -> None:
    """Describe a prior, and draw what it proposes after given past actions.

    For two-dimensional actions the figure is a map of the conditional density, for
    others it shows the marginals:
        sfp prior show room --past 0.9 0 --past 0.6 0.6

    Args:
        what: the word `show`.
        prior: the folder of a prior, or the name of one that ships with sfp.
        past: the numbers of all past actions, oldest first; repeat the option for more
            panels. By default four contexts from the data are shown.
        out: folder for the figure.
        json: print one JSON document.
    """
    from dataclasses import asdict

    import jax
    import numpy as np

    from sfp.errors import SfpError
    from sfp.exploration.card import density_figure, skill_figure
    from sfp.exploration.figures import save
    from sfp.exploration.metrics import persistence
    from sfp.priors.protocols import traits_of
    from sfp.priors.rollout import rollout
    from sfp.priors.skills import Skills
    from sfp.priors.store import open_prior

    loaded, card = open_prior(prior)
    k, size = card.past_actions, card.past_actions * card.dims
    if past and k == 0:
        raise SfpError(f"{prior} sees {card.conditioning}: leave out --past.")
    for numbers in past:
        if not np.isfinite(numbers).all():
            raise SfpError(f"expected finite numbers after --past, received {numbers}.")
        if len(numbers) != size:
            raise SfpError(
                f"expected {size} numbers after --past ({k} actions of {card.dims}), "
                f"received {len(numbers)}."
            )
    typical = np.asarray(loaded.seeds[: 4 if k else 1])
    chosen = [np.array(numbers) for numbers in past] or list(typical)
    state = np.asarray(loaded.frame.state_mean)
    contexts = [np.concatenate([np.ravel(c), state]) for c in chosen]
    if isinstance(loaded.model, Skills):
        figure = skill_figure(loaded)
    else:
        figure = density_figure(loaded, np.array(contexts, np.float32))
    picture = save(figure, out / f"prior-{Path(prior).name}.png")
    facts = asdict(card)
    density = traits_of(loaded.model).is_density
    held = "held-out nats" if density else "minus the held-out loss"
    together = None
    if not card.state:
        made = rollout(loaded, jax.random.key(0), count=200, steps=500)
        together = round(persistence(np.asarray(made, np.float64)), 2)
    rows = [
        {"property": name, "value": str(value)}
        for name, value in {
            "model": card.model,
            "sees": str(card.conditioning),
            **_sizes(loaded.model),
            "action bounds": list(zip(card.low, card.high, strict=True)),
            "state size": card.state_size,
            held: card.score,
            "learned from": card.data.get("source"),
            "fingerprint": str(card.data.get("fingerprint"))[:16],
            "gradient steps": card.fit.get("gradient_steps"),
            "control rate": card.rate,
            "steps that go together, of 50": together,
        }.items()
    ]
    notes = [f"Picture: {picture}"]
    if card.state:
        notes.insert(0, "The state in the picture is the mean of the data's.")
    show(
        rows,
        json=json,
        notes=notes,
        card=facts,
        persistence=together,
        figures=[str(picture)],
    )


def _sizes(model: Any) -> dict[str, str]:
    """Of skills, how long they are and what they are decoded from."""
    from sfp.priors.skills import Skills

    if not isinstance(model, Skills):
        return {}
    loop = "closed" if model.closed else "open"
    told = f"{model.horizon} actions from {model.latent} numbers, {loop} loop"
    return {"skill": told}
