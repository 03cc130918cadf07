"""Every format gives the same trajectories, and of a bad one only an `SfpError`.

Minari's files are written by Minari, LeRobot's fixtures by LeRobot; the others are
built here from the layouts that their authors published.
"""

import io
import json
import math
import re
import shutil
import zipfile
from pathlib import Path

import h5py
import minari
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer
from PIL import Image, UnidentifiedImageError

from sfp.data.sources import load
from sfp.data.sources.hdf5 import check_heaps
from sfp.data.sources.minari import Place, _decoded, local_datasets, root
from sfp.errors import SfpError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "lerobot"
LENGTHS = (5, 7, 3, 6)
POINT = spaces.Box(-9.0, 9.0, (3,), np.float32)
GOAL = spaces.Box(-9.0, 9.0, (2,), np.float32)
GOAL_SPACE = spaces.Dict(
    {"achieved_goal": GOAL, "desired_goal": GOAL, "observation": POINT}
)
ACTION_SPACE = spaces.Box(np.float32([-2, -3]), np.float32([2, 3]))


def recorded(lengths=LENGTHS, seed=0):
    """Episodes with actions in [-1, 1], observations and goals."""
    rng = np.random.default_rng(seed)
    sizes = {"actions": 2, "observations": 3, "goals": 2}
    return [
        {c: rng.uniform(-1, 1, (n, k)).astype(np.float32) for c, k in sizes.items()}
        for n in lengths
    ]


def joined(episodes, column="actions"):
    return np.concatenate([e[column] for e in episodes])


def write_minari(
    name, episodes, observe, observation_space, data_format="hdf5", **options
):
    """A Minari dataset by Minari itself; `observe` gives n + 1 observations."""
    options.setdefault("action_space", ACTION_SPACE)
    buffers = [
        EpisodeBuffer(
            observations=observe(episode),
            actions=episode["actions"],
            rewards=np.zeros(len(episode["actions"])),
            terminations=np.zeros(len(episode["actions"]), bool),
            truncations=np.zeros(len(episode["actions"]), bool),
        )
        for episode in episodes
    ]
    minari.create_dataset_from_buffers(
        f"test/{name}-v0",
        buffers,
        env="sfp/Room-v0",
        eval_env="sfp/Room-v0",
        algorithm_name="none",
        author="none",
        author_email="none",
        code_permalink="none",
        description="none",
        observation_space=observation_space,
        data_format=data_format,
        **options,
    )
    return root() / f"test/{name}-v0"


def with_final(values):
    """Minari keeps one observation more than actions."""
    return np.concatenate([values, np.full_like(values[:1], 7)])


def goal_observations(episode):
    return {
        "achieved_goal": np.zeros((len(episode["actions"]) + 1, 2), np.float32),
        "desired_goal": with_final(episode["goals"]),
        "observation": with_final(episode["observations"]),
    }


def minari_goals(data_format):
    def write(folder, episodes):
        return write_minari(
            data_format, episodes, goal_observations, GOAL_SPACE, data_format
        )

    return write


def write_lerobot(folder, episodes, *, kind="fixed", version="v2.1", dtype="float32"):
    """LeRobot's layout: v2 has a file per episode, v3 many episodes in a file."""
    path = folder / f"lerobot-{version}-{kind}"
    types = {
        "fixed": lambda width: pa.list_(pa.float32(), width),
        "list": lambda width: pa.list_(pa.float32()),
        "large": lambda width: pa.large_list(pa.float32()),
    }
    tables = []
    for number, episode in enumerate(episodes):
        steps = len(episode["actions"])
        columns = {"episode_index": pa.array(np.full(steps, number, np.int64))}
        for name, column in lerobot_names(episode).items():
            rows = [None if row is None else list(row) for row in episode[column]]
            width = len(rows[0]) if rows and rows[0] is not None else 2
            columns[name] = pa.array(rows, types[kind](width))
        columns["timestamp"] = pa.array(np.arange(steps) / 10)
        tables.append(pa.table(columns))
    (path / "meta").mkdir(parents=True)
    (path / "data" / "chunk-000").mkdir(parents=True)
    if version.startswith("v3"):
        tables = [pa.concat_tables(tables)]
    for number, table in enumerate(tables):
        name = "file-{:03}" if version.startswith("v3") else "episode_{:06}"
        pq.write_table(
            table, path / "data" / "chunk-000" / f"{name.format(number)}.parquet"
        )
    features = {
        name: {"dtype": dtype, "shape": [len(episodes[0][column][0])], "names": None}
        for name, column in lerobot_names(episodes[0]).items()
    }
    info = {
        "codebase_version": version,
        "fps": 10,
        "total_frames": sum(len(e["actions"]) for e in episodes),
        "features": features,
    }
    (path / "meta" / "info.json").write_text(json.dumps(info))
    return path


def lerobot_names(episode):
    names = {"action": "actions", "observation.state": "observations"}
    return {name: column for name, column in names.items() if column in episode}


def flags(episodes, *, finished=True):
    """D4RL's `terminals` and `timeouts`: the even episodes end, the odd run out."""
    ends = np.cumsum([len(e["actions"]) for e in episodes]) - 1
    terminals, timeouts = np.zeros((2, ends[-1] + 1), bool)
    terminals[ends[::2]] = True
    timeouts[ends[1::2]] = True
    if not finished:
        terminals[-1] = timeouts[-1] = False
    return {"terminals": terminals, "timeouts": timeouts}


def write_d4rl(folder, episodes, *, finished=False, **more):
    """D4RL's layout: flat arrays, `infos/goal`, a last episode that may be cut off."""
    path = folder / "d4rl.hdf5"
    with h5py.File(path, "w") as file:
        file["actions"] = joined(episodes)
        file["observations"] = joined(episodes, "observations")
        file["infos/goal"] = joined(episodes, "goals")
        file["rewards"] = np.zeros(len(file["actions"]))
        marks = flags(episodes, finished=finished) if episodes else {}
        for name, values in (marks | more).items():
            file[name] = values
    return path


def write_robomimic(folder, episodes):
    """robomimic's layout: a group per demonstration, in no order of numbers."""
    path = folder / "robomimic.h5"
    with h5py.File(path, "w") as file:
        for number in sorted(range(len(episodes)), key=str):
            file[f"data/demo_{number}/actions"] = episodes[number]["actions"]
            file[f"data/demo_{number}/obs/eef_pos"] = episodes[number]["observations"]
        file.create_group("mask")
    return path


