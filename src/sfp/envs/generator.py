"""Generated mazes: corridors that branch, every one decided by a seed and a size."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfp.envs.layout import NEIGHBOURS, Cell, Layout
from sfp.errors import unknown

STRIDE = 6
"""Cells from one junction to the next, as in the paper's maze."""

CHOOSING = range(0, 1000)
REPORTING = range(1000, 2000)
"""Defaults are chosen on mazes of the former seeds, results reported on the latter."""


@dataclass(frozen=True)
class Size:
    """Junctions per side of a square; strides from start to goal; least dead ends."""

    side: int
    shortest: int
    longest: int
    dead_ends: int


SIZES = {
    "small": Size(4, 7, 11, 2),
    "medium": Size(6, 14, 20, 4),
    "large": Size(8, 24, 33, 6),
}
NEWEST = 0.5
"""Share of the passages that lead on from the newest junction, not from any other: more
of them make longer ways and fewer dead ends."""

Passage = tuple[Cell, Cell]


@lru_cache(maxsize=64)
def generate(seed: int, size: str = "medium") -> Layout:
    """A maze without loops; start and goal are the two cells that are farthest apart.

    Mazes are drawn until one has a way of the size's length and enough dead ends.

    Args:
        seed: decides everything.
        size: `small` (ways of 42 to 66 cells), `medium` (84 to 120) or `large` (144 to
            198).
    """
    if size not in SIZES:
        raise unknown("size of a maze", size, SIZES, "")
    chosen = SIZES[size]
    rng = np.random.default_rng([seed, list(SIZES).index(size)])
    while True:
        passages = _grow(chosen.side, rng)
        way = _longest_way(passages)
        ends = Counter(junction for passage in passages for junction in passage)
        dead = sum(count == 1 for count in ends.values()) - 2
        if (
            chosen.shortest <= len(way) - 1 <= chosen.longest
            and dead >= chosen.dead_ends
        ):
            break
    if rng.random() < 0.5:
        way.reverse()
    cells = {
        (a[0] * STRIDE + i * (b[0] - a[0]), a[1] * STRIDE + i * (b[1] - a[1]))
        for a, b in passages
        for i in range(STRIDE + 1)
    }
    start, goal = ((x * STRIDE, y * STRIDE) for x, y in (way[0], way[-1]))
    return Layout.from_cells(f"maze {size} {seed}", cells, [start], [goal])


def _grow(side: int, rng: np.random.Generator) -> list[Passage]:
    """Passages that join all junctions of a square without a loop (growing tree)."""
    first = int(rng.integers(side)), int(rng.integers(side))
    seen, active, passages = {first}, [first], []
    while active:
        newest = rng.random() < NEWEST
        at = len(active) - 1 if newest else int(rng.integers(len(active)))
        x, y = active[at]
        around = [(x + dx, y + dy) for dx, dy in NEIGHBOURS]
        free = [c for c in around if c not in seen and 0 <= min(c) <= max(c) < side]
        if not free:
            del active[at]
            continue
        chosen = free[int(rng.integers(len(free)))]
        passages.append(((x, y), chosen))
        seen.add(chosen)
        active.append(chosen)
    return passages


def _longest_way(passages: list[Passage]) -> list[Cell]:
    """The junctions of the longest way; without loops, two searches find it."""
    near: dict[Cell, list[Cell]] = {}
    for a, b in passages:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)

    def farthest(begin: Cell) -> list[Cell]:
        before: dict[Cell, Cell | None] = {begin: None}
        queue = [begin]
        for cell in queue:
            for other in near[cell]:
                if other not in before:
                    before[other] = cell
                    queue.append(other)
        way: list[Cell] = []
        cell: Cell | None = queue[-1]
        while cell is not None:
            way.append(cell)
            cell = before[cell]
        return way

    return farthest(farthest(passages[0][0])[0])
