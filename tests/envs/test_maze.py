import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from sfp.envs import TASKS, MazeBatch, PointMaze, get_task
from sfp.envs.maze import MARGIN, RADIUS, get_layout
from sfp.envs.suites import MAZES
from sfp.envs.wayfinder import Wayfinder
from sfp.errors import SfpError

MAP = "#######\n#S...G#\n#######"


@pytest.mark.parametrize("pixels", [False, True])
@pytest.mark.parametrize("task", [TASKS[name] for name in MAZES], ids=MAZES)
def test_gymnasium_checker_has_nothing_to_say(task, pixels):
    check_env(task.make(pixels=pixels, render_mode="rgb_array").unwrapped)


def rollout(env, seed, steps=200):
    observations = [env.reset(seed=seed)[0]]
    env.action_space.seed(seed)
    rewards = []
    for _ in range(steps):
        observation, reward, *_ = env.step(env.action_space.sample())
        observations.append(observation)
        rewards.append(reward)
    stacked = {k: np.stack([o[k] for o in observations]) for k in observations[0]}
    return stacked, np.array(rewards)


@pytest.mark.parametrize("name", MAZES)
def test_same_seed_same_bits(name):
    one, rewards = rollout(TASKS[name].make(), 3)
    two, again = rollout(TASKS[name].make(), 3)
    other, _ = rollout(TASKS[name].make(), 4)
    for key in one:
        np.testing.assert_array_equal(one[key], two[key])
    np.testing.assert_array_equal(rewards, again)
    assert (one["observation"] != other["observation"]).any()


def test_episode_ends_after_500_steps_by_truncation_only():
    env = gym.make("sfp/Room-v0")
    env.reset(seed=0)
    for t in range(500):
        _, _, terminated, truncated, _ = env.step(np.zeros(2, np.float32))
        assert not terminated
        assert truncated == (t == 499)


@pytest.mark.parametrize("name", MAZES)
def test_start_is_in_the_start_cell_off_the_walls(name):
    layout = get_layout(name)
    batch = MazeBatch(layout, 5000, np.random.default_rng(0))
    offset = batch.position - layout.starts[0]
    assert np.abs(offset).max() < 0.5
    for axis, side in ((0, 1), (0, -1), (1, 1), (1, -1)):
        cell = layout.starts[0].copy()
        cell[axis] += side
        reach = (offset[:, axis] * side).max()
        room = 0.5 if layout.is_free(cell) else 0.5 - MARGIN
        assert room - 0.01 < reach <= room


def test_room_draws_all_four_corners():
    goals = MazeBatch("room", 400, np.random.default_rng(0)).goal
    assert {tuple(g) for g in goals} == {(a, b) for a in (-14, 14) for b in (-14, 14)}


def test_observation_is_scaled_by_the_cell_edges():
    env = PointMaze("corridor")
    env.reset(seed=0)
    env.position = np.array([[60.0, 2.0]])
    env.goal = np.array([[0.0, 2.0]])
    seen = env.step(np.zeros(2, np.float32))[0]["observation"]
    np.testing.assert_allclose(seen, [60.5 / 61, 2.5 / 3], rtol=1e-6)


@pytest.mark.parametrize("name", MAZES)
def test_compute_reward_equals_the_step_reward_one_by_one_and_vectorised(name):
    env = PointMaze(name)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    achieved, desired, rewards = [], [], []
    for _ in range(300):
        env.goal = env.position + rng.uniform(-2, 2, (1, 2))
        env._desired = env.maze.scale(env.goal)[0]
        observation, reward, _, _, info = env.step(rng.uniform(-1, 1, 2))
        achieved.append(observation["achieved_goal"])
        desired.append(observation["desired_goal"])
        rewards.append(reward)
        assert info["is_success"] == (reward == 1.0)
        one = env.compute_reward(achieved[-1], desired[-1], info)
        assert isinstance(one, float)
        assert one == reward
    many = env.compute_reward(np.stack(achieved), np.stack(desired), [{}] * 300)
    np.testing.assert_array_equal(many, rewards)
    assert 0 < np.mean(rewards) < 1


def test_goal_radius_is_measured_in_cells_not_in_scaled_units():
    maze = PointMaze("corridor").maze
    goal = np.array([[30.0, 0.0]])
    points = goal + np.array(
        [[RADIUS - 1e-3, 0], [RADIUS + 1e-3, 0], [0, RADIUS - 1e-3]]
    )
    reached = maze.reached(maze.scale(points), maze.scale(goal))
    np.testing.assert_array_equal(reached, [True, False, True])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["room", "corridor", "maze"])
def test_a_scripted_path_follower_solves_the_task(name):
    env = TASKS[name].make()
    way = Wayfinder(get_layout(name))
    for seed in range(8):
        env.reset(seed=seed)
        maze = env.unwrapped
        for _ in range(500):
            action = way.direction(maze.position, maze.goal)[0]
            _, _, _, truncated, info = env.step(action.astype(np.float32))
            if info["is_success"]:
                break
        assert info["is_success"]
        assert not truncated


def test_batch_of_one_is_the_single_environment_bit_for_bit():
    env = PointMaze("maze")
    env.reset(seed=5)
    batch = MazeBatch("maze", 1, np.random.default_rng(0))
    batch.position = env.position.copy()
    batch.rng.bit_generator.state = env.np_random.bit_generator.state
    rng = np.random.default_rng(1)
    for _ in range(500):
        action = rng.uniform(-1, 1, 2).astype(np.float32)
        env.step(action)
        batch.step(action[None])
        np.testing.assert_array_equal(env.position, batch.position)


def test_actions_outside_the_box_are_clipped():
    one, two = PointMaze("room"), PointMaze("room")
    one.reset(seed=0), two.reset(seed=0)
    one.step(np.array([7.0, -9.0])), two.step(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(one.position, two.position)


def test_own_map_by_text_file_and_specification(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(MAP)
    for layout in (MAP, str(path)):
        env = gym.make("sfp/PointMaze-v0", layout=layout)
        check_env(env.unwrapped, skip_render_check=True)
        env.reset(seed=0)
        for _ in range(6):
            *_, info = env.step(np.array([1.0, 0.0], np.float32))
        assert info["is_success"]
        json.loads(env.spec.to_json())
    task = get_task(str(path))
    path.unlink()
    assert task.name == "mine"
    assert task.make().unwrapped.maze.layout.shortest_way == 4


def test_unknown_task_and_missing_map():
    with pytest.raises(SfpError, match="unknown task 'coridor': did you mean corridor"):
        get_task("coridor")
    with pytest.raises(SfpError, match="there is no map"):
        get_task("nowhere.txt")
    assert get_task("sfp/Maze-v0") is TASKS["maze"]