def npz_with(mark):
    def write(folder, episodes, **more):
        path = folder / f"{mark}.npz"
        lengths = np.array([len(e["actions"]) for e in episodes], int)
        marks = {
            "ends": lambda: {"episode_ends": np.cumsum(lengths)},
            "lengths": lambda: {"episode_lengths": lengths},
            "flags": lambda: flags(episodes),
            "unfinished": lambda: flags(episodes, finished=False),
        }
        columns = {c: joined(episodes, c) for c in episodes[0]}
        np.savez(path, **(columns | marks[mark]() | more))
        return path

    return write


def folder_of(write_one):
    """A folder with a file per episode, in no order of names as text."""

    def write(folder, episodes, **more):
        path = folder / write_one.__name__
        path.mkdir()
        for number, episode in enumerate(episodes):
            write_one(path / f"take{number}", episode)
        (path / "notes.txt").write_text("to be left alone")
        (path / ".hidden.csv").write_text("likewise")
        return path

    return write


def csv_file(path, episode):
    """Every column, and one that is not a number."""
    heads = {"actions": "action", "observations": "observation", "goals": "goal"}
    names = ["time"]
    for column, head in heads.items():
        names += [f"{head}.{i}" for i in range(episode[column].shape[1])]
    rows = np.concatenate([episode[column] for column in heads], axis=1)
    lines = [",".join(["at noon", *(repr(float(x)) for x in row)]) for row in rows]
    path.with_suffix(".csv").write_text("\n".join([",".join(names), *lines, ""]))


def npy_file(path, episode):
    np.save(path.with_suffix(".npy"), episode["actions"])


def npz_file(path, episode):
    np.savez(path.with_suffix(".npz"), **episode)


def hdf5_file(path, episode):
    write_d4rl(path.parent, [episode]).rename(path.with_suffix(".hdf5"))


FORMATS = {
    "minari-hdf5": minari_goals("hdf5"),
    "minari-arrow": minari_goals("arrow"),
    "minari-parquet": minari_goals("parquet"),
    "lerobot-v2": write_lerobot,
    "lerobot-v3": lambda f, e: write_lerobot(f, e, version="v3.0"),
    "lerobot-list": lambda f, e: write_lerobot(f, e, kind="list"),
    "lerobot-large": lambda f, e: write_lerobot(f, e, kind="large", version="v3.0"),
    "d4rl": write_d4rl,
    "robomimic": write_robomimic,
    "npz-ends": npz_with("ends"),
    "npz-lengths": npz_with("lengths"),
    "npz-flags": npz_with("flags"),
    "npz-unfinished": npz_with("unfinished"),
}
COLUMNS = {
    "minari": ("observations", "goals"),
    "lerobot": ("observations",),
    "d4rl": ("observations", "goals"),
    "robomimic": (),
    "npz": ("observations", "goals"),
    "csv": ("observations", "goals"),
    "npy": (),
    "hdf5": ("observations", "goals"),
}


FOLDERS = {
    f"{write.__name__.split('_')[0]}-folder": folder_of(write)
    for write in (csv_file, npy_file, npz_file, hdf5_file)
}

ALL = FORMATS | FOLDERS


@pytest.fixture(params=FORMATS)
def form(request):
    return request.param


def columns_of(form):
    return COLUMNS[form.split("-")[0]]


# --- what is put in comes out -------------------------------------------------------


@pytest.mark.parametrize("form", ALL)
def test_what_is_put_in_comes_out(form, tmp_path):
    episodes = recorded()
    path = ALL[form](tmp_path, episodes)
    data = load(path)
    assert data.columns == ("actions",)
    np.testing.assert_array_equal(data.actions, joined(episodes))
    assert data.actions.dtype == np.float32
    assert data.lengths.tolist() == list(LENGTHS)
    whole = load(path, columns=columns_of(form))
    assert whole.columns == ("actions", *columns_of(form))
    for column in whole.columns:
        np.testing.assert_array_equal(getattr(whole, column), joined(episodes, column))
    assert whole.fingerprint == data.fingerprint
    assert str(path) == data.source or form.startswith("minari")


@pytest.mark.parametrize("form", ALL)
def test_bounds_and_rate_as_declared(form, tmp_path):
    data = load(ALL[form](tmp_path, recorded()))
    if form.startswith("minari"):
        assert data.bounds_known
        assert (data.low.tolist(), data.high.tolist()) == ([-2, -3], [2, 3])
    else:
        assert not data.bounds_known
        assert (data.low.tolist(), data.high.tolist()) == ([-1, -1], [1, 1])
    assert data.rate == (10 if form.startswith("lerobot") else None)


@pytest.mark.parametrize("form", ALL)
def test_more_than_ten_episodes_stay_in_order(form, tmp_path):
    episodes = recorded((2, 3) * 6)
    data = load(ALL[form](tmp_path, episodes))
    np.testing.assert_array_equal(data.actions, joined(episodes))
    assert data.lengths.tolist() == [2, 3] * 6


def test_short_episodes_are_refused_or_dropped(form, tmp_path):
    episodes = recorded((5, 1, 3, 1))
    path = FORMATS[form](tmp_path, episodes)
    with pytest.raises(SfpError, match=r"episode 1 has 1 action\(s\) \(2 such\)"):
        load(path)
    data = load(path, columns=columns_of(form), drop_short=True)
    assert data.lengths.tolist() == [5, 3]
    for column in data.columns:
        expected = joined([episodes[0], episodes[2]], column)
        np.testing.assert_array_equal(getattr(data, column), expected)


@pytest.mark.parametrize("form", ["npz-ends", "npz-lengths", "robomimic"])
def test_episodes_of_length_zero(form, tmp_path):
    path = FORMATS[form](tmp_path, recorded((5, 0, 3)))
    with pytest.raises(SfpError, match=r"episode 1 has 0 action\(s\) \(1 such\)"):
        load(path)
    assert load(path, drop_short=True).lengths.tolist() == [5, 3]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_named(form, value, tmp_path):
    episodes = recorded()
    episodes[1]["actions"][4, 1] = value
    path = FORMATS[form](tmp_path, episodes)
    with pytest.raises(SfpError, match="episode 1, step 4 is NaN or infinite"):
        load(path)


