"""A maze as a set of unit cells: where one may be, start and should arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from sfp.errors import SfpError
from sfp.files import regular
from sfp.types import Cells, Grid

Cell = tuple[int, int]
CellLike = Sequence[int] | np.ndarray
NEIGHBOURS: tuple[Cell, ...] = ((1, 0), (-1, 0), (0, 1), (0, -1))
WALL, FREE, START, GOAL = "# ", ".", "S", "G"
LARGEST = 1_000_000
"""Cells of the box around a map."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Free unit cells centred on integer coordinates, with start and goal cells.

    Attributes:
        name: for tables and titles.
        free: which cells of the bounding box may be entered, indexed [x, y].
        origin: the coordinates of `free[0, 0]`.
        starts: cells in which an episode may begin.
        goals: cells whose centre may be the goal.
    """

    name: str
    free: Grid
    origin: Cell
    starts: Cells
    goals: Cells
    low: np.ndarray = field(init=False, repr=False)
    high: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        for name in ("starts", "goals"):
            if len(getattr(self, name)) == 0:
                mark = START if name == "starts" else GOAL
                raise SfpError(
                    f"maze {self.name!r} has no {name[:-1]}: mark at least one cell "
                    f"with {mark!r}."
                )
        low = np.array(self.origin, float) - 0.5
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", low + self.free.shape)
        if self.is_open:
            return
        # Ways lead in both directions: one search finds all that are connected.
        distance = self.distances(self.starts[0])
        apart = any(distance[self.index(start)] < 0 for start in self.starts)
        for goal in self.goals:
            if apart or not self.is_free(goal) or distance[self.index(goal)] < 0:
                raise SfpError(
                    f"maze {self.name!r}: the goal at {tuple(goal.tolist())} cannot be "
                    "reached from every start: open a way of edge-adjacent free cells."
                )

    @classmethod
    def from_cells(
        cls, name: str, cells: Iterable[Cell], starts: Sequence[Cell], goals: Sequence
    ) -> Layout:
        """A layout from the coordinates of its free cells."""
        free = np.array(sorted(set(cells)), dtype=int).reshape(-1, 2)
        if len(free) == 0:
            raise SfpError(
                f"maze {name!r} is empty: expected a map of '#' (wall), '.' "
                f"(free), {START!r} (start) and {GOAL!r} (goal)."
            )
        origin = free.min(axis=0)
        width, height = (int(size) for size in free.max(axis=0) - origin + 1)
        if width * height > LARGEST:
            raise SfpError(
                f"maze {name!r} is {width} by {height} cells: expected at most "
                f"{LARGEST:,}."
            )
        grid = np.zeros((width, height), dtype=bool)
        grid[tuple((free - origin).T)] = True
        return cls(
            name,
            grid,
            (int(origin[0]), int(origin[1])),
            np.array(starts, dtype=int).reshape(-1, 2),
            np.array(goals, dtype=int).reshape(-1, 2),
        )

    @classmethod
    def from_ascii(cls, text: str, name: str = "map") -> Layout:
        """Read a map: `#` or space wall, `.` free, `S` start, `G` goal.

        The lower left character is cell (0, 0); what lies outside the map is wall. As
        spaces are walls, the map may be indented.
        """
        lines = [line for line in text.splitlines() if line.strip()]
        cells, starts, goals = [], [], []
        for y, line in enumerate(reversed(lines)):
            for x, mark in enumerate(line):
                if mark not in WALL + FREE + START + GOAL:
                    raise SfpError(
                        f"maze {name!r}, line {len(lines) - y}, column {x + 1}: "
                        f"expected one of '#', '.', 'S', 'G', found {mark!r}."
                    )
                if mark not in WALL:
                    cells.append((x, y))
                if mark == START:
                    starts.append((x, y))
                if mark == GOAL:
                    goals.append((x, y))
        return cls.from_cells(name, cells, starts, goals)

    @classmethod
    def from_file(cls, path: Path) -> Layout:
        """Read an ASCII map from a text file, named after the file."""
        try:
            text = regular(path).read_text(encoding="utf-8")
            return cls.from_ascii(text, name=path.stem)
        except (OSError, UnicodeDecodeError) as error:
            raise SfpError(
                f"cannot read the map {path}: {error}. Expected a text file."
            ) from error

    def index(self, cell: CellLike) -> Cell:
        """Where a cell stands in `free`."""
        return int(cell[0]) - self.origin[0], int(cell[1]) - self.origin[1]

    def is_free(self, cell: CellLike) -> bool:
        """Whether a cell, anywhere in the plane, may be entered."""
        i, j = self.index(cell)
        width, height = self.free.shape
        return 0 <= i < width and 0 <= j < height and bool(self.free[i, j])

    @cached_property
    def padded(self) -> Grid:
        """`free` with a ring of wall, so that every free cell has four neighbours."""
        return np.pad(self.free, 1)

    @cached_property
    def cells(self) -> Cells:
        """All free cells."""
        return np.argwhere(self.free) + np.array(self.origin)

    @property
    def is_open(self) -> bool:
        """Whether the straight line between any two free points is free."""
        return bool(self.free.all())

    def distances(self, *goals: CellLike) -> np.ndarray:
        """Steps from every cell to the nearest goal by adjacent cells; -1: no way."""
        distance = np.full(self.free.shape, -1)
        free = {(i, j) for i, j in np.argwhere(self.free).tolist()}
        cells = ((int(x), int(y)) for x, y in goals)
        found = {self.index(cell): 0 for cell in cells if self.is_free(cell)}
        if not found:
            return distance
        queue = deque(found)
        while queue:
            cell = queue.popleft()
            for dx, dy in NEIGHBOURS:
                near = cell[0] + dx, cell[1] + dy
                if near in free and near not in found:
                    found[near] = found[cell] + 1
                    queue.append(near)
        distance[tuple(np.array(list(found)).T)] = list(found.values())
        return distance

    @property
    def shortest_way(self) -> int:
        """Steps of the shortest way from a start to a goal."""
        distance = self.distances(*self.goals)
        return min(int(distance[self.index(start)]) for start in self.starts)

    def to_ascii(self) -> str:
        """The map that `from_ascii` reads, up to a shift of the coordinates."""
        marks = np.where(self.free, FREE, WALL[0])
        for cells, mark in ((self.starts, START), (self.goals, GOAL)):
            marks[tuple((cells - np.array(self.origin)).T)] = mark
        return "\n".join("".join(row) for row in marks.T[::-1])


def room(name: str, size: int) -> Layout:
    """An empty square around the origin: start at the centre, goals in the corners."""
    half = size // 2
    span = range(-half, half + 1)
    corners = [(x, y) for x in (-half, half) for y in (-half, half)]
    return Layout.from_cells(
        name, [(x, y) for x in span for y in span], [(0, 0)], corners
    )


def paths(
    name: str, moves: Sequence[str], stride: int, *, start: Cell, goal: Cell
) -> Layout:
    """Corridors drawn from the origin: `r`, `l`, `u`, `d` go one stride each."""
    turns = dict(zip("rlud", NEIGHBOURS, strict=True))
    cells = [(0, 0)]
    for path in moves:
        x, y = 0, 0
        for dx, dy in (turns[move] for move in path):
            for _ in range(stride):
                x, y = x + dx, y + dy
                cells.append((x, y))
    return Layout.from_cells(name, cells, [start], [goal])


def corridor(name: str) -> Layout:
    """The U: 60 cells to the right, 2 up, 60 back."""
    way = [(x, 0) for x in range(61)] + [(60, 1)] + [(x, 2) for x in range(61)]
    return Layout.from_cells(name, way, [(0, 0)], [(0, 2)])


def maze(name: str) -> Layout:
    """Three corridors with crossings and dead ends; the shortest way is 66."""
    moves = ("rruulll", "rrd", "rullddrr")
    return paths(name, moves, 6, start=(-6, -6), goal=(-6, 12))
