"""Collected datasets: what is in them, and that they are whole or absent."""

import json
import subprocess
import sys

import gymnasium as gym
import minari
import numpy as np
import pytest

import sfp
from sfp.data.collect import collect
from sfp.data.sources import load
from sfp.envs.maze import PointMaze, get_layout
from sfp.envs.picture import AGENT, GOAL
from sfp.errors import SfpError

NAME = "sfp/room/scripted-v0"


def content(folder):
    """Every file below a folder, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def small(task="room", **options):
    return collect(task, **{"episodes": 6, "steps": 40, "seed": 3, **options})


def test_plain_minari_reads_it():
    data = small()
    dataset = minari.load_dataset(NAME)
    env = gym.make("sfp/Room-v0")
    assert dataset.observation_space == env.observation_space
    assert dataset.action_space == env.action_space
    assert dataset.total_episodes == 6
    assert dataset.total_steps == 240
    assert dataset.spec.env_spec == env.spec
    assert dataset.recover_environment().unwrapped.maze.layout.name == "room"
    assert NAME in minari.list_local_datasets()
    ours = zip(data.starts, data.ends, strict=True)
    for (start, end), episode in zip(ours, dataset.iterate_episodes(), strict=True):
        np.testing.assert_array_equal(episode.actions, data.actions[start:end])
        assert len(episode) == 40
        assert len(episode.observations["observation"]) == 41
        assert not episode.terminations.any()
        assert episode.truncations.tolist() == [False] * 39 + [True]
        for key, space in env.observation_space.items():
            assert all(value in space for value in episode.observations[key])
        assert all(action in env.action_space for action in episode.actions)


def test_what_it_returns_is_what_it_wrote():
    data = small()
    assert data.source == NAME
    assert data.fingerprint == load(NAME).fingerprint
    assert data.lengths.tolist() == [40] * 6
    assert data.columns == ("actions",)
    assert data.bounds_known
    assert (data.low.tolist(), data.high.tolist()) == ([-1, -1], [1, 1])
    whole = load(NAME, columns=["observations", "goals"])
    assert whole.observations.shape == whole.goals.shape == (240, 2)


def test_a_file_of_the_same_name_is_not_taken_for_the_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).mkdir(parents=True)
    assert small().lengths.tolist() == [40] * 6


def test_same_seed_same_bits_another_seed_others(tmp_path, monkeypatch):
    def files(seed, folder):
        monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / folder))
        small(seed=seed)
        return content(tmp_path / folder)

    one, again, other = files(3, "one"), files(3, "again"), files(4, "other")
    assert one == again
    differing = {name for name in one if one[name] != other[name]}
    hdf5 = f"{NAME}/data/main_data.hdf5"
    assert differing == {hdf5, f"{NAME}/data/metadata.json", f"{NAME}/SHA256SUMS"}


def test_episodes_and_chunks_are_all_different(monkeypatch):
    monkeypatch.setattr(sys.modules["sfp.data.collect"], "CHUNK", 4)
    data = small(episodes=10)
    first = data.actions[data.starts]
    assert len(np.unique(first, axis=0)) == 10


@pytest.mark.slow
def test_actions_explain_positions_rewards_and_goals():
    small(episodes=20, steps=300)
    env = gym.make("sfp/Room-v0").unwrapped
    layout = get_layout("room")
    explained = rewarded = 0
    for episode in minari.load_dataset(NAME).iterate_episodes():
        seen, goals = (episode.observations[k] for k in ("observation", "desired_goal"))
        np.testing.assert_array_equal(seen, episode.observations["achieved_goal"])
        position = layout.low + seen.astype(float) * 29
        assert np.abs(position[0]).max() <= 0.5  # begins in the start cell
        # an action is a displacement, wherever no wall can be met
        free = (np.abs(position[:-1]) < 13.4).all(axis=1)
        moved = np.diff(position, axis=0)
        np.testing.assert_allclose(moved[free], episode.actions[free], atol=5e-6)
        explained += free.sum()
        # the reward is that of the goal walked to, at the state walked to
        reward = env.compute_reward(seen[1:], goals[:-1], {})
        np.testing.assert_array_equal(episode.rewards, reward)
        rewarded += reward.sum()
        # goals lie in the room and the action leads to them
        assert goals.min() >= 0
        assert goals.max() <= 1
        gap = layout.low + goals.astype(float) * 29 - position
        distance = np.linalg.norm(gap, axis=1)
        far = distance[:-1] > 2
        unit = gap[:-1] / distance[:-1, None]
        np.testing.assert_allclose(
            episode.actions[far], 0.9 * unit[far], atol=0.045 * 6
        )
        # a goal is kept until reached, for at most 60 steps
        change = np.flatnonzero((np.diff(goals, axis=0) != 0).any(axis=1)) + 1
        assert np.diff(change).max() <= 60
        held = np.linalg.norm(position[change] - (gap + position)[change - 1], axis=1)
        assert (held < 0.5 + 1e-5).all()
    assert explained > 0.8 * 20 * 300
    assert rewarded > 100


@pytest.mark.parametrize("task", ["corridor", "maze", "sfp/RoomLarge-v0"])
def test_other_tasks(task):
    data = small(task)
    short = {"sfp/RoomLarge-v0": "room-large"}.get(task, task)
    assert data.source == f"sfp/{short}/scripted-v0"
    env = minari.load_dataset(data.source).recover_environment()
    assert env.unwrapped.maze.layout.name == short


def test_a_map_of_ones_own_and_a_name_of_ones_own(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("#######\n#S...G#\n#######")
    assert small(str(path)).source == "sfp/mine/scripted-v0"
    assert small(str(path), name="me/again-v7").source == "me/again-v7"
    assert minari.load_dataset("me/again-v7").total_steps == 240
    assert {"me", "sfp", "sfp/mine"} <= set(minari.namespace.list_local_namespaces())


def test_progress_counts_the_episodes():
    seen = []
    small(progress=seen.append)
    assert seen == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episodes": 0}, "expected episodes of at least 1, received 0"),
        ({"episodes": -4}, "expected episodes of at least 1, received -4"),
        ({"steps": 1}, "expected steps of at least 2, received 1"),
        ({"seed": -1}, "expected seed of at least 0, received -1"),
        ({"task": "rooom"}, "unknown task 'rooom': did you mean room"),
        ({"task": "none.txt"}, r"there is no map at none\.txt"),
        *(
            ({"name": name}, "is no Minari dataset id: expected namespace/name-v0")
            for name in ("x", "x-v", "/x-v0", "../x-v0", "a b/x-v0", "x-v0/", "x\n-v0")
        ),
    ],
)
def test_bad_arguments_leave_nothing(datasets, options, message):
    with pytest.raises(SfpError, match=message):
        small(**options)
    assert not datasets.exists()


def test_existing_dataset_is_refused_and_replaced_by_force(datasets):
    small()
    before = content(datasets)
    with pytest.raises(SfpError) as caught:
        small(seed=9)
    assert str(caught.value) == (
        f"dataset {NAME} exists already in {datasets}: add --force (force=True in "
        "Python) to replace it, or choose another --name."
    )
    assert content(datasets) == before
    replaced = small(seed=9, force=True)
    assert replaced.fingerprint == load(NAME).fingerprint
    assert set(content(datasets)) == set(before)
    assert content(datasets) != before


def test_force_does_not_replace_what_is_no_dataset(datasets):
    small(name="sfp-v0/inner-v0")
    before = content(datasets)
    with pytest.raises(SfpError, match=r"sfp-v0 is there and no dataset: choose anoth"):
        small(name="sfp-v0", force=True)
    assert content(datasets) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("bug"), MemoryError])
@pytest.mark.parametrize("old", [False, True])
def test_a_failed_run_leaves_nothing_and_keeps_the_old(datasets, error, old):
    if old:
        small()
    before = content(datasets)

    def fail(done):
        if done == 3:
            raise error

    with pytest.raises((KeyboardInterrupt, ValueError, MemoryError)):
        small(seed=9, force=True, progress=fail)
    assert content(datasets) == before
    if old:
        load(NAME)
    else:
        assert minari.list_local_datasets() == {}
        small()


def test_any_flipped_bit_is_noticed(datasets):
    small(episodes=2, steps=10)
    rng = np.random.default_rng(0)
    names = content(datasets / NAME)
    assert set(names) == {"data/main_data.hdf5", "data/metadata.json", "SHA256SUMS"}
    for name, original in names.items():
        path = datasets / NAME / name
        places = [0, len(original) - 1, *rng.integers(len(original), size=14)]
        for place in places:
            damaged = bytearray(original)
            damaged[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(damaged)
            with pytest.raises(SfpError, match=r"damaged|truncated"):
                load(NAME)
        path.write_bytes(original)
    load(NAME)


@pytest.mark.parametrize("name", ["data/main_data.hdf5", "data/metadata.json"])
def test_a_missing_or_truncated_file_is_noticed(datasets, name):
    small()
    path = datasets / NAME / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SfpError, match=f"damaged: {name} is not what was written"):
        load(NAME)
    path.unlink()
    with pytest.raises(SfpError, match=f"{name} is missing|unknown dataset"):
        load(NAME)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from sfp.cli import main
main(["collect", "room", "--episodes", "60", "--steps", "100", "--force"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "old"), [(100, False), (3000, True), (700_000, True)]
)
def test_a_full_disk_is_one_line_and_leaves_nothing(datasets, limit, old):
    """No file may grow beyond the limit: HDF5 alone would crash the process."""
    if old:
        small()
    before = content(datasets)
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit)], capture_output=True, text=True
    )
    assert run.stdout == ""
    assert run.stderr == (
        f"sfp: cannot write {datasets / NAME}: File too large. Nothing was left "
        "behind; free some space or choose a folder that you may write to.\n"
    )
    assert run.returncode == 2
    assert content(datasets) == before


@pytest.mark.slow
def test_a_disk_with_just_enough_room(datasets):
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, "2000000"], capture_output=True, text=True
    )
    assert run.returncode == 0
    assert load(NAME).lengths.tolist() == [100] * 60


def test_a_file_in_the_place_of_the_datasets(datasets):
    datasets.write_text("not a folder")
    with pytest.raises(SfpError, match=r"cannot write .*: (Not a dir|File exi)"):
        small()


def test_a_name_that_no_disk_takes(datasets):
    for _ in range(2):  # also when the folder of datasets is there
        with pytest.raises(SfpError, match=r"cannot write .*: File name too long"):
            small(name="x" * 300 + "-v0")
        assert content(datasets) == {}


def test_metadata_says_how_it_was_made(datasets):
    small()
    metadata = json.loads((datasets / NAME / "data" / "metadata.json").read_text())
    assert metadata["description"].startswith("6 trajectories of 40 steps in room: a")
    assert "(seed 3)" in metadata["description"]
    assert metadata["algorithm_name"] == "sfp.data.scripted.Scripted"
    assert metadata["requirements"] == [f"state-free-priors=={sfp.__version__}"]


def test_a_relative_datasets_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", "some/where")
    data = collect("room", episodes=2, steps=5)
    assert (tmp_path / "some" / "where" / data.source / "data").is_dir()


@pytest.mark.slow
def test_images_are_recorded_without_loss_and_minari_reads_them(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    plain = sfp.collect("room", episodes=2, steps=20)
    data = sfp.collect("room", episodes=2, steps=20, images=True)
    assert data.source == "sfp/room/scripted-images-v0"
    assert data.fingerprint == plain.fingerprint  # the same episodes
    seen = sfp.load(data.source, columns=("images", "observations", "goals"))
    env = PointMaze("room", pixels=True)
    env.reset(seed=0)
    for t in (0, 7, 33):
        for name, column in (("position", seen.observations), ("goal", seen.goals)):
            place = env.maze.layout.low + column[t] * env.maze.extent
            setattr(env, name, place[None])
        scene = env._eye.blank.copy()
        env._eye.square(scene, env.goal[0], GOAL)
        env._eye.square(scene, env.position[0], AGENT)
        np.testing.assert_array_equal(seen.images[t], scene)
    held = minari.load_dataset(data.source)
    images = held[1].observations["image"]
    assert images.shape == (21, 64, 64, 3)
    np.testing.assert_array_equal(images[:20], seen.images[20:])
    thin = sfp.load(data.source, columns=("images",), every=7)
    np.testing.assert_array_equal(thin.images[:3], seen.images[:20:7])
    np.testing.assert_array_equal(thin.actions[3:], seen.actions[20::7])
    with pytest.raises(SfpError, match="images are recorded of scripts"):
        sfp.collect("room", policy=lambda obs: np.zeros(2), images=True)