def test_integers_are_refused(form, tmp_path):
    episodes = recorded()
    for episode in episodes:
        episode["actions"] = (9 * episode["actions"]).astype(np.int32)
    if form.startswith("lerobot"):
        path = write_lerobot(tmp_path, recorded(), dtype="int64")
        message = "actions are int64 of shape [2], expected a vector of floats"
    elif form.startswith("minari"):
        space = spaces.Box(-9, 9, (2,), np.int32)
        path = write_minari(
            "integers",
            episodes,
            goal_observations,
            GOAL_SPACE,
            form.split("-")[1],
            action_space=space,
        )
        message = "actions of episode 0 are of type int32, expected floats"
    else:
        path = FORMATS[form](tmp_path, episodes)
        message = "actions of episode 0 are of type int32, expected floats"
    with pytest.raises(SfpError, match=re.escape(message)):
        load(path)


@pytest.mark.parametrize("form", ALL)
def test_columns_that_are_not_there_are_named(form, tmp_path):
    path = ALL[form](tmp_path, recorded())
    with pytest.raises(SfpError) as caught:
        load(path, columns=["images"])
    assert re.search("lacks|actions only", str(caught.value))
    assert "images" in str(caught.value)
    with pytest.raises(SfpError, match="unknown column 'image': did you mean images"):
        load(path, columns=["image"])


# --- tables and folders of files ----------------------------------------------------


def written(path, text):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "0.5,-1\n1e-1,2\n",
        "0.5;-1\n1e-1;2",
        "0.5\t-1\n\n1e-1\t2\n",
        "\ufeff0.5, -1\r\n1e-1, 2\r\n",
        "0,1\n0.5,-1\n0.1,2\n",
        "action_0,action_1\n0.5,-1\n0.1,2\n",
        "# action 0, action 1\n0.5,-1\n0.1,2\n",
        '"t","Actions[0]","Actions[1]"\n"one, two",0.5,-1\n,0.1,2\n',
        '"action_0", "action_1"\n0.5, -1\n0.1, 2\n',
    ],
)
def test_tables_of_any_make(text, tmp_path):
    data = load(written(tmp_path / "one.csv", text))
    np.testing.assert_array_equal(data.actions, np.float32([[0.5, -1], [0.1, 2]]))
    assert data.names == ()  # numbers name nothing


