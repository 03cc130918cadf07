"""Recordings to look at: one HTML file, without scripts and without other files."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np
from PIL import Image

from sfp.data.trajectories import Trajectories
from sfp.exploration.description import describe, noisy_episodes
from sfp.exploration.metrics import cut, spectrum
from sfp.report.html.chart import Axes, frame, look, points, span
from sfp.report.html.markup import document, notes, table, text

DRAWN = 400
"""Points of a line: a chart has no more pixels."""

FRAMES = 6
"""Images of an episode, evenly spaced in time."""

TALLEST = 96
"""Pixels of an image."""

STYLE = """
.episodes { display: grid; gap: 18px; grid-template-columns:
  repeat(auto-fill, minmax(340px, 1fr)); margin: 18px 0; }
.episode { border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.episode h3 { margin: 0 0 4px; font-size: 1rem; }
.episode.noise { border: 2px solid var(--bad); }
.episode.noise h3::after { content: " \\00b7 noise"; color: var(--bad); }
.frames { display: flex; gap: 4px; flex-wrap: wrap; }
.frames img { max-height: 96px; image-rendering: pixelated; }
#only:checked ~ .episodes .episode:not(.noise) { display: none; }
.key span { margin-right: 14px; white-space: nowrap; }
.key i { display: inline-block; width: 18px; border-top: 3px solid var(--c);
  margin-right: 5px; vertical-align: middle; }
.mean { stroke-width: 1.2; }
"""


def recordings_page(data: Trajectories, *, episodes: int = 60) -> str:
    """What recordings hold: actions over time, spectra, episodes of noise, images.

    Args:
        data: with images, if they shall be shown.
        episodes: shown at most; those of noise come before the others.
    """
    found = describe(data)
    moving = [i for i, row in enumerate(found.rows) if row["kind"] == "continuous"]
    noisy = noisy_episodes(data, moving) if moving else np.zeros(0, int)
    chosen = _chosen(len(data), noisy, episodes)
    marked = set(noisy.tolist())
    names = [
        str(row.get("name", f"dimension {row['dimension']}")) for row in found.rows
    ]
    cards = "".join(_card(data, e, names, noise=e in marked) for e in chosen)
    left = len(data) - len(chosen)
    more = f" {left:,} more are not shown (--episodes)." if left else ""
    summary = [{"": name, " ": value} for name, value in found.summary.items()]
    body = f"""<header>
<p class="kicker">sfp view</p>
<h1>{escape(data.source)}</h1>
<p class="lead">{_lead(data, len(noisy))}</p>
</header>
<main>
{notes("Warnings", found.warnings)}
<section><h2>What they hold</h2>{table(summary)}{table(found.rows)}</section>
<section><h2>Spectra</h2>
<p>Share of the variance at each frequency. White noise is flat; what moves slowly
stands on the left.</p>{_key(names)}{_spectra(data, names)}</section>
<section><h2>Episodes</h2>
<p>{len(chosen):,} of {len(data):,} episodes, those of noise first.{more}</p>
{_key(names)}
<input type="checkbox" id="only"><label for="only"> only episodes of noise</label>
<div class="episodes">{cards}</div></section>
</main>"""
    return document(data.source, "recordings", body, STYLE)


def _chosen(count: int, noisy: np.ndarray, most: int) -> list[int]:
    first = noisy[: max(1, most // 2)].tolist()
    rest = [e for e in range(count) if e not in set(first)][: most - len(first)]
    return [*first, *rest]


def _lead(data: Trajectories, noisy: int) -> str:
    rate = f" at {data.rate:g} per second" if data.rate else ""
    said = f"{len(data):,} episodes, {len(data.actions):,} actions of {data.dims} "
    said += f"dimensions{rate}. "
    said += (
        f"{noisy:,} episodes hold noise: actions that do not depend on those before."
        if noisy
        else "No episode looks like noise."
    )
    return escape(said)


def _key(names: Sequence[str]) -> str:
    items = "".join(
        f'<span class="{look(i)}"><i></i>{text(name)}</span>'
        for i, name in enumerate(names)
    )
    return f'<p class="key">{items}</p>'


def _spectra(data: Trajectories, names: Sequence[str]) -> str:
    pieces = cut(data.unit_actions, data.ends)
    lines = []
    for i in range(data.dims):
        frequency, density = spectrum(pieces[:, :, i : i + 1])
        total = density.sum()
        share = density[1:] / total if total > 0 else density[1:]
        lines.append((frequency[1:], np.maximum(share, 1e-6)))
    heights = [np.log10(share) for _, share in lines]
    low = min(float(np.floor(h.min())) if len(h) else -6.0 for h in heights)
    axes = Axes((0.0, 0.5), (low, 0.0))
    layers = [
        _line(axes, i, x, np.log10(y)) for i, (x, y) in enumerate(lines) if len(x)
    ]
    title = f"power spectrum of {', '.join(names)}"
    svg = frame(axes, "".join(layers), title, "cycles per step (height: log10 share)")
    return f'<div class="charts"><figure>{svg}</figure></div>'


def _card(data: Trajectories, e: int, names: Sequence[str], *, noise: bool) -> str:
    rows = slice(int(data.starts[e]), int(data.ends[e]))
    actions = data.actions[rows]
    step = max(1, -(-len(actions) // DRAWN))
    time = np.arange(0, len(actions), step)
    low, high = span([data.low, data.high, actions], room=0.02)
    axes = Axes((0.0, float(max(1, len(actions) - 1))), (low, high))
    lines = [
        _line(axes, i, time, actions[::step, i].astype(float)) for i in range(data.dims)
    ]
    title = f"actions of episode {e}: {', '.join(names)}"
    kind = "episode noise" if noise else "episode"
    return (
        f'<div class="{kind}" id="episode-{e}"><h3>Episode {e}, {len(actions):,} steps'
        f"</h3>{frame(axes, ''.join(lines), title, 'time step')}"
        f"{_frames(data, rows)}</div>"
    )


def _line(axes: Axes, i: int, x: np.ndarray, y: np.ndarray) -> str:
    path = points(axes.across(x), axes.down(y))
    return f'<g class="m {look(i)}"><polyline class="mean" points="{path}"/></g>'


def _frames(data: Trajectories, rows: slice) -> str:
    if data.images is None:
        return ""
    count = rows.stop - rows.start
    times = np.unique(np.linspace(0, count - 1, min(FRAMES, count)).astype(int))
    shown = "".join(
        f'<img alt="time step {t}" title="time step {t}" '
        f'src="data:image/png;base64,{_png(data.images[rows.start + t])}">'
        for t in times.tolist()
    )
    return f'<div class="frames">{shown}</div>'


def _png(image: np.ndarray) -> str:
    """A picture as text, at most as tall as it is shown."""
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[0] in (1, 3) and pixels.shape[2] not in (1, 3):
        pixels = np.moveaxis(pixels, 0, -1)  # channels came first
    if pixels.ndim == 3 and pixels.shape[-1] not in (1, 3):
        pixels = pixels[..., :3] if pixels.shape[-1] > 3 else pixels[..., :1]
    pixels = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels
    picture = Image.fromarray(np.ascontiguousarray(pixels, np.uint8))
    picture.thumbnail((4 * TALLEST, TALLEST))
    held = io.BytesIO()
    picture.save(held, "PNG")
    return base64.b64encode(held.getvalue()).decode()
