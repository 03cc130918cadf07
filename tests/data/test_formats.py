"""A dataset format from outside the package: read, or refused in one line."""

import numpy as np
import pytest

import sfp
from sfp.data.trajectories import Trajectories
from sfp.errors import MissingColumn

ACTIONS = np.linspace(-0.9, 0.9, 12).reshape(6, 2)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "log.mine").write_text("anything")
    return tmp_path / "log.mine"


def add(read, name="mine", matches=lambda path: path.suffix == ".mine"):
    sfp.register_format(name, matches=matches, read=read)


def test_episodes_of_a_format_of_ones_own(path):
    asked = []

    def read(path, columns):
        asked.append((path.read_text(), columns))
        for length in (6, 1, 4):
            yield {"actions": ACTIONS[:length], "unasked": "for"}

    add(read)
    data = sfp.load(path, drop_short=True)
    assert asked == [("anything", ("actions",))]
    assert data.lengths.tolist() == [6, 4]
    assert data.actions.dtype == np.float32
    np.testing.assert_allclose(data.actions[6:], ACTIONS[:4], rtol=1e-6)
    with pytest.raises(sfp.SfpError, match="episode 1 has 1 action"):
        sfp.load(path)


def test_trajectories_are_taken_as_they_are(path):
    bounds = np.full(2, 3, np.float32)
    ends = np.array([6])
    made = Trajectories(ACTIONS.astype(np.float32), ends, -bounds, bounds, rate=20.0)
    add(lambda path, columns: made)
    data = sfp.load(path)
    assert data.rate == 20.0
    assert data.high.tolist() == [3, 3]
    with pytest.raises(MissingColumn, match="no 'observations': it has actions"):
        sfp.load(path, columns=("observations",))


def test_an_optional_column_may_be_missing(path):
    add(lambda path, columns: [{"actions": ACTIONS}])
    assert sfp.load(path, optional="goals").columns == ("actions",)


def test_formats_from_outside_come_first_and_the_latest_before_others(tmp_path):
    np.save(tmp_path / "walk.npy", ACTIONS.astype(np.float32))
    npy = dict(matches=lambda path: path.suffix == ".npy")
    add(lambda path, columns: [{"actions": 0.1 * ACTIONS}], "one", **npy)
    add(lambda path, columns: [{"actions": 0.2 * ACTIONS}], "two", **npy)
    found = sfp.load(tmp_path / "walk.npy").actions
    np.testing.assert_allclose(found, 0.2 * ACTIONS, rtol=1e-6)


def test_names_are_given_once(path):
    add(lambda path, columns: [])
    for taken in ("mine", "hdf5"):
        with pytest.raises(sfp.SfpError, match=f"the format '{taken}' is there"):
            add(lambda path, columns: [], taken)
    with pytest.raises(sfp.SfpError, match="read of the format 'x' is a int"):
        add(3, "x")
    with pytest.raises(sfp.SfpError, match=r"expected .* such files, mine"):
        sfp.load(path.parent)


def in_double_precision():
    bounds = np.ones(2, np.float32)
    made = Trajectories(ACTIONS.astype(np.float32), np.array([6]), -bounds, bounds)
    object.__setattr__(made, "actions", ACTIONS)  # the type checks of tests are past
    return made


def raises(path, columns):
    raise KeyError("steps")


def raises_later(path, columns):
    yield {"actions": ACTIONS}
    raise ValueError("episode 2\nis broken")


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (raises, "raised KeyError: 'steps'"),
        (raises_later, r"raised ValueError: episode 2\.$"),
        (lambda path: [], "raised TypeError"),
        (lambda path, columns: None, "returned a NoneType: expected an iterable"),
        (lambda path, columns: {"actions": ACTIONS}, "returned a dict"),
        (lambda path, columns: [ACTIONS], "returned a ndarray as episode 0"),
        (lambda path, columns: [{"states": ACTIONS}], "no 'actions': it has states"),
        (lambda path, columns: [{"actions": 3.0}], r"have shape \(\)"),
        (lambda path, columns: [{"actions": ACTIONS.astype(int)}], "expected floats"),
        (lambda path, columns: [{"actions": ACTIONS * np.nan}], "NaN or infinite"),
        (lambda path, columns: [], "is empty"),
        (
            lambda path, columns: [
                {"actions": ACTIONS},
                {"actions": ACTIONS[:, :1]},
            ],
            "expected one width",
        ),
        (
            lambda path, columns: in_double_precision(),
            r"float64\[6, 2\]: expected float32",
        ),
    ],
)
def test_a_bad_reader_is_one_line(path, read, message):
    add(read)
    with pytest.raises(sfp.SfpError, match=message) as refused:
        sfp.load(path)
    assert "\n" not in str(refused.value)


def test_columns_of_another_length_are_refused(path):
    episode = {"actions": ACTIONS, "observations": ACTIONS[:5]}
    add(lambda path, columns: [episode])
    with pytest.raises(sfp.SfpError, match=r"observations of shape \(5, 2\) for"):
        sfp.load(path, columns=("observations",))


@pytest.mark.parametrize(
    ("matches", "message"),
    [
        (lambda path: "yes", "returned 'yes': expected a bool"),
        (lambda path: path.no, "matches of the format 'mine' raised AttributeError"),
    ],
)
def test_a_bad_matches_is_one_line(path, matches, message):
    add(lambda path, columns: [], matches=matches)
    with pytest.raises(sfp.SfpError, match=message):
        sfp.load(path)