def test_a_tables_names_are_kept(tmp_path):
    text = "action_x,goal,actions.grip\n1,5,0\n0,6,1\n"
    data = load(written(tmp_path / "one.csv", text), columns=["goals"])
    assert data.names == ("x", "grip")
    np.testing.assert_array_equal(data.actions, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(data.goals, [[5], [6]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,x\n1,2\n3,4\n", "lacks 'actions': .* begin with 'action'.* 't,x'"),
        ("1 2\n3 4\n", "lacks 'actions': .* commas, .* '1 2'"),
        ("1,2\n3,four\n", "cannot read .*two.csv: .*four.* not a table of numbers"),
        ("1,2\n3\n", "two.csv: row 1 has 1 fields, the first line 2"),
        ("1,2\n3,4,5\n", "two.csv: row 1 has 3 fields, .*Decimal commas"),
        ("action_x;action_y\n0,5;1\n", "cannot read .*two.csv: .*0,5"),
        ("action\n0,5\n", "two.csv: row 0 has 2 fields, .*Decimal commas"),
        ("1,2\n3,nan\n", "two.csv: the action of episode 0, step 1 is NaN"),
        ("action\n", "two.csv is empty: expected at least one episode"),
        ("\n", "two.csv is empty: expected a row of numbers per step"),
        ("1,2\n", r"two.csv: episode 0 has 1 action\(s\)"),
        ("1,2,3\n4,5,6\n", "two.csv has actions of 3 dimensions, .*one.csv of 2"),
        (
            "action_y,action_x\n1,2\n3,4\n",
            r"two.csv has actions of 2 dimensions \(y, x\), .*one.csv of 2",
        ),
    ],
)
def test_of_a_bad_file_in_a_folder_its_name_is_given(text, message, tmp_path):
    written(tmp_path / "of" / "one.csv", "1,2\n3,4\n")
    written(tmp_path / "of" / "two.csv", text)
    with pytest.raises(SfpError, match=message):
        load(tmp_path / "of")


def test_short_files_of_a_folder_can_be_dropped(tmp_path):
    for name, rows in {"a": 3, "b": 1, "c": 0, "d": 2}.items():
        np.save(tmp_path / f"{name}.npy", np.ones((rows, 2)))
    with pytest.raises(SfpError, match=r"b.npy: episode 0 has 1 action\(s\)"):
        load(tmp_path)
    assert load(tmp_path, drop_short=True).lengths.tolist() == [3, 2]
    for name in "ad":
        (tmp_path / f"{name}.npy").unlink()
    with pytest.raises(SfpError, match="is empty"):
        load(tmp_path, drop_short=True)


def test_a_folder_of_two_kinds_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    np.savez(tmp_path / "a.npz", actions=np.ones((3, 2)))
    with pytest.raises(SfpError, match=r"holds \.npy and \.npz files: expected one"):
        load(tmp_path)


def test_bounds_and_rate_of_a_folder(tmp_path):
    path = folder_of(csv_file)(tmp_path, recorded())
    stated = {"low": [-2, -3], "high": [2, 3], "rate": 20}
    (path / "bounds.json").write_text(json.dumps(stated))
    data = load(path)
    assert (data.low.tolist(), data.high.tolist()) == ([-2, -3], [2, 3])
    assert (data.rate, data.bounds_known) == (20, True)
    wrongs = [{"low": [-2, -3]}, stated | {"hz": 3}, stated | {"low": -2}, [1]]
    wrongs += [stated | {"rate": rate} for rate in (-5, 0, math.nan, "fast")]
    for wrong in wrongs:
        (path / "bounds.json").write_text(json.dumps(wrong))
        with pytest.raises(SfpError, match=r"bounds\.json: expected"):
            load(path)
    (path / "bounds.json").write_text(json.dumps(stated | {"low": [0]}))
    with pytest.raises(SfpError, match="1 lower and 2 upper bounds"):
        load(path)


def test_bounds_that_files_state_must_agree(tmp_path):
    actions = np.ones((3, 1))
    for number, high in enumerate((4.0, 4.0)):
        np.savez(tmp_path / f"{number}.npz", actions=actions, low=[0.0], high=[high])
    assert load(tmp_path).high.tolist() == [4]
    assert load(tmp_path).rate is None
    np.savez(tmp_path / "2.npz", actions=actions, low=[0.0], high=[5.0])
    with pytest.raises(SfpError, match=r"2\.npz states bounds unlike .*0\.npz"):
        load(tmp_path)


def test_rates_that_files_state(tmp_path):
    for number in range(2):
        np.savez(tmp_path / f"{number}.npz", actions=np.ones((3, 1)), rate=20.0)
    assert load(tmp_path).rate == 20
    (tmp_path / "bounds.json").write_text('{"low": [0], "high": [2]}')
    assert (load(tmp_path).rate, load(tmp_path).high.tolist()) == (20, [2])
    np.savez(tmp_path / "1.npz", actions=np.ones((3, 1)), rate=10.0)
    with pytest.raises(SfpError, match=r"1\.npz states a rate unlike .*0\.npz"):
        load(tmp_path)


def test_names_in_capitals(tmp_path):
    for name in ("take1.csv", "TAKE2.CSV"):
        written(tmp_path / name, "1,2\n3,4\n")
    assert load(tmp_path).lengths.tolist() == [2, 2]
    assert load(tmp_path / "TAKE2.CSV").lengths.tolist() == [2]


def test_a_folder_of_hdf5_files_with_nothing_but_actions(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file["actions"] = np.ones((3, 2))
    assert load(tmp_path).lengths.tolist() == [3, 3]
    with pytest.raises(SfpError, match="does not say where episodes end"):
        load(tmp_path / "0.h5")


def test_arrays_of_equal_episodes(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((4, 3, 2)))
    assert load(tmp_path / "a.npy").lengths.tolist() == [3] * 4
    np.save(tmp_path / "b.npy", np.array([{}], object))
    with pytest.raises(SfpError, match=r"b\.npy holds pickled Python objects"):
        load(tmp_path / "b.npy")


# --- Minari -------------------------------------------------------------------------


@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
def test_minari_box_observations_and_by_id(data_format):
    episodes = recorded()
    write_minari(
        "box", episodes, lambda e: with_final(e["observations"]), POINT, data_format
    )
    data = load("test/box-v0", columns=["observations"])
    assert data.source == "test/box-v0"
    np.testing.assert_array_equal(data.observations, joined(episodes, "observations"))
    with pytest.raises(SfpError, match="lacks goals: besides actions it has observ"):
        load("test/box-v0", columns=["goals"])
    theirs = [e.actions for e in minari.load_dataset("test/box-v0").iterate_episodes()]
    np.testing.assert_array_equal(data.actions, np.concatenate(theirs))


@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
@pytest.mark.parametrize("jpeg", [True, False])
@pytest.mark.parametrize("nested", [True, False])
def test_minari_pictures(data_format, jpeg, nested):
    rng = np.random.default_rng(0)
    episodes = recorded((4, 3))
    for number, episode in enumerate(episodes):
        shape = (len(episode["actions"]) + 1, 40, 32, 3)
        episode["seen"] = rng.integers(0, 256, shape, np.uint8)
        if number == 1:  # files of equal length are stored as a matrix
            episode["seen"][:] = 50
    picture = spaces.Box(0, 255, (40, 32, 3), np.uint8)
    if nested:
        space = spaces.Dict({"desired_goal": GOAL, "observation": picture})
        path = write_minari(
            "pictures",
            episodes,
            lambda e: {
                "desired_goal": with_final(e["goals"]),
                "observation": e["seen"],
            },
            space,
            data_format,
            jpeg_encoding=jpeg,
        )
        goals = load(path, columns=["goals"]).goals
        np.testing.assert_array_equal(goals, joined(episodes, "goals"))
    else:
        path = write_minari(
            "pictures",
            episodes,
            lambda e: e["seen"],
            picture,
            data_format,
            jpeg_encoding=jpeg,
        )
    data = load(path, columns=["images"])
    assert data.images.dtype == np.uint8
    theirs = [
        e.observations["observation"] if nested else e.observations
        for e in minari.load_dataset("test/pictures-v0").iterate_episodes()
    ]
    expected = np.concatenate([e[:-1] for e in theirs])
    np.testing.assert_array_equal(data.images, expected)
    original = np.concatenate([e["seen"][:-1] for e in episodes])
    assert (data.images == original).all() != jpeg
    with pytest.raises(SfpError, match="lacks observations: besides actions it has"):
        load(path, columns=["observations"])


def test_minari_pictures_of_a_single_step_can_be_dropped():
    picture = spaces.Box(0, 255, (32, 32, 3), np.uint8)
    path = write_minari(
        "pictures",
        recorded((3, 1, 2)),
        lambda e: np.full((len(e["actions"]) + 1, 32, 32, 3), 9, np.uint8),
        picture,
    )
    data = load(path, columns=["images"], drop_short=True)
    assert data.images.shape == (5, 32, 32, 3)


def flat_actions(kind, steps):
    number = np.arange(steps)
    return {
        "Discrete": (spaces.Discrete(9), number),
        "MultiDiscrete": (spaces.MultiDiscrete([9, 9]), np.stack([number, number], 1)),
        "MultiBinary": (spaces.MultiBinary(2), np.zeros((steps, 2), np.int8)),
        "Dict": (
            spaces.Dict({"arm": GOAL, "grip": GOAL}),
            {k: np.zeros((steps, 2), np.float32) for k in ("arm", "grip")},
        ),
        "Tuple": (
            spaces.Tuple([GOAL, GOAL]),
            tuple(np.zeros((steps, 2), np.float32) for _ in "12"),
        ),
    }[kind]


@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
@pytest.mark.parametrize(
    "kind", ["Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple"]
)
def test_minari_action_spaces_other_than_box(kind, data_format):
    steps = 4
    space, actions = flat_actions(kind, steps)
    buffer = EpisodeBuffer(
        observations=np.zeros((steps + 1, 3), np.float32),
        actions=actions,
        rewards=np.zeros(steps),
        terminations=np.zeros(steps, bool),
        truncations=np.zeros(steps, bool),
    )
    minari.create_dataset_from_buffers(
        "test/other-v0",
        [buffer],
        env="sfp/Room-v0",
        eval_env="sfp/Room-v0",
        algorithm_name="none",
        author="none",
        author_email="none",
        code_permalink="none",
        description="none",
        action_space=space,
        observation_space=POINT,
        data_format=data_format,
    )
    message = f"the action space is {kind}, expected Box: sfp is for continuous"
    with pytest.raises(SfpError, match=message):
        load("test/other-v0")


def test_minari_actions_of_another_shape():
    episodes = recorded()
    for episode in episodes:
        episode["actions"] = episode["actions"].reshape(-1, 2, 1)
    space = spaces.Box(-1, 1, (2, 1), np.float32)
    path = write_minari(
        "matrix", episodes, goal_observations, GOAL_SPACE, action_space=space
    )
    with pytest.raises(SfpError, match=r"actions have shape \[2, 1\], expected a vect"):
        load(path)


def test_minari_unbounded_actions_take_their_bounds_from_the_data():
    episodes = recorded()
    episodes[0]["actions"][0] = [5, 0]
    space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    path = write_minari(
        "free", episodes, goal_observations, GOAL_SPACE, action_space=space
    )
    data = load(path)
    assert not data.bounds_known
    assert data.high.tolist() == [5, 1]


def test_minari_mixed_width():
    episodes = recorded()
    episodes[2]["actions"] = np.zeros((3, 4), np.float32)  # Minari does not mind
    path = write_minari("mixed", episodes, goal_observations, GOAL_SPACE)
    with pytest.raises(SfpError, match="episode 2 have 4 dimensions, those before 2"):
        load(path)


@pytest.mark.parametrize("data_format", ["arrow", "parquet"])
def test_minari_without_an_episode_that_it_promises(data_format, tmp_path):
    path = minari_goals(data_format)(tmp_path, recorded())
    shutil.rmtree(path / "data" / "2")
    with pytest.raises(SfpError, match="cannot read"):
        load(path)


def test_minari_without_episodes():
    path = minari_goals("hdf5")(None, recorded())
    metadata = json.loads((path / "data" / "metadata.json").read_text())
    metadata["total_episodes"] = 0
    (path / "data" / "metadata.json").write_text(json.dumps(metadata))
    with pytest.raises(SfpError, match="test/hdf5-v0 is empty: expected at least one"):
        load(path)


def test_the_inside_of_a_minari_dataset_is_recognised():
    path = minari_goals("hdf5")(None, recorded())
    with pytest.raises(SfpError, match="is the inside of a Minari dataset: give"):
        load(path / "data" / "main_data.hdf5")


# --- LeRobot ------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v2", "v3", "v3-split"])
def test_lerobots_own_files(version):
    data = load(FIXTURES / version, columns=["observations"])
    assert data.lengths.tolist() == [5, 7, 3, 6]
    episode = np.repeat(np.arange(4), data.lengths)[:, None]
    step = np.concatenate([np.arange(n) for n in data.lengths])[:, None]
    action = (episode * 1000 + step * 10 + np.arange(3)) / 10000
    np.testing.assert_array_equal(data.actions, action.astype(np.float32))
    state = episode + step / 100 + np.arange(4) / 1000
    np.testing.assert_array_equal(data.observations, state.astype(np.float32))
    assert data.rate == 10


@pytest.fixture
def lerobot(tmp_path):
    shutil.copytree(FIXTURES / "v3-split", tmp_path / "lerobot")
    return tmp_path / "lerobot"


def change_info(path, **changes):
    info = json.loads((path / "meta" / "info.json").read_text())
    (path / "meta" / "info.json").write_text(json.dumps(info | changes))


@pytest.mark.parametrize("drop_short", [False, True])
@pytest.mark.parametrize("name", ["file-000", "file-001", "file-002"])
def test_lerobot_with_a_missing_file(lerobot, name, drop_short):
    (lerobot / "data" / "chunk-000" / f"{name}.parquet").unlink()
    with pytest.raises(SfpError, match=r"incomplete: meta/info.json promises 21 frame"):
        load(lerobot, drop_short=drop_short)


def test_lerobot_without_data(lerobot):
    shutil.rmtree(lerobot / "data")
    with pytest.raises(SfpError, match=r"promises 21 frames, found 0\. Copy or"):
        load(lerobot)
    change_info(lerobot, total_frames=0)
    with pytest.raises(SfpError, match="lerobot is empty"):
        load(lerobot)


@pytest.mark.parametrize("version", ["v1.6", "v4.0", None])
def test_lerobot_of_another_version(lerobot, version):
    change_info(lerobot, codebase_version=version)
    with pytest.raises(SfpError, match=f"LeRobot {version}, expected v2 or v3"):
        load(lerobot)


def test_lerobot_without_actions_or_with_matrices(lerobot):
    feature = {"dtype": "float32", "shape": [3, 2]}
    change_info(lerobot, features={"action": feature})
    with pytest.raises(SfpError, match=r"float32 of shape \[3, 2\], expected a vector"):
        load(lerobot)
    change_info(lerobot, features={"observation.state": feature})
    with pytest.raises(SfpError, match=r"lacks actions \(action\): it has observation"):
        load(lerobot)


def test_lerobot_episode_that_goes_on_in_the_next_file(lerobot):
    whole = load(lerobot)
    path = lerobot / "data" / "chunk-000" / "file-001.parquet"
    table = pq.read_table(path)
    pq.write_table(table[:4], path)
    pq.write_table(table[4:], path.with_name("file-001b.parquet"))
    assert load(lerobot).fingerprint == whole.fingerprint


def test_lerobot_episode_that_comes_up_twice(lerobot):
    path = lerobot / "data" / "chunk-000"
    shutil.copy(path / "file-000.parquet", path / "file-009.parquet")
    with pytest.raises(SfpError, match="episode 0 comes up a second time"):
        load(lerobot)


@pytest.mark.parametrize("kind", ["list", "large"])
def test_lerobot_mixed_width_within_a_file(kind, tmp_path):
    episodes = recorded()
    rows = [list(row) for row in episodes[1]["actions"]]
    rows[3] = [0.0, 0.0, 0.0]
    episodes[1]["actions"] = rows
    path = write_lerobot(tmp_path, episodes, kind=kind)
    message = r"0 rows of 'action' are missing, the others have widths \[2, 3\]"
    with pytest.raises(SfpError, match=message):
        load(path)


def test_lerobot_mixed_width_between_files(tmp_path):
    episodes = recorded()
    episodes[2]["actions"] = np.zeros((3, 4), np.float32)
    path = write_lerobot(tmp_path, episodes)
    with pytest.raises(SfpError, match="episode 2 have 4 dimensions, those before 2"):
        load(path)


@pytest.mark.parametrize("kind", ["fixed", "list", "large"])
def test_lerobot_missing_rows_do_not_shift_the_others(kind, tmp_path):
    episodes = recorded()
    episodes[0]["actions"] = [*episodes[0]["actions"][:4], None]
    path = write_lerobot(tmp_path, episodes, kind=kind, version="v3.0")
    with pytest.raises(SfpError, match="1 rows of 'action' are missing"):
        load(path)


def test_lerobot_scalars_are_one_column(tmp_path):
    path = write_lerobot(tmp_path, recorded((4,)))
    file = path / "data" / "chunk-000" / "episode_000000.parquet"
    table = pq.read_table(file).drop_columns("action")
    table = table.append_column("action", pa.array([0.0, 0.5, -0.5, 1.0], pa.float32()))
    pq.write_table(table, file)
    assert load(path).actions.tolist() == [[0.0], [0.5], [-0.5], [1.0]]


# --- HDF5 and npz -------------------------------------------------------------------


def test_d4rl_episodes_end_at_either_flag_and_at_the_end_of_the_file(tmp_path):
    for finished in (True, False):
        path = write_d4rl(tmp_path, recorded(), finished=finished)
        assert load(path).lengths.tolist() == list(LENGTHS)
        path.unlink()


@pytest.mark.parametrize("only", ["terminals", "timeouts"])
def test_d4rl_with_one_kind_of_flag(tmp_path, only):
    path = write_d4rl(tmp_path, recorded(), finished=True)
    with h5py.File(path, "a") as file:
        del file[{"terminals": "timeouts", "timeouts": "terminals"}[only]]
    expected = {"terminals": [5, 10, 6], "timeouts": [12, 9]}
    assert load(path).lengths.tolist() == expected[only]
    with h5py.File(path, "a") as file:
        del file[only]
    with pytest.raises(SfpError, match="does not say where episodes end: expected"):
        load(path)


def test_d4rl_flags_may_be_numbers_in_a_column(tmp_path):
    path = write_d4rl(tmp_path, recorded())
    with h5py.File(path, "a") as file:
        values = file["terminals"][()].astype(np.float32)[:, None]
        del file["terminals"]
        file["terminals"] = values
    assert load(path).lengths.tolist() == list(LENGTHS)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("terminals", np.zeros(20, bool), "20 terminals for 21 actions: expected one"),
        ("observations", np.zeros((20, 3)), "20 observations for 21 actions: expected"),
        ("observations", np.zeros((25, 3)), "25 observations for 21 actions: expected"),
        ("actions", np.zeros((0, 2)), "terminals for 0 actions"),
    ],
)
def test_d4rl_arrays_that_do_not_fit(tmp_path, name, values, message):
    path = write_d4rl(tmp_path, recorded())
    with h5py.File(path, "a") as file:
        del file[name]
        file[name] = values
    with pytest.raises(SfpError, match=message):
        load(path, columns=["observations"] if name == "observations" else [])


