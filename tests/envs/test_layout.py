import numpy as np
import pytest

from sfp.envs import TASKS, Layout
from sfp.envs.maze import LAYOUTS, get_layout
from sfp.errors import SfpError

SMALL = """
    #####
    #S.G#
    #.#.#
    #...#
    #####
"""


def test_sizes_of_the_paper():
    assert get_layout("room").free.shape == (29, 29)
    assert get_layout("room").origin == (-14, -14)
    assert get_layout("room-large").free.shape == (81, 81)
    assert get_layout("corridor").free.shape == (61, 3)
    assert len(get_layout("corridor").cells) == 61 + 1 + 61


def test_shortest_ways():
    assert get_layout("maze").shortest_way == 66
    assert get_layout("corridor").shortest_way == 122
    assert get_layout("room").shortest_way == 28


def test_maze_has_its_crossings_and_dead_ends():
    maze = get_layout("maze")
    free = {tuple(cell) for cell in maze.cells}
    degree = {
        (x, y): sum(
            (x + a, y + b) in free for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))
        )
        for x, y in free
    }
    crossings = {cell for cell, count in degree.items() if count > 2}
    ends = {cell for cell, count in degree.items() if count == 1}
    assert crossings == {(6, 0), (12, 0), (-6, -6)} - {(-6, -6)}
    assert ends == {(0, 0), (-6, 12), (12, -6), (6, -6)}


def test_every_layout_has_a_task():
    assert set(LAYOUTS) == {t.name for t in TASKS.values() if t.suite == "point-maze"}


@pytest.mark.parametrize("name", LAYOUTS)
def test_ascii_round_trip(name):
    layout = get_layout(name)
    again = Layout.from_ascii(layout.to_ascii())
    np.testing.assert_array_equal(again.free, layout.free)
    shift = np.array(layout.origin) - np.array(again.origin)
    np.testing.assert_array_equal(
        np.sort(again.goals + shift, 0), np.sort(layout.goals, 0)
    )
    np.testing.assert_array_equal(again.starts + shift, layout.starts)


def test_ascii_map_may_be_indented_and_has_y_upwards():
    layout = Layout.from_ascii(SMALL)
    assert layout.free.shape == (3, 3)
    start, goal = layout.starts[0], layout.goals[0]
    assert tuple(goal - start) == (2, 0)
    below = np.array([0, -1])
    assert layout.is_free(start + below)
    assert not layout.is_free(start - below)
    assert layout.shortest_way == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#####\n#..G#\n#####", "has no start: mark at least one cell with 'S'"),
        ("#####\n#S..#\n#####", "has no goal: mark at least one cell with 'G'"),
        ("#####\n#S#G#\n#####", "cannot be reached"),
        ("S#\n#G", "cannot be reached"),
        ("##\n##", "is empty: expected a map"),
        ("#####\n#SxG#\n#####", "line 2, column 3: expected one of"),
    ],
)
def test_bad_maps_are_named(text, message):
    with pytest.raises(SfpError, match=message):
        Layout.from_ascii(text)


def test_unknown_layout_names_the_nearest():
    with pytest.raises(SfpError, match="did you mean corridor"):
        get_layout("coridor")


def test_map_file(tmp_path):
    path = tmp_path / "office.txt"
    path.write_text(SMALL)
    assert get_layout(str(path)).name == "office"
    path.write_bytes(b"\xff\xfe\x00S")
    with pytest.raises(SfpError, match="cannot read the map"):
        get_layout(str(path))


def test_a_map_full_of_goals_needs_one_search(monkeypatch):
    searches, search = [], Layout.distances

    def counted(self, *goals):
        searches.append(len(goals))
        return search(self, *goals)

    monkeypatch.setattr(Layout, "distances", counted)
    rows = ["#" + "G" * 58 + "#"] * 58
    rows[30] = "#S" + "G" * 57 + "#"
    rows[7] = rows[7][:20] + "#" + rows[7][21:]
    layout = Layout.from_ascii("\n".join(rows))
    assert searches == [1]
    assert layout.shortest_way == 1
    assert searches == [1, len(layout.goals)]


def test_distances_to_many_are_those_to_the_nearest():
    layout = get_layout("maze")
    cells = layout.cells[::17]
    each = np.stack([layout.distances(cell) for cell in cells])
    np.testing.assert_array_equal(layout.distances(*cells), each.min(axis=0))


def test_a_small_file_does_not_make_a_huge_map():
    text = "S" + "." * 30_000 + "G" + "\n#" * 30_000 + "\n."
    with pytest.raises(SfpError, match="30002 by 30002 cells: expected at most 1,000"):
        Layout.from_ascii(text)
