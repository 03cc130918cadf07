"""Explorers side by side: Table 1, and what their measures count."""

import numpy as np
import pytest

from sfp.envs import Layout
from sfp.envs.maze import LAYOUTS, get_layout
from sfp.envs.metaworld import MetaWorld
from sfp.errors import SfpError
from sfp.exploration.arena import HandArena, reachable
from sfp.exploration.explorers import EXPLORERS, explore, success_notes
from sfp.priors.store import load_prior

SMALL = {"trajectories": 4, "steps": 30, "repetitions": 3}
MAPS = {
    **{name: name for name in LAYOUTS},
    "checkers": "\n" + "S..#.\n.#...\n...#G\n.#.#.\n.....",
    "slit": "\nSG",
}


@pytest.mark.parametrize("per_axis", [1, 3, 10])
@pytest.mark.parametrize("name", MAPS)
def test_reachable_buckets_are_those_that_overlap_a_free_cell(name, per_axis):
    layout = get_layout(MAPS[name])
    overlaps = []  # per axis: does cell c share some length with bucket b?
    for axis in (0, 1):
        edge = np.linspace(layout.low[axis], layout.high[axis], per_axis + 1)
        cell = layout.cells[:, axis, None]
        last, first = (
            np.minimum(edge[1:], cell + 0.5),
            np.maximum(edge[:-1], cell - 0.5),
        )
        overlaps.append(last - first > 1e-6)
    expected = np.einsum("ci,cj->ij", *overlaps)
    np.testing.assert_array_equal(reachable(layout, per_axis), expected)


def test_all_of_a_room_is_reachable_and_some_of_the_maze_is_not():
    assert reachable(get_layout("room")).all()
    assert reachable(get_layout("room-large")).all()
    assert not reachable(get_layout("maze")).all()


def test_table_1_uniform_in_the_large_room():
    """FACTS: the authors' code gives 0.390 ± 0.041 and 0.0041 ± 0.0005, 10 times."""
    (uniform,) = explore("room-large", ["uniform"], repetitions=40)
    for values, theirs, spread in (
        (uniform.coverage, 0.390, 0.041),
        (uniform.gyration, 0.0041, 0.0005),
    ):
        error = np.sqrt(spread**2 / 10 + values.var(ddof=1) / 40)
        assert abs(values.mean() - theirs) < 3 * error
        assert values.std(ddof=1) == pytest.approx(spread, rel=0.5)
    diagonal = 81 * np.sqrt(2)
    np.testing.assert_allclose(uniform.gyration_printed, uniform.gyration * diagonal)


@pytest.mark.slow
def test_scripted_covers_the_room_better():
    uniform, scripted = explore("room-large", ["uniform", "scripted"], repetitions=3)
    assert scripted.coverage.min() > 0.95 > uniform.coverage.max()
    assert scripted.gyration.min() > 5 * uniform.gyration.max()