def test_d4rl_empty(tmp_path):
    path = tmp_path / "empty.hdf5"
    with h5py.File(path, "w") as file:
        file["actions"] = np.zeros((0, 2), np.float32)
        file["terminals"] = np.zeros(0, bool)
    with pytest.raises(SfpError, match=r"empty\.hdf5 is empty: expected at least one"):
        load(path)


def test_hdf5_of_another_layout(tmp_path):
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["control"] = np.zeros((4, 2))
    with pytest.raises(SfpError, match="has no `actions`: expected D4RL's layout"):
        load(path)
    with h5py.File(path, "w") as file:
        file.create_group("actions")
    with pytest.raises(SfpError, match="lacks 'actions' in '/': it has actions"):
        load(path)
    with h5py.File(path, "w") as file:
        file.create_group("data/demo_0")
    with pytest.raises(SfpError, match="lacks 'demo_0/actions' in '/data'"):
        load(path)
    with h5py.File(path, "w") as file:
        file.create_group("data")
    with pytest.raises(SfpError, match="is empty"):
        load(path)


def test_robomimic_mixed_width_and_order(tmp_path):
    episodes = recorded((2,) * 12)
    episodes[11]["actions"] = np.zeros((2, 7), np.float32)
    path = write_robomimic(tmp_path, episodes)
    with pytest.raises(SfpError, match="episode 11 have 7 dimensions, those before 2"):
        load(path)
    with pytest.raises(SfpError, match="reads actions only; asked for observations"):
        load(path, columns=["observations"])


