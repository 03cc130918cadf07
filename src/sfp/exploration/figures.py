"""Figures: legible in print, safe for colour-blind eyes, drawn without a screen."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from sfp.data.trajectories import Trajectories
from sfp.envs.layout import Layout
from sfp.exploration.explorers import Exploration
from sfp.exploration.metrics import cut, spectrum
from sfp.exploration.place import Canvas
from sfp.files import atomic_file

# Okabe and Ito's palette: distinct under every common colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
WALL = "#D9D9D9"


def save(figure: Figure, path: Path) -> Path:
    """Write a figure whole (PNG or SVG, by its suffix); the same bits each time."""
    metadata = {"Software": None} if path.suffix == ".png" else {"Date": None}
    with mpl.rc_context({"svg.hashsalt": "sfp"}), atomic_file(path) as draft:
        figure.savefig(draft, dpi=150, metadata=metadata, bbox_inches="tight")
    return path


ABREAST = 4
"""Mazes side by side, at most."""


def trajectory_figure(
    place: Canvas,
    explorations: Sequence[Exploration],
    *,
    shown: int = 20,
    labels: tuple[str, str] = ("x", "y"),
) -> Figure:
    """The paper's qualitative figure: the first rollouts of each explorer.

    The place is a maze, or the corners of a box, which is seen from above. A path with
    a single number is drawn over time.
    """
    maze = isinstance(place, Layout)
    low, high = (place.low, place.high) if maze else place
    width, height = (high - low)[:2]
    stacked = height < width / 3
    columns = 1 if stacked else min(ABREAST, len(explorations))
    rows = -(-len(explorations) // columns)
    side = 8.4 if stacked else 4.2
    size = columns * side, rows * (max(0.4, side * height / width) + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[len(explorations) :]:
        axis.set_axis_off()
    for axis, exploration in zip(axes, explorations, strict=False):
        draw_maze(axis, place) if maze else _draw_box(axis, place, labels)
        walks = exploration.paths[:shown, :, :2]
        if walks.shape[-1] == 1:
            time = np.linspace(0.0, 1.0, walks.shape[1])[None, :, None]
            walks = np.concatenate([np.broadcast_to(time, walks.shape), walks], axis=2)
        colours = mpl.colormaps["viridis"](np.linspace(0.0, 0.9, len(walks)))
        lines = LineCollection(list(walks), colors=colours, linewidths=0.7, alpha=0.85)
        axis.add_collection(lines)
        axis.plot(*walks[:, -1].T, "o", color="black", markersize=2.5)
        row = exploration.row()
        told = f"coverage {row['coverage']:.2f}, $U_g^2$ {row['gyration']:.4f}"
        if exploration.returns is not None:
            metric = "rewarded" if exploration.success is None else "success"
            told = f"{metric} {row[metric]:.2f}, {told}"
        axis.set_title(f"{exploration.name}: {told}", fontsize=10)
    return figure


def distance_figure(
    explorations: Sequence[Exploration], threshold: float, *, shown: int = 20
) -> Figure:
    """How far each explorer has got until each step: single rollouts, and their mean.

    Above the threshold there are rewards.
    """
    columns = min(ABREAST, len(explorations))
    rows = -(-len(explorations) // columns)
    size = columns * 3.1, rows * 2.6
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axis in axes.ravel()[len(explorations) :]:
        axis.set_axis_off()
    for axis, exploration in zip(axes.ravel(), explorations, strict=False):
        far = exploration.distance
        assert far is not None
        steps = np.arange(far.shape[1])
        lines = [np.stack([steps, one], axis=1) for one in far[:shown]]
        axis.add_collection(LineCollection(lines, colors=COLOURS[0], lw=0.6, alpha=0.5))
        axis.plot(steps, far.mean(axis=0), color="black", lw=1.8)
        axis.axhline(threshold, color=COLOURS[1], ls="--", lw=1.2)
        row = exploration.row()
        told = f"{far[:, -1].mean():.1f} m, success {row['success']:.2f}"
        axis.set_title(f"{exploration.name}: {told}", fontsize=10)
    for axis in axes.ravel()[max(0, len(explorations) - columns) : len(explorations)]:
        axis.set_xlabel("step")  # the lowest of its column
        axis.tick_params(labelbottom=True)
    for axis in axes[:, 0]:
        axis.set_ylabel("farthest so far (m)")
    return figure


def spectrum_figure(sequences: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    _draw_spectra(figure.subplots(), sequences)
    return figure


def spectrum_rows(sequences: dict[str, np.ndarray]) -> list[dict[str, str | float]]:
    """What `spectrum_figure` draws, one row per point."""
    return [
        {"explorer": name, "frequency": float(frequency), "power": float(power)}
        for name, values in sequences.items()
        for frequency, power in zip(*_drawn(values), strict=True)
    ]


def data_figure(data: Trajectories, *, shown: int = 3) -> Figure:
    """What recordings look like: action values, an excerpt over time, the spectrum."""
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    values, excerpt, spectra = figure.subplots(1, 3)
    sample = data.actions[:: max(1, len(data.actions) // 200_000)]
    for i in range(data.dims):
        style = {"color": COLOURS[i % len(COLOURS)], "label": f"dim {i}"}
        taken = sample[:, i].astype(float)
        low, high = float(data.low[i]), float(data.high[i])
        span = min(low, taken.min()), max(high, taken.max())
        values.hist(taken, bins=100, range=span, histtype="step", density=True, **style)
        for e in range(min(shown, len(data))):
            actions = data.actions[data.starts[e] : data.ends[e]][:200, i]
            label = style["label"] if e == 0 else None
            excerpt.plot(
                actions,
                STYLES[e % len(STYLES)],
                color=style["color"],
                lw=0.8,
                label=label,
            )
    values.set(xlabel="action", ylabel="density", title="values")
    excerpt.set(
        xlabel="step", ylabel="action", title=f"first {min(shown, len(data))} episodes"
    )
    if data.dims <= 8:
        values.legend(fontsize=8)
        excerpt.legend(fontsize=8)
    rng = np.random.default_rng(0)
    pieces = cut(data.actions, data.ends)
    noise = rng.uniform(data.low, data.high, size=pieces.shape)
    _draw_spectra(spectra, {"data": pieces, "uniform": noise})
    return figure


def draw_maze(axis: Axes, layout: Layout) -> None:
    axis.set_facecolor(WALL)
    for x, y in layout.cells if not layout.is_open else ():
        axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color="white", lw=0.1))
    if layout.is_open:
        size = layout.high - layout.low
        axis.add_patch(Rectangle(tuple(layout.low), *size, color="white"))
    for x, y in layout.goals:
        axis.plot(x, y, "*", color=COLOURS[2], markersize=9, zorder=3)
    axis.set(
        xlim=(layout.low[0] - 0.3, layout.high[0] + 0.3),
        ylim=(layout.low[1] - 0.3, layout.high[1] + 0.3),
        aspect="equal",
        xticks=[],
        yticks=[],
    )


def _draw_box(
    axis: Axes, box: tuple[np.ndarray, np.ndarray], labels: tuple[str, str]
) -> None:
    (x, y), (right, top) = box[0][:2], box[1][:2]
    axis.set_facecolor(WALL)
    axis.add_patch(Rectangle((x, y), right - x, top - y, color="white"))
    edge = 0.02 * (right - x)
    axis.set(xlim=(x - edge, right + edge), ylim=(y - edge, top + edge), aspect="equal")
    axis.set(xlabel=labels[0], ylabel=labels[1])


def _draw_spectra(axis: Axes, sequences: dict[str, np.ndarray]) -> None:
    for i, (name, values) in enumerate(sequences.items()):
        axis.semilogy(
            *_drawn(values),
            STYLES[i % len(STYLES)],
            color=COLOURS[i % len(COLOURS)],
            lw=1.4,
            label=name,
        )
    axis.set(
        xlabel="frequency (cycles per step)", ylabel="power", title="PSD of actions"
    )
    axis.legend(fontsize=8)


def _drawn(sequences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies without the ends, and their power."""
    frequency, density = spectrum(sequences)
    tiny = np.finfo(float).tiny  # a constant has none
    return frequency[1:-1], np.maximum(density[1:-1], tiny)
