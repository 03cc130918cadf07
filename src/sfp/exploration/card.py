"""A prior's model card: what it is, how well it fits, what it looks like."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfp.data.trajectories import Trajectories
from sfp.exploration.figures import COLOURS, save, spectrum_figure
from sfp.exploration.metrics import cut
from sfp.priors.base import Prior
from sfp.priors.conditioning import states
from sfp.priors.prepare import split
from sfp.priors.protocols import traits_of
from sfp.priors.rollout import rollout
from sfp.priors.skills import Skills
from sfp.priors.store import Card

SHOWN = 20
STEPS = 500


def write_card(folder: Path, prior: Prior, card: Card, data: Trajectories) -> None:
    if isinstance(prior.model, Skills):
        _write_skills(folder, prior, card, data)
        return
    pictures = {}
    if not prior.conditioning.state:
        made = np.asarray(
            rollout(prior, jax.random.key(0), count=200, steps=STEPS), np.float64
        )
        rng = np.random.default_rng(0)
        noise = rng.uniform(data.low, data.high, size=made.shape)
        spectra = {
            "data": cut(data.actions, data.ends)[:500],
            "prior": made,
            "uniform": noise,
        }
        pictures["exploration.png"] = (
            walk_figure({"prior": made, "uniform": noise}),
            "Walks when each action is a displacement (first two dimensions)",
        )
        pictures["psd.png"] = (spectrum_figure(spectra), "Power spectra of actions")
    contexts = _typical_contexts(prior, data)
    pictures["density.png"] = (
        density_figure(prior, contexts),
        "What the prior proposes after typical contexts",
    )
    for name, (figure, _) in pictures.items():
        save(figure, folder / name)
    lines = [
        f"![{caption}]({name})\n\n{caption}." for name, (_, caption) in pictures.items()
    ]
    text = "\n\n".join([_facts(card, prior), *lines]) + "\n"
    (folder / "README.md").write_text(text, encoding="utf-8")


def skill_figure(prior: Prior, *, shown: int = 12) -> Figure:
    """Skills that the prior draws in the data's mean state, and z along each axis.

    The state does not change while a skill of the closed loop is drawn.
    """
    skills = prior.model
    assert isinstance(skills, Skills)
    state = jnp.zeros(len(prior.frame.state_mean))  # standardised
    mean, log_std = skills.moments(state)
    noise = jax.random.normal(jax.random.key(0), (shown, skills.latent))
    drawn = mean[None] + jnp.exp(log_std)[None] * noise
    axes = jnp.linspace(-2.0, 2.0, shown)[:, None] * jnp.eye(skills.latent)[0][None]
    states = jnp.broadcast_to(state, (skills.horizon, len(state)))
    decode = jax.jit(jax.vmap(lambda z: jnp.clip(skills.decode(z, states), -1, 1)))
    low, high = np.asarray(prior.frame.low), np.asarray(prior.frame.high)
    size = (high - low) / 2
    made = {
        name: np.asarray(decode(z)) * size + (high + low) / 2
        for name, z in {
            "drawn by the prior": drawn,
            "first dimension of z": axes,
        }.items()
    }
    return walk_figure(made, shown=shown)


def _write_skills(folder: Path, prior: Prior, card: Card, data: Trajectories) -> None:
    """The card of a skill model: its errors on some windows, and decoded skills."""
    skills = prior.model
    assert isinstance(skills, Skills)
    save(skill_figure(prior), folder / "skills.png")
    error, spread = reconstruction(prior, data, int(card.fit["seed"]))
    text = "\n\n".join(
        [
            _facts(card, prior).replace("# Action prior", "# Skills"),
            f"A skill is {skills.horizon} actions, its latent has {skills.latent} "
            f"numbers, the loop is {'closed' if skills.closed else 'open'}. The "
            f"decoder errs by {error:.4f} in the mean square of scaled actions of "
            f"episodes that were held out; they vary by {spread:.4f}.",
            "![Decoded skills](skills.png)\n\nDecoded skills, each action drawn as a "
            "displacement (first two dimensions).",
        ]
    )
    (folder / "README.md").write_text(text + "\n", encoding="utf-8")


def reconstruction(prior: Prior, data: Trajectories, seed: int) -> tuple[float, float]:
    """The mean squared error of decoded windows, and the variance of their actions.

    The windows are of episodes that the fit of this seed held out.
    """
    skills = prior.model
    assert isinstance(skills, Skills)
    spans = [
        np.arange(start, end - skills.horizon + 1)
        for start, end in zip(data.starts, data.ends, strict=True)
    ]
    episodes = np.repeat(np.arange(len(data)), [len(span) for span in spans])
    starts = np.concatenate(spans)[split(episodes, seed)]
    rng = np.random.default_rng(3)
    rows = rng.choice(starts, min(2000, len(starts)), replace=False)
    steps = rows[:, None] + np.arange(skills.horizon)[None]
    actions = np.asarray(data.unit_actions)[steps]
    seen = np.zeros((*steps.shape, 0), np.float32)
    if prior.conditioning.state:
        mean, deviation = prior.frame.state_mean, prior.frame.state_deviation
        seen = (states(data)[steps] - np.asarray(mean)) / np.asarray(deviation)

    @jax.jit
    @jax.vmap
    def error(actions, seen):
        latent, _ = skills.encode(actions, seen)
        return ((skills.decode(latent, seen) - actions) ** 2).mean()

    found = error(jnp.asarray(actions), jnp.asarray(seen, jnp.float32))
    return float(found.mean()), float(actions.var(axis=(0, 1)).mean())


def walk_figure(sequences: dict[str, np.ndarray], *, shown: int = SHOWN) -> Figure:
    """Cumulated actions, as if each were a displacement in the plane."""
    figure = Figure(figsize=(4.2 * len(sequences), 4.2), layout="constrained")
    axes = figure.subplots(1, len(sequences), squeeze=False, sharex=True, sharey=True)
    for axis, (name, actions) in zip(axes.ravel(), sequences.items(), strict=True):
        paths = np.cumsum(actions[:shown, :, :2], axis=1)
        for path in paths:
            y = path[:, 1] if path.shape[1] > 1 else np.zeros(len(path))
            axis.plot(path[:, 0], y, lw=0.7)
        axis.set(title=name, aspect="equal")
    return figure


def density_figure(prior: Prior, contexts: np.ndarray) -> Figure:
    """The conditional density after each context: a map (2-D) or marginals."""
    figure = Figure(figsize=(3.4 * len(contexts), 3.4), layout="constrained")
    axes = figure.subplots(1, len(contexts), squeeze=False).ravel()
    for axis, context in zip(axes, contexts, strict=True):
        if prior.dims == 2:
            _draw_map(axis, prior, context)
        else:
            _draw_marginals(axis, prior, context)
    return figure


def _draw_map(axis: Axes, prior: Prior, context: np.ndarray) -> None:
    low, high = np.asarray(prior.frame.low), np.asarray(prior.frame.high)
    x, y = (np.linspace(low[i], high[i], 101) for i in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    density = jax.jit(jax.vmap(prior.log_prob, in_axes=(0, None)))(grid, context)
    shown = np.asarray(density, np.float64).reshape(101, 101)
    top = np.nanmax(shown) if np.isfinite(shown).any() else 0.0
    axis.imshow(
        np.maximum(shown, top - 8.0) if np.isfinite(top) else shown,
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        cmap="viridis",
        aspect="auto",
    )
    samples = _samples(prior, context, 200)
    axis.plot(*samples.T, ".", color="white", markersize=1.5, alpha=0.6)
    k = prior.conditioning.past_actions
    if k:
        past = context[: 2 * k].reshape(k, 2)
        axis.plot(*past.T, "o-", color=COLOURS[1], markersize=5, lw=1)
    axis.set_title("last action: orange" if k else "no past action", fontsize=9)


def _draw_marginals(axis: Axes, prior: Prior, context: np.ndarray) -> None:
    samples = _samples(prior, context, 2000)
    axis.violinplot(list(samples.T), showextrema=False, widths=0.9)
    k = prior.conditioning.past_actions
    if k:
        last = context[(k - 1) * prior.dims : k * prior.dims]
        axis.plot(range(1, prior.dims + 1), last, "o", color=COLOURS[1], markersize=4)
    axis.set(xlabel="action dimension", ylabel="value")
    axis.set_title("last action: orange" if k else "no past action", fontsize=9)


def _samples(prior: Prior, context: np.ndarray, count: int) -> np.ndarray:
    keys = jax.random.split(jax.random.key(1), count)
    draw = jax.jit(jax.vmap(prior.sample, in_axes=(0, None)))
    return np.asarray(draw(keys, context))


def _typical_contexts(prior: Prior, data: Trajectories) -> np.ndarray:
    """Up to four contexts from the data; one if there is nothing to choose."""
    if prior.conditioning.state:
        rows = np.random.default_rng(2).integers(len(data), size=4)
        return prior.conditioning.pairs(data.select(rows)).contexts[:4]
    count = 4 if prior.conditioning.past_actions else 1
    return np.asarray(prior.seeds[:count]).reshape(count, -1)


def _facts(card: Card, prior: Prior) -> str:
    density = traits_of(prior.model).is_density
    score = "held-out log-likelihood (nats)" if density else "minus the held-out loss"
    held = "-" if card.score is None else f"{card.score:.4f}"
    rows = {
        "model": card.model,
        "sees": str(card.conditioning),
        "action dimensions": card.dims,
        "action bounds": ", ".join(
            f"[{a:g}, {b:g}]" for a, b in zip(card.low, card.high, strict=True)
        ),
        score: held,
        "learned from": f"{card.data.get('source')}, {card.data.get('episodes')} "
        f"episodes, {card.data.get('steps')} steps",
        "fit": f"preset {card.fit.get('preset')}, {card.fit.get('gradient_steps')} "
        f"gradient steps, seed {card.fit.get('seed')}",
        "control rate (Hz)": card.rate or "not recorded",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return (
        f"# Action prior\n\n| | |\n|---|---|\n{table}\n\n"
        "Use it where actions have the same dimensions, meaning, bounds and rate:\n\n"
        '```python\nimport sfp\n\nprior = sfp.load_prior("this/folder")\n```'
    )