def save(tmp_path, **arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    return tmp_path / "a.npz"


def test_npz_bounds_and_rate(tmp_path):
    bounds = {"low": np.array([-4.0, -5.0]), "high": np.array([4.0, 5.0])}
    for rate in (20, 20.0, np.array([20.0])):
        path = npz_with("ends")(tmp_path, recorded(), **bounds, rate=rate)
        data = load(path)
        assert (data.low.tolist(), data.high.tolist()) == ([-4, -5], [4, 5])
        assert data.bounds_known
        assert data.rate == 20
    with pytest.raises(SfpError, match="1 lower and 2 upper bounds for actions of 2"):
        load(npz_with("ends")(tmp_path, recorded(), low=-4.0, high=bounds["high"]))


def test_npz_of_equally_long_episodes(tmp_path):
    episodes = recorded((4, 4, 4))
    stacked = {c: np.stack([e[c] for e in episodes]) for c in episodes[0]}
    data = load(save(tmp_path, **stacked), columns=["observations", "goals"])
    assert data.lengths.tolist() == [4, 4, 4]
    for column in data.columns:
        np.testing.assert_array_equal(getattr(data, column), joined(episodes, column))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episode_lengths": [2, 1, 4]}, "episode_lengths: expected one or the other"),
        ({"terminals": np.zeros((3, 4))}, "terminals: expected one or the other"),
        (
            {"observations": np.zeros((4, 4, 3))},
            "observations of shape (4, 4, 3) for 3 episodes of 4 actions",
        ),
        ({"observations": np.zeros((3, 5, 3))}, "shape (3, 5, 3) for 3 episodes of 4"),
        ({"observations": np.zeros(12)}, "shape (12,) for 3 episodes of 4 actions"),
        ({"actions": np.zeros((0, 4, 2))}, "is empty"),
        ({"actions": np.zeros((3, 0, 2))}, "is empty"),
        ({"actions": np.zeros((3, 1, 2))}, "episode 0 has 1 action(s) (3 such)"),
    ],
)
def test_npz_of_stacked_episodes_that_do_not_fit(tmp_path, change, message):
    arrays = {"actions": np.zeros((3, 4, 2)), **change}
    columns = [c for c in change if c == "observations"]
    with pytest.raises(SfpError, match=re.escape(message)):
        load(save(tmp_path, **arrays), columns=columns)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "lacks 'actions': it has nothing"),
        ({"act": np.zeros((4, 2))}, "lacks 'actions': it has act"),
        ({"actions": np.zeros((4, 2))}, "does not say where episodes end"),
        (
            {"actions": np.zeros((4, 2)), "episode_ends": [2, 5]},
            "episodes end at 5 but there are 4 actions",
        ),
        (
            {"actions": np.zeros((4, 2)), "episode_lengths": [2]},
            "episodes end at 2 but there are 4 actions",
        ),
        (
            {"actions": np.zeros((4, 2)), "episode_ends": [3, 2, 4]},
            "episode boundaries must not decrease",
        ),
        (
            {"actions": np.zeros((4, 2)), "episode_ends": np.zeros(0, int)},
            "episodes end at 0 but there are 4 actions",
        ),
        (
            {"actions": np.zeros((0, 2)), "episode_ends": np.zeros(0, int)},
            "is empty: expected at least one episode of 2 actions",
        ),
        (
            {"actions": np.zeros((4, 2)), "timeouts": np.zeros(3, bool)},
            "3 timeouts for 4 actions: expected one each",
        ),
        (
            {"actions": np.zeros((4, 2, 2, 2)), "episode_ends": [4]},
            "actions of episode 0 have shape (4, 2, 2, 2), expected (steps, dim",
        ),
        ({"actions": np.float64(0), "episode_ends": [1]}, "cannot read"),
        ({"actions": np.array("text"), "episode_ends": [1]}, "cannot read"),
        ({"actions": np.zeros((4, 2)), "episode_ends": ["a"]}, "cannot read"),
        (
            {"actions": np.zeros((4, 2)), "episode_ends": [4], "rate": [1, 2]},
            "cannot read",
        ),
    ],
)
def test_npz_that_does_not_fit(tmp_path, arrays, message):
    with pytest.raises(SfpError, match=re.escape(message)):
        load(save(tmp_path, **arrays))


