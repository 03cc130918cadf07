"""Every line of the table in docs/bridges.md runs, against the real packages."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest
from fake_hub import Hub
from minari.data_collector import EpisodeBuffer
from stable_baselines3 import SAC, TD3
from stable_baselines3.common.evaluation import evaluate_policy

import sfp

ROOT = Path(__file__).parent.parent.parent
SFP = Path(sys.executable).with_name("sfp")
TABLE = (ROOT / "docs" / "bridges.md").read_text().split("## Coming from")[1]
LINES = [
    line
    for row in re.findall(r"^\|.*\|$", TABLE.split("##")[0], re.M)[2:]
    for line in re.findall("`([^`]+)`", row.split("|")[3])
]
ROBOT = """
import gymnasium as gym
pendulum = "gymnasium.envs.classic_control:PendulumEnv"
gym.register("Lift-v0", pendulum, max_episode_steps=20)
"""
SHORT = {
    "fit": "--model gaussian --epochs 1 --epoch-steps 5 --batch 4",
    "train": "--steps 96 --warmup 48 --update-after 48 --batch 8 --width 8 "
    "--eval-every 96 --eval-episodes 1",
}
"""What keeps commands short; the rest of a line is run to the letter."""


def write_recordings(here, rng):
    """What users have: a LeRobot dataset, a Minari dataset, HDF5 and CSV files."""
    lerobot = ROOT / "tests" / "fixtures" / "lerobot" / "v3"
    shutil.copytree(lerobot, here / "path" / "of" / "dataset")
    walks = rng.uniform(-1, 1, (4, 30, 2)).cumsum(1).clip(-1, 1).astype(np.float32)
    buffers = [
        EpisodeBuffer(
            observations=np.zeros((31, 2), np.float32),
            actions=walk,
            rewards=np.zeros(30),
            terminations=np.zeros(30, bool),
            truncations=np.arange(30) == 29,
        )
        for walk in walks
    ]
    box = gym.spaces.Box(-1, 1, (2,), np.float32)
    minari.create_dataset_from_buffers(
        "D4RL/pen/human-v2", buffers, action_space=box, observation_space=box
    )
    with h5py.File(here / "recordings.hdf5", "w") as file:
        file["actions"] = walks.reshape(-1, 2)
        file["timeouts"] = np.tile(np.arange(30) == 29, 4)
    (here / "my" / "recordings").mkdir(parents=True)
    for take, walk in enumerate(walks):
        np.savetxt(here / f"my/recordings/{take}.csv", walk[:, :1], delimiter=",")


@pytest.mark.filterwarnings("ignore")
def test_every_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    (tmp_path / "my_robot.py").write_text(ROBOT)
    write_recordings(tmp_path, np.random.default_rng(0))
    env, hub = gym.make("Pendulum-v1"), Hub("hf_not_a_real_one")
    quick = partial(sfp.fit, model="gaussian", epochs=1, epoch_steps=5, batch=4)
    monkeypatch.setattr(sfp, "fit", quick, raising=False)
    space = env.action_space
    prior = sfp.fit(sfp.load("my/recordings").bounded(space.low, space.high))
    sfp.save_prior(prior, "priors/mine")
    small = dict(steps=50, warmup=20, update_after=20, batch=8, width=8, eval_every=50)
    names = {
        "env": env,
        "evaluate_policy": evaluate_policy,
        "minari": minari,
        "model": SAC("MlpPolicy", env, learning_starts=10, batch_size=8, seed=0),
        "policy": sfp.train("Pendulum-v1", method="sac", eval_episodes=1, **small),
        "sfp": sfp,
        "TD3": TD3,
    }
    others = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": hub.token,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    for line in LINES:
        if not line.startswith("sfp "):
            exec(line.replace("50_000", "100"), names)
            continue
        _, command, *words = shlex.split(line)
        words = [SFP, command, *words, *SHORT.get(command, "").split()]
        done = subprocess.run(
            words, env=os.environ | others, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        if "--out" in words:
            assert Path(words[words.index("--out") + 1]).is_dir()
    assert len(LINES) == 22
    assert names["model"].action_noise is not None
    assert names["prior"].dims == 2
    assert "owner/arm" in hub.repos
    assert minari.load_dataset("me/mine-v0").total_episodes == 10
    hub.shutdown()
    hub.server_close()