@pytest.mark.parametrize("task", ["room", "maze"])
def test_measures_equal_slow_loops_over_the_paths(task):
    layout = get_layout(task)
    size = layout.high - layout.low
    for walk in explore(task, **SMALL):
        assert walk.paths.shape == (12, 31, 2)
        assert walk.actions.shape == (12, 30, 2)
        assert np.abs(walk.actions).max() <= 1
        for r in range(3):
            paths = walk.paths[4 * r : 4 * r + 4]
            seen = {
                tuple(b) for b in (10 * (paths - layout.low) // size).reshape(-1, 2)
            }
            open_buckets = {
                tuple(map(float, b)) for b in np.argwhere(reachable(layout))
            }
            assert seen <= open_buckets
            assert walk.coverage[r] == pytest.approx(len(seen) / len(open_buckets))
            variance = paths.var(axis=1, ddof=1).sum(axis=1).mean()
            assert walk.gyration[r] == pytest.approx(variance / (size @ size))


def test_success_is_the_share_of_walks_that_met_the_goal(tmp_path):
    path = tmp_path / "narrow.txt"
    path.write_text("S" + "." * 8 + "G")
    for walk in explore(str(path), trajectories=40, steps=60, repetitions=2):
        met = np.hypot(*(walk.paths - [9.0, 0.0]).T) <= 1.2
        assert not met[0].any()
        share = met.any(axis=0).reshape(2, 40).mean(axis=1)
        np.testing.assert_allclose(walk.success, share)
        assert walk.success.min() > 0


def test_a_goal_that_is_met_at_the_start_is_no_success(tmp_path):
    near, far = tmp_path / "near.txt", tmp_path / "far.txt"
    near.write_text("SG")
    far.write_text("S....G")
    (uniform,) = explore(str(near), ["uniform"], **SMALL)
    met = np.hypot(*(uniform.paths - [1.0, 0.0]).T) <= 1.2  # steps, trajectories
    share = (met.any(axis=0) & ~met[0]).reshape(3, 4).mean(axis=1)
    np.testing.assert_allclose(uniform.success, share)
    assert uniform.began == met[0].mean() == 0.75
    assert success_notes([uniform]) == [
        "75.0% of the trajectories began at their goal: they are no success."
    ]
    (uniform,) = explore(str(far), ["uniform"], **SMALL)
    assert (uniform.began, success_notes([uniform])) == (0.0, [])


@pytest.mark.slow
def test_an_explorer_does_not_depend_on_the_others():
    alone = {name: explore("maze", [name], **SMALL)[0] for name in EXPLORERS}
    forward = explore("maze", list(EXPLORERS), **SMALL)
    backward = explore("maze", list(EXPLORERS)[::-1], **SMALL)
    for walk in (*forward, *backward):
        np.testing.assert_array_equal(walk.paths, alone[walk.name].paths)
        np.testing.assert_array_equal(walk.actions, alone[walk.name].actions)
    starts = [walk.paths[:, 0] for walk in alone.values()]
    assert (np.array(starts) == starts[0]).all()  # all begin with the same resets
    drawn = [walk.actions for walk in alone.values()]
    assert (drawn[0] != drawn[1]).all()  # and act by random streams of their own
    names = list(EXPLORERS)
    assert [walk.name for walk in forward] == names
    assert [walk.name for walk in backward] == names[::-1]


@pytest.mark.parametrize("name", EXPLORERS)
def test_same_seed_same_bits(name):
    one, again, other = (
        explore("room", [name], seed=seed, **SMALL)[0] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.paths, again.paths)
    assert one.row() == again.row()
    assert (one.paths != other.paths).all()


def test_a_row_is_mean_and_spread_over_repetitions():
    walk = explore("room", ["uniform"], **SMALL)[0]
    row = walk.row()
    assert list(row) == [
        "explorer",
        *("coverage", "coverage_std", "gyration", "gyration_std"),
        *("gyration_printed", "gyration_printed_std", "success", "success_std"),
    ]
    assert row["explorer"] == "uniform"
    assert row["coverage"] == pytest.approx(np.mean(walk.coverage))
    assert row["coverage_std"] == pytest.approx(np.std(walk.coverage, ddof=1))
    once = explore("room", ["uniform"], trajectories=2, steps=5, repetitions=1)[0]
    assert once.row()["gyration_std"] == 0.0


def test_progress_is_called_once_per_step():
    calls = []
    explore("room", progress=lambda: calls.append(1), **SMALL)
    assert len(calls) == 2 * 30


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trajectories": 0}, "expected trajectories of at least 1, received 0"),
        ({"steps": -3}, "expected steps of at least 1, received -3"),
        ({"repetitions": 0}, "expected repetitions of at least 1, received 0"),
        ({"seed": -1}, "expected seed of at least 0, received -1"),
        ({"explorers": ["uniformm"]}, "unknown explorer 'uniformm': did you mean unif"),
        ({"explorers": ["x"]}, r"known: .*uniform, zeta\. See `sfp list explorers`"),
        ({"solved_at": 1.0}, "room tells success by itself: leave out solved_at"),
        ({"task": "romo"}, "unknown task 'romo': did you mean room"),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(SfpError, match=message):
        explore(**{"task": "room", **changes})


def test_a_layout_without_walls_inside_counts_every_bucket_once():
    layout = Layout.from_ascii("S.\n.G")
    assert reachable(layout, 2).tolist() == [[True, True], [True, True]]
    half = Layout.from_ascii("S.\n#G")
    assert reachable(half, 2).tolist() == [[False, True], [True, True]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_hands_explore_in_meta_environment():
    pytest.importorskip("metaworld")
    walks = explore(
        "reach",
        ["uniform", "scripted", "polyrl"],
        trajectories=2,
        steps=60,
        repetitions=2,
    )
    uniform, scripted, _ = walks
    for walk in walks:
        assert walk.paths.shape == (4, 61, 3)
        assert walk.actions.shape == (4, 60, 4)
        assert walk.coverage.shape == (2,)
        assert (walk.coverage >= 1 / 1000).all()
    assert scripted.gyration.mean() > 3 * uniform.gyration.mean()
    # By its definition, for the first repetition, in the box of the hand's controller.
    box = np.linalg.norm([1.0, 0.6, 0.45])
    spread = [path.var(axis=0, ddof=1).sum() for path in uniform.paths[:2]]
    assert uniform.gyration[0] == pytest.approx(np.mean(spread) / box**2)


@pytest.mark.slow
def test_a_prior_of_the_maze_does_not_fit_a_hand():
    pytest.importorskip("metaworld")
    with pytest.raises(SfpError, match=r"2.*4"):
        explore("reach", [], priors={"room": load_prior("room")}, **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["reach", "door-open"])
def test_hands_in_one_simulator_are_many_environments(task):
    pytest.importorskip("metaworld")
    arena = HandArena(MetaWorld(task), 3, np.random.default_rng(0))
    seeds = np.random.default_rng(0).integers(2**31, size=3)
    alone = [MetaWorld(task) for _ in seeds]
    for env, seed in zip(alone, seeds, strict=True):
        env.reset(seed=int(seed))
    rng = np.random.default_rng(1)
    for _ in range(25):
        actions = rng.uniform(-1, 1, (3, 4)).astype(np.float32)
        positions = arena.step(actions)
        for i, env in enumerate(alone):
            seen = env.step(actions[i])[0]
            for key, value in seen.items():
                np.testing.assert_array_equal(arena.observations[i][key], value)
            np.testing.assert_array_equal(positions[i], seen["observation"][:3])


def test_walkers_are_measured_by_how_far_they_get():
    pytest.importorskip("mujoco")
    given = dict(trajectories=2, repetitions=1, steps=30)
    (walks,) = explore("halfcheetah:threshold=1%", ["uniform"], **given)
    row = walks.row()
    assert 0 < row["distance_30"] <= row["best_30"]
    assert walks.distance.shape == (2, 31)
    assert (np.diff(walks.distance, axis=1) >= 0).all()
    assert row["success"] == (walks.distance[:, -1] >= 0.12).mean()
    with pytest.raises(SfpError, match="no scripted policy for halfcheetah"):
        explore("halfcheetah", ["scripted"])