class Trap:
    """Unpickling this creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("key", ["actions", "episode_ends", "low"])
def test_npz_with_pickled_objects_is_refused_and_nothing_runs(tmp_path, key):
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(sprung)], dtype=object)
    arrays = {
        "actions": np.zeros((4, 2)),
        "episode_ends": np.array([4]),
        "high": np.ones(2),
        "low": np.zeros(2),
        key: trap,
    }
    path = save(tmp_path, **arrays)
    with pytest.raises(SfpError, match=f"'{key}' holds pickled Python objects, expect"):
        load(path)
    assert not sprung.exists()
    with np.load(path, allow_pickle=True) as archive:
        archive[key][0].close()
    assert sprung.exists()  # the trap does work


def test_pickled_objects_in_a_column_nobody_asks_for_do_no_harm(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    path = npz_with("ends")(tmp_path, recorded(), infos=trap)
    assert load(path).lengths.tolist() == list(LENGTHS)
    assert not (tmp_path / "sprung").exists()


def test_npz_that_is_something_else(tmp_path):
    path = tmp_path / "a.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros((4, 2)))
    with pytest.raises(SfpError, match="damaged or not a NumPy archive"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("actions", b"plain text")
        archive.writestr("episode_ends", b"plain text")
    with pytest.raises(SfpError, match="damaged or not a NumPy archive"):
        load(path)


# --- columns that are not needed are not read ---------------------------------------


def spoil_hdf5(path, name):
    """Store a dataset with checksums and then overwrite its bytes."""
    with h5py.File(path, "a") as file:
        values = file[name][()]
        del file[name]
        spoilt = file.create_dataset(name, data=values, chunks=True, fletcher32=True)
        file.flush()
        chunk = spoilt.id.get_chunk_info(0)
    overwrite(path, chunk.byte_offset, chunk.size)


def spoil_parquet(path, name):
    group = pq.read_metadata(path).row_group(0)
    spoilt = 0
    for i in range(group.num_columns):
        column = group.column(i)
        if column.path_in_schema.startswith(name):
            start = column.dictionary_page_offset or column.data_page_offset
            overwrite(path, start, column.total_compressed_size)
            spoilt += 1
    assert spoilt


def spoil_arrow(path, name):
    """Compress, so that the column's bytes can be told to be wrong."""
    table = pa.ipc.open_file(path).read_all().select([name, "actions"])
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(path, table.schema, options=options) as file:
        file.write_table(table)
    magic = re.escape(b"\x28\xb5\x2f\xfd")
    frames = [match.start() for match in re.finditer(magic, path.read_bytes())]
    leaves = 3 if pa.types.is_struct(table.schema.field(name).type) else 1
    assert len(frames) == leaves + 1
    for start in frames[:leaves]:
        overwrite(path, start, 8)


def spoil_npz(path, name):
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{name}.npy")
    overwrite(path, member.header_offset + 60 + len(name), member.compress_size // 2)


def overwrite(path, start, size):
    content = bytearray(path.read_bytes())
    for i in range(start, start + size):
        content[i] = (content[i] + i) % 256
    path.write_bytes(content)


SPOILERS = {
    "minari-hdf5": lambda path: spoil_hdf5(
        path / "data/main_data.hdf5", "episode_1/observations/observation"
    ),
    "minari-parquet": lambda path: spoil_parquet(
        path / "data/1/part-0.parquet", "observations"
    ),
    "minari-arrow": lambda path: spoil_arrow(
        path / "data/1/part-0.arrow", "observations"
    ),
    "lerobot-v2": lambda path: spoil_parquet(
        path / "data/chunk-000/episode_000001.parquet", "observation.state"
    ),
    "lerobot-v3": lambda path: spoil_parquet(
        path / "data/chunk-000/file-000.parquet", "observation.state"
    ),
    "d4rl": lambda path: spoil_hdf5(path, "observations"),
    "npz-ends": lambda path: spoil_npz(path, "observations"),
}


@pytest.mark.parametrize("form", SPOILERS)
def test_columns_that_are_not_needed_are_not_read(form, tmp_path):
    episodes = recorded()
    path = FORMATS[form](tmp_path, episodes)
    SPOILERS[form](path)
    np.testing.assert_array_equal(load(path).actions, joined(episodes))
    with pytest.raises(SfpError, match="cannot read"):
        load(path, columns=["observations"])


def test_pictures_are_not_read_for_goals(tmp_path):
    space = spaces.Dict(
        {
            "desired_goal": GOAL,
            "observation": spaces.Box(0, 255, (32, 32, 3), np.uint8),
        }
    )
    path = write_minari(
        "pictures",
        recorded(),
        lambda e: {
            "desired_goal": with_final(e["goals"]),
            "observation": np.zeros((len(e["goals"]) + 1, 32, 32, 3), np.uint8),
        },
        space,
        "parquet",
    )
    spoil_parquet(path / "data/1/part-0.parquet", "observations.observation")
    goals = load(path, columns=["goals"]).goals
    np.testing.assert_array_equal(goals, joined(recorded(), "goals"))
    with pytest.raises(SfpError, match="cannot read"):
        load(path, columns=["images"])


# --- bad input ----------------------------------------------------------------------


def files_of(path):
    return [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]


def is_refused(path, columns=()):
    """Whether one line says that this is damaged; any other exception comes out."""
    line = ""
    try:
        load(path, columns=columns)
    except SfpError as error:
        line = str(error)
    assert "\n" not in line
    assert len(line) < 900
    return bool(line)


@pytest.mark.slow
def test_truncated_files(form, tmp_path):
    path = FORMATS[form](tmp_path, recorded((4, 3)))
    refused = 0
    for file in files_of(path):
        content = file.read_bytes()
        for length in (0, 1, 8, *np.linspace(9, len(content) - 1, 7).astype(int)):
            file.write_bytes(content[:length])
            refused += is_refused(path, columns_of(form))
        file.write_bytes(content)
    assert refused >= 10
    load(path)


@pytest.mark.slow
def test_files_with_wrong_bytes(form, tmp_path):
    """Some go unnoticed: these formats have no checksums."""
    path = FORMATS[form](tmp_path, recorded((4, 3)))
    rng = np.random.default_rng(0)
    refused = 0
    for file in files_of(path):
        content = file.read_bytes()
        for _ in range(12):
            damaged = bytearray(content)
            for place in rng.integers(len(content), size=rng.integers(1, 20)):
                damaged[place] = rng.integers(256)
            file.write_bytes(damaged)
            refused += is_refused(path, columns_of(form))
        file.write_bytes(content)
    assert refused > 0


def test_unknown_dataset_names_the_nearest(datasets):
    with pytest.raises(SfpError, match=r"unknown dataset 'x': there are none yet\. Ma"):
        load("x")
    minari_goals("hdf5")(None, recorded())
    with pytest.raises(SfpError) as caught:
        load("test/hdf-v0")
    assert str(caught.value) == (
        "unknown dataset 'test/hdf-v0': did you mean test/hdf5-v0? Make one with `sfp "
        "collect`, fetch one with `minari download`, or give a path."
    )
    # a namespace is no dataset, and what is being written is none yet
    with pytest.raises(SfpError, match="unknown dataset 'test'"):
        load("test")
    (datasets / "test" / "hdf5-v0").rename(datasets / "test" / ".draft-hdf5-v0-1-abc")
    with pytest.raises(SfpError, match="there are none yet"):
        load("test/hdf5-v0")


def test_datasets_that_are_links_are_found(datasets, tmp_path):
    path = minari_goals("hdf5")(None, recorded())
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert local_datasets() == ["test/hdf5-v0"]
    assert load("test/hdf5-v0").lengths.tolist() == list(LENGTHS)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "a\nb", "~", "*", "\udcff"])
def test_strange_names_are_unknown_datasets(name):
    with pytest.raises(SfpError, match="unknown dataset"):
        load(name)


def test_unsupported_files_and_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "table.txt").write_text("1,2\n")
    for name in ("folder", "folder.npz", "table.txt", "", ".", "/dev/null"):
        with pytest.raises(SfpError, match=r"cannot tell the format of .*: expected"):
            load(name)


def test_a_path_wins_over_a_dataset_of_the_same_name(tmp_path, monkeypatch):
    minari_goals("hdf5")(None, recorded())
    monkeypatch.chdir(tmp_path)
    assert load("test/hdf5-v0").lengths.tolist() == list(LENGTHS)
    (tmp_path / "test").mkdir()
    shutil.copytree(FIXTURES / "v2", tmp_path / "test" / "hdf5-v0")
    assert load("test/hdf5-v0").dims == 3


def test_an_optional_column_is_read_only_where_there_is_one(tmp_path):
    actions = np.zeros((8, 2), np.float32)
    base = {"actions": actions, "observations": actions, "episode_lengths": [4, 4]}
    np.savez(tmp_path / "plain.npz", **base)
    np.savez(tmp_path / "goal.npz", **base, goals=actions)
    columns = ("observations",)
    plain = load(tmp_path / "plain.npz", columns=columns, optional="goals")
    goal = load(tmp_path / "goal.npz", columns=columns, optional="goals")
    assert plain.columns == ("actions", "observations")
    assert goal.columns == ("actions", "observations", "goals")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["x", "y"], ("x", "y")),
        ({"motors": ["x", "y"]}, ("x", "y")),
        (None, ()),
        (["one of two"], ()),
        ({"a": ["x"], "b": ["y"]}, ()),
    ],
)
def test_lerobot_names_its_actions(tmp_path, given, expected):
    path = write_lerobot(tmp_path, recorded())
    info = json.loads((path / "meta" / "info.json").read_text())
    info["features"]["action"]["names"] = given
    (path / "meta" / "info.json").write_text(json.dumps(info))
    assert load(path).names == expected


@pytest.mark.parametrize(("kind", "is_read"), [("PNG", True), ("GIF", False)])
def test_images_of_foreign_datasets_are_opened_as_jpeg_or_png_only(kind, is_read):
    """Pillow's other decoders never see what a stranger wrote."""
    content, pixels = io.BytesIO(), np.full((4, 4, 3), 7, np.uint8)
    Image.fromarray(pixels).save(content, kind)
    place = Place(("image",), (4, 4, 3))
    if is_read:
        assert (_decoded(content.getvalue(), place) == pixels).all()
    else:
        with pytest.raises(UnidentifiedImageError):
            _decoded(content.getvalue(), place)


def test_a_damaged_heap_of_an_hdf5_file_is_refused_instead_of_read_for_ever(tmp_path):
    """HDF5 itself would step from an object of no size to the same one."""
    path = tmp_path / "data.hdf5"
    rows = [np.arange(n, dtype=np.uint8) for n in (3, 40, 7)]
    with h5py.File(path, "w") as file:
        kind = h5py.vlen_dtype(np.uint8)
        stored = file.create_dataset("rows", 3, dtype=kind, chunks=(3,))
        for i, row in enumerate(rows):
            stored[i] = row
    check_heaps(path, 0)
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL")
    content[first + 16 : first + 200] = bytes(184)
    path.write_bytes(content)
    with pytest.raises(SfpError, match=f"the heap at byte {first} is not whole"):
        check_heaps(path, 1)
